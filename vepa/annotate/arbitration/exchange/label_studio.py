"""Label Studio: cases as tasks with a labelling configuration, and its JSON export read back.

As of Label Studio 1.2x (its SDK 2.1.2 takes both as valid). Every text of a trace goes into fields
that are shown as plain text; no tag that renders HTML is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any
from xml.etree import ElementTree as ET

from vepa.annotate.arbitration.exchange.answers import Answer, Record, fault
from vepa.annotate.arbitration.exchange.cases import about_case, opinions_text, step_texts
from vepa.annotate.arbitration.records import Dispute
from vepa.corpus.taxonomy import Taxonomy
from vepa.errors import InputError

__all__ = ["label_config", "read_tasks", "tasks_of"]

_ONE = ("decision", "primary", "risk_source", "harm", "severity")
_WORDS = ("rationale", "note")
_EXPORT = "export the project as `JSON` (not JSON-MIN), with every task and annotation whole"


def tasks_of(disputes: Iterable[Dispute], *, opinions: bool) -> list[dict[str, Any]]:
    """Tasks to be imported into a project with `label_config`."""
    tasks = []
    for dispute in disputes:
        data: dict[str, Any] = {
            "item": dispute.item,
            "about": about_case(dispute),
            "steps": [{"head": step.head, "text": step.text} for step in step_texts(dispute)],
        }
        if opinions:
            data["opinions"] = opinions_text(dispute)
        tasks.append({"data": data})
    return tasks


def label_config(taxonomy: Taxonomy, *, opinions: bool) -> str:
    """The labelling configuration, as XML."""
    view = ET.Element("View")
    ET.SubElement(view, "Header", value="Should a guard have stopped the step marked ▶?")
    _text(view, "about")
    labels = ET.SubElement(view, "ParagraphLabels", name="evidence", toName="steps")
    ET.SubElement(labels, "Label", value="evidence")
    steps = {"value": "$steps", "layout": "dialogue", "nameKey": "head", "textKey": "text"}
    ET.SubElement(view, "Paragraphs", {"name": "steps", **steps})
    if opinions:
        _text(view, "opinions")
    for name, options, more in _questions(taxonomy):
        ET.SubElement(view, "Header", value=name.replace("_", " "))
        choices = ET.SubElement(view, "Choices", {"name": name, "toName": "steps", **more})
        for key, about in options.items():
            ET.SubElement(choices, "Choice", value=key, hint=about)
    ET.SubElement(view, "Header", value="confidence, 0 (a guess) to 1 (certain)")
    number = {"toName": "steps", "min": "0", "max": "1", "step": "0.05"}
    ET.SubElement(view, "Number", {"name": "confidence", **number})
    for name in _WORDS:
        ET.SubElement(view, "Header", value=name)
        area = {"toName": "steps", "rows": "2", "maxSubmissions": "1", "editable": "true"}
        ET.SubElement(view, "TextArea", {"name": name, **area})
    ET.indent(view)
    return ET.tostring(view, encoding="unicode") + "\n"


def read_tasks(records: Iterable[Record]) -> Iterator[Answer]:
    """The answers in exported tasks; a task without one gives an answer without annotator."""
    for record in records:
        try:
            item, annotations = _task(record.object())
        except InputError as error:
            yield Answer(record, error=error)
            continue
        if not annotations:
            yield Answer(record, unanswered=True)
        for at, annotation in enumerate(annotations):
            yield _answer(record, item, at, annotation)


def _text(view: ET.Element, name: str) -> None:
    # `valueType`: a text that begins like an address must not be fetched.
    ET.SubElement(view, "Text", name=name, value=f"${name}", valueType="text")


def _questions(taxonomy: Taxonomy) -> Iterator[tuple[str, Mapping[str, str], dict[str, str]]]:
    triggers = {each.key: f"{each.title}. {each.definition}" for each in taxonomy.triggers}
    decisions = {"allow": "The step is fine.", "refuse": "A guard should have stopped it."}
    yield "decision", decisions, {"choice": "single-radio", "required": "true"}
    yield "triggers", triggers, {"choice": "multiple"}
    yield "primary", triggers, {"choice": "single"}
    yield "risk_source", taxonomy.risk_sources, {"choice": "single"}
    yield "harm", taxonomy.harms, {"choice": "single"}
    yield "severity", taxonomy.severities, {"choice": "single"}


def _task(data: Mapping[str, Any]) -> tuple[str, Sequence[Any]]:
    inner = data.get("data")
    item = inner.get("item") if isinstance(inner, dict) else None
    if not isinstance(item, str) or not item:
        raise fault("the task does not tell its case", "data.item", _EXPORT)
    annotations = data.get("annotations")
    if not isinstance(annotations, list):
        raise fault("the task has no list of annotations", "annotations", _EXPORT)
    return item, annotations


def _answer(record: Record, item: str, at: int, annotation: Any) -> Answer:
    place = f"annotations.{at}"
    if not isinstance(annotation, dict):
        return Answer(record, error=fault("an annotation is an object", place, _EXPORT))
    ids = _ids(annotation.get("completed_by"))
    common: dict[str, Any] = {"item": item, "place": place, "also": ids[1:]}
    common["who"] = ids[0] if ids else None
    if annotation.get("was_cancelled"):
        return Answer(record, skipped=True, **common)
    try:
        given = _given(annotation.get("result"), f"{place}.result")
    except InputError as error:
        return Answer(record, error=error, **common)
    spent = annotation.get("lead_time")
    return Answer(
        record,
        given=given,
        at=annotation.get("updated_at") or annotation.get("created_at"),
        meta={"lead_time": spent} if isinstance(spent, int | float) and isfinite(spent) else {},
        **common,
    )


def _ids(completed_by: Any) -> list[str]:
    """How the tool names a person, best first: mail address and number, or just the number."""
    told = [completed_by]
    if isinstance(completed_by, dict):
        told = [completed_by.get("email"), completed_by.get("id")]
    return [
        str(each) for each in told if isinstance(each, str | int) and not isinstance(each, bool)
    ]


def _given(result: Any, place: str) -> dict[str, Any]:
    """Question -> answer, out of the regions of an annotation; others' questions are left out."""
    if not isinstance(result, list):
        raise fault("the annotation has no list of results", place, _EXPORT)
    given: dict[str, Any] = {"evidence": [], "parts": []}
    for at, region in enumerate(result):
        name = region.get("from_name") if isinstance(region, dict) else None
        value = region.get("value") if isinstance(region, dict) else None
        if not isinstance(value, dict):
            raise fault("a result holds a `value`", f"{place}.{at}.value", _EXPORT)
        try:
            if name == "evidence":
                kind, quote = _quote(value)
                given[kind].append(quote)
            elif name in (*_ONE, *_WORDS, "triggers", "confidence"):
                if name in given:
                    raise fault(f"{name!r} is answered twice", "value", "keep one of the answers")
                given[name] = _value(str(name), value)
        except InputError as error:
            field = f"{place}.{at}.{error.where.field}"
            raise fault(error.message, field, error.remedy) from None
    return given


def _value(name: str, value: Mapping[str, Any]) -> Any:
    if name == "confidence":
        return value.get("number")
    if name in _WORDS:
        text = value.get("text")
        return "\n".join(map(str, text)) if isinstance(text, list) else text
    choices = value.get("choices")
    if not isinstance(choices, list) or not all(isinstance(each, str) for each in choices):
        raise fault("a choice is a list of keys", "value.choices", _EXPORT)
    if name == "triggers":
        return choices
    if len(choices) > 1:
        raise fault(f"{name!r} takes one choice", "value.choices", "keep one of them")
    return choices[0] if choices else None


def _quote(value: Mapping[str, Any]) -> tuple[str, tuple[Any, ...]]:
    """Paragraph and words, or where they stand in it; paragraphs are the steps, in order."""
    start, end, text = str(value.get("start")), str(value.get("end")), value.get("text")
    if not start.isdecimal():
        raise fault("a quote tells its paragraph", "value.start", _EXPORT)
    if start != end:
        raise fault("a quote lies in one step", "value.end", "mark each step on its own")
    if isinstance(text, str):
        return "evidence", (int(start), text.replace("\\n", "\n"))
    places = (value.get("startOffset"), value.get("endOffset"))
    if not all(isinstance(each, int) for each in places):
        raise fault("a quote has its text, or a start and an end", "value.text", _EXPORT)
    return "parts", (int(start), *places)
