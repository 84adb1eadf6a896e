"""What the page holds of a trajectory: all that is shown when it is opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vepa.corpus.trajectory import Result, Trajectory
from vepa.parsing.sources import Leaf
from vepa.viewer.facts import facts_of
from vepa.viewer.outline import outline
from vepa.viewer.pieces import Piece, mark_of, name_of_path, pieces
from vepa.viewer.reasons import reasons_of
from vepa.viewer.signs import visible
from vepa.viewer.texts import meta_text
from vepa.viewer.view import Label, Shown, ShownEvent, ShownStep, conversation_of

__all__ = ["detail_of"]


def detail_of(shown: Shown) -> dict[str, Any]:
    """JSON data of a trajectory; every text is made visible, and what is empty is left out.

    `assets/steps.js` and its neighbours read it; docs/viewer.md describes it.
    """
    of = shown.trajectory
    detail = {
        "id": of.id,
        "facts": [list(fact) for fact in facts_of(shown)],
        "tripped": list(shown.subject.tripped),
        "labels": _labels(shown.labels),
        "events": _events(shown.events),
        "tables": [
            {
                "title": table.title,
                "columns": list(table.columns),
                "rows": [{"cells": list(cells), "bad": bad} for cells, bad in table.rows],
            }
            for table in shown.subject.tables
        ],
        "system": of.system,
        "meta": meta_text(of.meta) if of.meta else None,
        "tools": _tools(of),
        "steps": [_step(each) for each in shown.steps],
    }
    seen: dict[str, Any] = _seen(_filled(detail))
    return seen


def _tools(of: Trajectory) -> list[list[str]]:
    return [[tool.name, tool.environment, tool.effect, tool.description] for tool in of.tools]


def _step(shown: ShownStep) -> dict[str, Any]:
    step, call = shown.step, shown.step.call
    return _filled(
        {
            "kind": step.kind,
            "opens": conversation_of(step) if shown.opens else None,
            "speaker": step.speaker,
            "marked": shown.marked,
            "tool": call.tool if call else None,
            "where": shown.where,
            "thought": step.thought,
            "text": step.text,
            "arguments": [_argument(leaf) for leaf in shown.leaves],
            "result": _result(step.result) if step.result else None,
            "unanswered": call is not None and step.result is None,
            "quiet": [list(pair) for pair in shown.quiet],
            "events": _events(shown.events),
            "labels": _labels(shown.labels),
        }
    )


def _argument(leaf: Leaf) -> list[Any]:
    """Name and pieces: a text, and for a traced one its kind, step, and whether a request."""
    return [name_of_path(leaf.path) or "no JSON object", [_piece(each) for each in pieces(leaf)]]


def _piece(piece: Piece) -> list[Any]:
    if piece.source is None or not mark_of(piece.source):
        return [piece.text]
    return [piece.text, piece.source.kind, piece.source.step, piece.source.request]


def _result(result: Result) -> dict[str, Any]:
    return _filled(
        {
            "ok": result.ok,
            "error": result.error,
            "seconds": result.seconds,
            "truncated": result.truncated,
            "text": outline(result.content),
        }
    )


def _labels(labels: Sequence[Label]) -> list[dict[str, Any]]:
    return [
        _filled({"by": each.by, "value": each.value, "unit": each.unit, "note": each.note})
        for each in labels
    ]


def _events(events: Sequence[ShownEvent]) -> list[dict[str, Any]]:
    return [
        _filled(
            {
                "unit": each.record.unit,
                "fields": [[name, value] for name, value in each.record.event.items()],
                "verdict": each.why.verdict if each.why else None,
                "label": each.record.label,
                "reasons": [
                    {
                        "told": reason.told,
                        "rule": reason.rule,
                        "decision": reason.decision,
                        "decides": reason.decides,
                        "parts": [
                            [part.field, part.wanted, part.value, part.holds]
                            for part in reason.parts
                        ],
                    }
                    for reason in reasons_of(each.why)
                ],
            }
        )
        for each in events
    ]


def _filled(data: dict[str, Any]) -> dict[str, Any]:
    """Without what is empty; a page of thousands is smaller so."""
    return {
        key: value
        for key, value in data.items()
        if value is not None and value is not False and value != "" and value != []
    }


def _seen(data: Any) -> Any:
    if isinstance(data, str):
        return visible(data)
    if isinstance(data, list):
        return [_seen(each) for each in data]
    if isinstance(data, dict):
        return {key: _seen(value) for key, value in data.items()}
    return data
