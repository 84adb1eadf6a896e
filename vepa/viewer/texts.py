"""Every text of a trajectory that a search looks through."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from vepa.corpus.trajectory import Result, Step
from vepa.viewer.outline import outline
from vepa.viewer.signs import visible
from vepa.viewer.view import Subject

__all__ = ["holds", "meta_text", "texts_of"]


def holds(subject: Subject, text: str) -> bool:
    """Whether a text stands in one of the texts of a trajectory; letter case plays no part."""
    wanted = text.lower()
    return any(wanted in visible(each).lower() for each in texts_of(subject))


def texts_of(subject: Subject) -> Iterator[str]:
    """The texts of a trajectory as they are shown, but for invisible signs."""
    of = subject.trajectory
    yield of.id
    for name in (of.task, of.persona, of.model, of.format, of.system):
        if name:
            yield name
    for _, value, _ in subject.facts:
        yield value
    for step in of.steps:
        yield from _step(step)
    for label in subject.labels:
        yield f"{label.by} {label.value} {label.note}"
    if of.meta:
        yield meta_text(of.meta)


def _step(step: Step) -> Iterator[str]:
    for text in (step.speaker, step.thought, step.text):
        if text:
            yield text
    if step.call is not None:
        yield step.call.tool
        if step.call.text is not None:
            yield step.call.text
        yield from _values(step.call.arguments)
        if step.result is not None:
            yield from _result(step.result)


def _result(result: Result) -> Iterator[str]:
    if result.error:
        yield result.error
    yield outline(result.content)


def _values(data: Any) -> Iterator[str]:
    """Keys and plain values; iterative, for arguments may be nested deeper than Python's stack."""
    stack = [data]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            yield from node
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
        else:
            yield node if isinstance(node, str) else json.dumps(node)


def meta_text(meta: dict[str, Any]) -> str:
    """Annotations as an outline."""
    return outline(json.dumps(meta, ensure_ascii=False, default=str))
