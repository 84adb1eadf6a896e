"""Argilla: cases as records with the settings of a dataset, and exported records read back.

As of Argilla 2.8: `rg.Settings.from_json` reads the settings, `dataset.records.from_json` the
records. Fields are plain text, never Markdown, so that no text of a trace is rendered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from vepa.annotate.arbitration.exchange.answers import Answer, Record, fault
from vepa.annotate.arbitration.exchange.cases import about_case, opinions_text, step_texts
from vepa.annotate.arbitration.records import Dispute
from vepa.corpus.taxonomy import Taxonomy
from vepa.errors import InputError

__all__ = ["located", "read_records", "records_of", "settings_of", "steps_field"]

_QUESTIONS = (
    "decision", "triggers", "primary", "risk_source", "harm", "severity", "confidence",
    "evidence", "rationale", "note",
)  # fmt: skip
_EXPORT = "export the records with `dataset.records.to_json(PATH)` or `.to_list(flatten=True)`"
#: Confidence is a rating of whole numbers.
_TENTHS = 10


def records_of(disputes: Iterable[Dispute], *, opinions: bool) -> list[dict[str, Any]]:
    """Records of the dataset."""
    records = []
    for dispute in disputes:
        fields = {"about": about_case(dispute) or "-", "steps": steps_field(dispute)}
        if opinions:
            fields["opinions"] = opinions_text(dispute)
        records.append(
            {"id": dispute.item, "fields": fields, "metadata": {}, "vectors": {},
             "suggestions": {}, "responses": {}}
        )  # fmt: skip
    return records


def settings_of(taxonomy: Taxonomy, guidelines: str, *, opinions: bool) -> dict[str, Any]:
    """The settings of the dataset."""
    names = ["about", "steps", *(["opinions"] if opinions else [])]
    text = {"type": "text", "use_markdown": False}
    return {
        "guidelines": guidelines,
        "allow_extra_metadata": False,
        "distribution": {"strategy": "overlap", "min_submitted": 1},
        "fields": [
            {"name": name, "title": name, "required": name != "opinions", "settings": text}
            for name in names
        ],
        "questions": list(_questions(taxonomy)),
        "vectors": [],
        "metadata": [],
    }


def steps_field(dispute: Dispute) -> str:
    """All steps in one text; spans are offsets in it."""
    return "\n\n".join(f"── {step.head}\n{step.text}" for step in step_texts(dispute))


def located(dispute: Dispute, start: int, end: int) -> tuple[int, str]:
    """Step and words of a span of `steps_field`.

    Raises
    ------
    InputError
        When it does not lie in one step.
    """
    at = 0
    for step in step_texts(dispute):
        first = at + len(f"── {step.head}\n")
        last = first + len(step.text)
        if first <= start < end <= last:
            return step.index, step.text[start - first : end - first]
        at = last + 2
    raise fault("a quote lies in one step", "evidence", "mark words below the head of one step")


def read_records(records: Iterable[Record]) -> Iterator[Answer]:
    """The answers in exported records, one a person who answered."""
    for record in records:
        try:
            data = record.object()
            item = data.get("id")
            if not isinstance(item, str) or not item:
                raise fault("the record has no id", "id", _EXPORT)
            people = _by_person(_responses(data))
        except InputError as error:
            yield Answer(record, error=error)
            continue
        if not people:
            yield Answer(record, unanswered=True)
        for who, (given, done) in people.items():
            place = f"responses of {who}" if who else "responses"
            common: dict[str, Any] = {"item": item, "place": place, "who": who}
            if not done:
                yield Answer(record, skipped=True, **common)
                continue
            try:
                yield Answer(record, given=_given(given), **common)
            except InputError as error:
                yield Answer(record, error=error, **common)


def _questions(taxonomy: Taxonomy) -> Iterator[dict[str, Any]]:
    triggers = {each.key: each.title for each in taxonomy.triggers}
    about = "\n".join(f"{each.key}: {each.definition}" for each in taxonomy.triggers)
    yield _choice("decision", {"allow": "allow", "refuse": "refuse"}, required=True)
    yield _choice("triggers", triggers, kind="multi_label_selection", description=about)
    yield _choice("primary", triggers)
    for name, keys in (
        ("risk_source", taxonomy.risk_sources),
        ("harm", taxonomy.harms),
        ("severity", taxonomy.severities),
    ):
        described = "\n".join(f"{key}: {words}" for key, words in keys.items())
        yield _choice(name, {key: key.replace("_", " ") for key in keys}, description=described)
    tenths = [{"value": number} for number in range(_TENTHS + 1)]
    yield _question("confidence", {"type": "rating", "options": tenths}, "0 a guess, 10 certain")
    span = {"type": "span", "field": "steps", "allow_overlapping": True}
    options = [{"value": "evidence", "text": "evidence", "description": None}]
    yield _question("evidence", {**span, "options": options})
    for name in ("rationale", "note"):
        yield _question(name, {"type": "text", "use_markdown": False})


def _choice(
    name: str,
    keys: Mapping[str, str],
    *,
    kind: str = "label_selection",
    required: bool = False,
    description: str | None = None,
) -> dict[str, Any]:
    options = [{"value": key, "text": text, "description": None} for key, text in keys.items()]
    return _question(name, {"type": kind, "options": options}, description, required)


def _question(
    name: str, settings: dict[str, Any], description: str | None = None, required: bool = False
) -> dict[str, Any]:
    return {
        "name": name,
        "title": name.replace("_", " "),
        "description": description,
        "required": required,
        "settings": settings,
    }


def _responses(data: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Question -> responses, from either form of an export."""
    nested = data.get("responses")
    if isinstance(nested, dict):
        found = {name: nested[name] for name in _QUESTIONS if nested.get(name)}
    else:
        found = {name: _flat(data, name) for name in _QUESTIONS if data.get(f"{name}.responses")}
        if "fields" in data and nested is not None:
            raise fault("the responses are not an object", "responses", _EXPORT)
    for name, responses in found.items():
        if not isinstance(responses, list) or not all(isinstance(x, dict) for x in responses):
            raise fault("responses are a list of objects", f"responses.{name}", _EXPORT)
    return found


def _flat(data: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    key = f"{name}.responses"
    columns = [data[key], data.get(f"{key}.users"), data.get(f"{key}.status")]
    if not all(isinstance(each, list) for each in columns[:2]) or (
        len(columns[0]) != len(columns[1])
    ):
        raise fault("responses and users do not belong together", key, _EXPORT)
    states = columns[2] if isinstance(columns[2], list) else []
    states = [*states, *[None] * (len(columns[0]) - len(states))]
    return [
        {"value": value, "user_id": user, "status": state}
        for value, user, state in zip(columns[0], columns[1], states, strict=False)
    ]


def _by_person(
    responses: Mapping[str, Sequence[Mapping[str, Any]]],
) -> dict[str | None, tuple[dict[str, Any], bool]]:
    """Person -> question and value, and whether they handed it in."""
    found: dict[str | None, tuple[dict[str, Any], bool]] = {}
    for name, each in ((name, each) for name, given in responses.items() for each in given):
        user = each.get("user_id")
        who = None if user in (None, "None", "") else str(user)
        given, done = found.get(who, ({}, True))
        if name in given:
            raise fault(f"{name!r} is answered twice by {who}", f"responses.{name}", _EXPORT)
        given[name] = each.get("value")
        found[who] = given, done and each.get("status") in (None, "submitted")
    return found


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in values.items() if name != "evidence"}
    if isinstance(given.get("confidence"), int | float):
        given["confidence"] = given["confidence"] / _TENTHS
    spans = values.get("evidence") or []
    if not isinstance(spans, list):
        raise fault("evidence is a list of spans", "evidence", _EXPORT)
    given["spans"] = []
    for span in spans:
        places = (span.get("start"), span.get("end")) if isinstance(span, dict) else (None, None)
        if not all(isinstance(each, int) for each in places):
            raise fault("a span has a start and an end", "evidence", _EXPORT)
        given["spans"].append(places)
    return given
