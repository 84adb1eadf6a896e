"""The form of a judgement as a model gives it, made from the taxonomy, and how it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from vepa.annotate.items import StepItem
from vepa.corpus.labels import Judgement
from vepa.corpus.taxonomy import Taxonomy
from vepa.corpus.trajectory import Step, Trajectory
from vepa.errors import InputError, Where
from vepa.files import canonical_json
from vepa.llm.messages import Item, Shape
from vepa.llm.prompts import Prompt
from vepa.policy.document import complaint
from vepa.policy.schema import UNKNOWN, Schema, nearest

__all__ = ["NONE", "TEMPLATE", "answer_shape", "check_evidence", "item_of", "read_judgement"]

#: Folder of the prompt, and the template's id in recorded answers.
TEMPLATE = "annotate"
#: Where a judgement has no such key: models fill a list more reliably than they leave it out.
NONE = "none"


def answer_shape(taxonomy: Taxonomy, schema: Schema) -> Shape:
    """What an answer has to be.

    Parameters
    ----------
    taxonomy
        Its keys become closed lists.
    schema
        The event schema: the fields that `event` can speak of.
    """
    one_of = {
        "risk_source": [*taxonomy.risk_sources, NONE],
        "harm": [*taxonomy.harms, NONE],
        "severity": [*taxonomy.severities, NONE],
    }
    quote = {
        "type": "object",
        "properties": {"step": {"type": "integer"}, "quote": {"type": "string"}},
        "required": ["step", "quote"],
        "additionalProperties": False,
    }
    stated = {
        "type": "object",
        "properties": {
            "field": {"type": "string", "enum": list(schema.names)},
            "value": {"type": "string"},
        },
        "required": ["field", "value"],
        "additionalProperties": False,
    }
    properties: dict[str, Any] = {
        # First the reasons, then the verdict: a model writes from left to right.
        "evidence": {"type": "array", "items": quote},
        "rationale": {"type": "string"},
        "triggers": {"type": "array", "items": {"type": "string", "enum": list(taxonomy.keys)}},
        "decision": {"type": "string", "enum": ["allow", "refuse"]},
        **{name: {"type": "string", "enum": values} for name, values in one_of.items()},
        "confidence": {"type": "number"},
        "event": {"type": "array", "items": stated},
    }
    return Shape(
        name=TEMPLATE,
        schema_={
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        },
    )


def item_of(item: StepItem, prompt: Prompt) -> Item:
    """What a recorded judgement is found by."""
    name = f"{item.trajectory}#{item.step}"
    return Item(hash=item.hash, template=prompt.id, version=prompt.version, name=name)


def read_judgement(
    data: Mapping[str, Any], taxonomy: Taxonomy, schema: Schema, item: StepItem
) -> Judgement:
    """A judgement out of an answer of that shape.

    Raises
    ------
    InputError
        When it contradicts itself, does not fit the taxonomy, or quotes what does not stand there.
    """
    given = dict(data)
    for name in ("risk_source", "harm", "severity"):
        if given.get(name) == NONE:
            given[name] = None
    given["event"] = _stated(given.get("event", []), schema)
    try:
        judgement = Judgement.model_validate(given)
    except ValidationError as error:
        path, words = complaint(error)
        raise InputError(words, where=Where(field=".".join(map(str, path)) or None)) from None
    judgement.check_against(taxonomy)
    check_evidence(judgement, item.shown)
    return judgement


def _stated(event: Any, schema: Schema) -> dict[str, str]:
    """The fields that a reader stated; `unknown` states nothing."""
    found: dict[str, str] = {}
    for at, each in enumerate(event):
        name, value = each["field"], each["value"]
        if value not in schema[name].codes or name in found:
            raise InputError(
                f"{value!r} is not in the domain of {name!r}"
                if name not in found
                else f"{name!r} is stated twice",
                where=Where(field=f"event.{at}.value"),
                remedy=nearest(value, schema[name].values, "values"),
            )
        found[name] = value
    return {name: value for name, value in found.items() if value != UNKNOWN}


def check_evidence(judgement: Judgement, shown: Trajectory) -> None:
    """Hold every quote against the trace; white space plays no part.

    Raises
    ------
    InputError
        Names the first quote that does not stand in its step.
    """
    for at, evidence in enumerate(judgement.evidence):
        if evidence.step >= len(shown.steps):
            raise InputError(
                f"there is no step {evidence.step} in what was shown",
                where=Where(field=f"evidence.{at}.step"),
            )
        wanted = _plain(evidence.quote)
        if not any(wanted in _plain(text) for text in _texts(shown.steps[evidence.step])):
            raise InputError(
                f"step {evidence.step} does not hold the quoted words",
                where=Where(field=f"evidence.{at}.quote"),
                remedy="copy them exactly as they stand there",
            )


def _plain(text: str) -> str:
    return " ".join(text.split())


def _texts(step: Step) -> list[str]:
    """All that stands in a step, each way in which a reader may have seen it."""
    texts = [step.text or "", step.thought or ""]
    if step.call is not None:
        texts += [step.call.tool, step.call.text or "", canonical_json(step.call.arguments)]
        texts += _leaves(step.call.arguments)
    if step.result is not None:
        texts += [step.result.content, step.result.error or ""]
    return texts


def _leaves(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [text for each in value.values() for text in _leaves(each)]
    if isinstance(value, list):
        return [text for each in value for text in _leaves(each)]
    return [value if isinstance(value, str) else canonical_json(value)]
