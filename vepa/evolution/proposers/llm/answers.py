"""From a model's answer to patches: everything in it is data, and only what has a place is read.

Ids, provenance, evidence and standing are ours, whatever the answer says of them. Texts are cut and
lose their signs that show nothing. What is no patch becomes a finding for the next question.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from unicodedata import category

from vepa.evolution.proposers.base import Malformed
from vepa.evolution.proposers.llm.settings import ANSWER_PATCHES
from vepa.files import canonical_json
from vepa.policy.feedback import Code, Feedback
from vepa.policy.patches import OPERATIONS, Edit, Operation, Patch
from vepa.policy.rule import Predicate, Provenance, Rule, RuleDecision, masks_of
from vepa.policy.schema import Schema, SchemaField, nearest
from vepa.policy.verifier import MAX_ID

__all__ = ["LIMITS", "Answer", "plain", "read_answer"]

#: What is read of an answer, at most; the prompt says so.
LIMITS = {"patches": ANSWER_PATCHES, "edits": 8, "rules": 12, "rationale": 240}
_TARGETS = 64
_NOTE = 600
#: Of what cannot be read, so many characters are kept to show it.
_WRITTEN = 400
#: Values that a message names.
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Answer:
    """What an answer holds.

    Attributes
    ----------
    patches
        What can be read as a patch; the verifier has not seen it yet.
    malformed
        The rest.
    note
        What the model says beside its patches.
    """

    patches: tuple[Patch, ...] = ()
    malformed: tuple[Malformed, ...] = ()
    note: str = ""


class _Unreadable(ValueError):  # noqa: N818 - what a patch is, not what went wrong here
    """Why something is no patch."""

    def __init__(
        self, code: Code, message: str, field: str | None = None, remedy: str | None = None
    ):
        super().__init__(message)
        self.finding = Feedback(code, message, field=field, remedy=remedy)


def read_answer(data: Mapping[str, Any], schema: Schema, round: int, most: int) -> Answer:
    """Read an answer that has the prompt's outer form.

    Parameters
    ----------
    data
        With `patches`, a list of objects, and `note`, a text.
    schema
        Of the policy.
    round
        Of the update; part of the new rules' ids.
    most
        Patches that may still be tried.
    """
    offered = data["patches"]
    taken = min(most, LIMITS["patches"])
    patches: list[Patch] = []
    malformed: list[Malformed] = []
    for written in offered[:taken]:
        try:
            patches.append(_patch(written, schema, round))
        except _Unreadable as error:
            malformed.append(Malformed(_written(written), (error.finding,)))
    if len(offered) > taken:
        malformed.append(_too_many(len(offered), taken))
    return Answer(tuple(patches), tuple(malformed), plain(data["note"], _NOTE))


def plain(text: str, limit: int) -> str:
    """A text in one line, without signs that show nothing or steer others, cut at a limit."""
    if len(text) > 8 * limit:  # nobody wants to clean megabytes first
        text = text[: 8 * limit]
    shown = "".join(" " if category(sign)[0] in "CZ" else sign for sign in text)
    words = " ".join(shown.split())
    return words if len(words) <= limit else words[: limit - 1].rstrip() + "…"


def _too_many(offered: int, taken: int) -> Malformed:
    finding = Feedback(
        "too_large",
        f"{offered} patches were offered; only the first {taken} were read",
        remedy=f"give at most {taken}, the best first",
    )
    return Malformed(f"{offered} patches", (finding,))


def _written(data: Any) -> str:
    return plain(_json(data), _WRITTEN)


def _json(value: Any) -> str:
    try:
        return canonical_json(value)
    except ValueError:  # a number beyond all numbers
        return repr(value)


def _patch(data: Mapping[str, Any], schema: Schema, round: int) -> Patch:
    edits = _listed(data.get("edits"), "edits", LIMITS["edits"])
    if not edits:
        raise _Unreadable("malformed", "a patch without an edit", "edits", "give one, or no patch")
    made = (_edit(edit, schema, round) for edit in edits)
    return Patch(tuple(made), _rationale(data))


def _edit(data: Any, schema: Schema, round: int) -> Edit:
    edit = _object(data, "edits")
    operation = _operation(edit.get("operation"))
    targets = _listed(edit.get("targets", []), "targets", _TARGETS)
    # An id longer than any rule's is none; as much as shows that is kept.
    names = tuple(plain(_word(target, "targets"), MAX_ID + 1) for target in targets)
    rules = _listed(edit.get("rules", []), "rules", LIMITS["rules"])
    made = tuple(_rule(rule, schema, round, operation, names) for rule in rules)
    return Edit(operation, names, made)


def _rule(
    data: Any, schema: Schema, round: int, operation: Operation, parents: tuple[str, ...]
) -> Rule:
    rule = _object(data, "rules")
    decision = _decision(rule.get("decision"))
    told = _object(rule.get("when"), "when")
    if len(told) > len(schema):
        raise _Unreadable("too_large", f"{len(told)} fields; the schema has {len(schema)}", "when")
    when = {_name(name, schema): _predicate(schema[name], told[name]) for name in told}
    masks = masks_of(schema, when)
    empty = [name for name in when if masks[schema.index[name]] == schema[name].full]
    return Rule(
        _id(round, decision, masks, sorted(empty)),
        decision,
        when,
        masks,
        rationale=_rationale(rule),
        provenance=Provenance(round, operation, parents),
        status="inactive",
    ).canonical(schema)


def _id(round: int, decision: RuleDecision, masks: Sequence[int], empty: Sequence[str]) -> str:
    """The same rule has the same id, also where induction offers it; no word of a model is in it.

    With a predicate that says nothing it is another rule: without it, it has not been tried.
    """
    text = json.dumps([decision, list(masks), *empty])
    return f"r{round}-{sha256(text.encode()).hexdigest()[:6]}"


def _predicate(field: SchemaField, data: Any) -> Predicate:
    told = _object(data, field.name)
    if set(told) not in ({"in"}, {"not_in"}):
        raise _Unreadable(
            "malformed",
            f"the predicate of {field.name!r} is neither `in` nor `not_in`",
            field.name,
            'write {"in": [values]} or {"not_in": [values]}, one of them',
        )
    ((operator, values),) = told.items()
    listed = _listed(values, field.name, len(field.values))
    words = tuple(dict.fromkeys(_word(value, field.name) for value in listed))
    for word in words:
        if word not in field.codes:
            raise _Unreadable(
                "unknown_value",
                f"{plain(word, _SHOWN)!r} is not in the domain of {field.name!r}",
                field.name,
                nearest(plain(word, _SHOWN), field.values, "values"),
            )
    return Predicate("in" if operator == "in" else "not_in", words)


def _name(name: str, schema: Schema) -> str:
    if name not in schema:
        shown = plain(name, _SHOWN)
        raise _Unreadable(
            "unknown_field",
            f"the schema has no field {shown!r}",
            shown,
            nearest(shown, schema.names, "fields"),
        )
    return name


def _operation(word: Any) -> Operation:
    for operation in OPERATIONS:
        if word == operation:
            return operation
    raise _Unreadable(
        "malformed",
        f"{_shown(word)} is no operation",
        "operation",
        f"one of: {', '.join(OPERATIONS)}",
    )


def _decision(word: Any) -> RuleDecision:
    if word == "allow":
        return "allow"
    if word == "refuse":
        return "refuse"
    message = f"{_shown(word)} is no decision"
    raise _Unreadable("malformed", message, "decision", "one of: allow, refuse")


def _shown(value: Any) -> str:
    return repr(plain(value if isinstance(value, str) else _json(value), _SHOWN))


def _rationale(data: Mapping[str, Any]) -> str:
    text = data.get("rationale", "")
    return plain(text, LIMITS["rationale"]) if isinstance(text, str) else ""


def _object(data: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise _Unreadable("malformed", "an object belongs here", place)
    return data


def _listed(data: Any, place: str, most: int) -> Sequence[Any]:
    if not isinstance(data, list):
        raise _Unreadable("malformed", "a list belongs here", place)
    if len(data) > most:
        message = f"{len(data)} entries; at most {most} are read"
        raise _Unreadable("too_large", message, place, "say it with fewer")
    return data


def _word(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise _Unreadable("malformed", f"a word belongs here, not {_shown(value)}", place)
    return value
