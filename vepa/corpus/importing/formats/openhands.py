"""Conversations of OpenHands: event files, trajectories and evaluation outputs, old and new.

A conversation is a folder with one JSON file an event (`0.json`, …; of the SDK
`event-00000-ID.json`), with what is said about it beside (`metadata.json`, `base_state.json`) and
perhaps a cache of the events (`event_cache/0-25.json`); or a file that lists all of them (an
array, JSON Lines, or an object with `trajectory`, `events` or `items`); or a line of an
evaluation's `output.jsonl`: `{instance_id, history, test_result, metadata, metrics, error, …}`,
whose first versions paired each action with its observation. Test results are measures of the task,
so they go into `meta`; no label is made of them. What the events say, see `openhands_events` and
`openhands_sdk`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, ClassVar

from vepa.corpus.importing.draft import Draft
from vepa.corpus.importing.format import GroupedFormat, checked
from vepa.corpus.importing.formats import openhands_events as old
from vepa.corpus.importing.formats import openhands_sdk as sdk
from vepa.corpus.importing.report import Foreign, Notes
from vepa.errors import InputError, Where

__all__ = ["OpenHands"]

#: Where an object holds its events.
_LISTS = ("history", "trajectory", "events", "items")
_ONE_EVENT = re.compile(r"(event-)?\d+(-[0-9a-zA-Z-]+)?\.json(\.gz)?")
#: Files beside the events that tell about them.
_ABOUT = ("metadata.json", "base_state.json")
_SOURCES = ("agent", "user", "environment")


class Evaluation(Foreign):
    """A line of an evaluation's output, or a trajectory's envelope."""

    unused: ClassVar[frozenset[str]] = frozenset(
        {"instance", "next_page_id", "git_patch", "status", "attempt", "resolved", *_LISTS}
    )
    instance_id: str | int | None = None
    conversation_id: str | None = None
    instruction: str | None = None
    test_result: Any = None
    metadata: dict[str, Any] | None = None
    metrics: dict[str, Any] | None = None
    error: str | None = None
    report: Any = None


class OpenHands(GroupedFormat):
    """A record is an event, or all of them."""

    name = "openhands"
    title = "OpenHands events and evaluation outputs"

    def recognise(self, data: Any) -> bool:
        """An event, a list of them, or an object with such a list."""
        if _is_event(data):
            return True
        if (
            isinstance(data, dict)
            and "instance_id" in data
            and isinstance(data.get("history"), list)
        ):
            return not data["history"] or _begins_with_event(data["history"])
        listed = _listed(data)
        return listed is not None and _begins_with_event(listed[1])

    def complete(self, data: Any) -> bool:
        """Whether it has all events of a conversation."""
        return isinstance(data, list) or (not _is_event(data) and _listed(data) is not None)

    def group(self, key: str, file: str) -> str:
        """Events in files of their own belong to their folder, others to their file."""
        path = PurePath(file)
        if not (_ONE_EVENT.fullmatch(path.name) or path.name in _ABOUT):
            return str(path)
        inner = path.parent.name in ("events", "event_cache")
        return str(path.parent.parent if inner else path.parent)

    def pieces(self, data: Any, head: Mapping[str, Any], notes: Notes) -> Iterator[tuple[str, Any]]:
        """An event, checked, or what is said about the conversation beside its events."""
        if isinstance(data, dict) and not _is_event(data) and _is_about(data):
            yield "", {"about": data}
            return
        checked(sdk.Event if _is_new(data) else old.Event, data, notes)
        _put([data], Draft(Notes()), Notes(), "")
        yield "", data

    def join(self, key: str, pieces: Sequence[Any], notes: Notes) -> Iterator[Draft]:
        """The conversation of a folder or file."""
        parts = [part for part in re.split(r"[/\\!]", key) if part]
        own = parts[-1].split(".json")[0] if parts else None
        draft = Draft(notes, id=None if key.startswith("<") else own)
        events: list[Any] = []
        kept: dict[Any, Any] = {}
        for piece in pieces:
            if "about" in piece:
                _describe(draft, piece["about"])
            elif piece.get("id") is not None and kept.get(piece["id"]) == piece:
                notes.remark("event kept twice")  # the event store has a cache beside the events
            else:
                kept[piece.get("id")] = piece
                events.append(piece)
        _put(events, draft, notes, "")
        yield draft

    def read(self, data: Any, head: Mapping[str, Any], notes: Notes) -> Iterator[Draft]:
        """One conversation."""
        listed = _listed(data)
        if listed is None:
            raise InputError("no events", remedy=f"they stand under one of {', '.join(_LISTS)}")
        name, events = listed
        path = f"{name}." if name else ""
        record = checked(Evaluation, data if isinstance(data, dict) else {}, notes)
        own = record.instance_id if record.instance_id is not None else record.conversation_id
        draft = Draft(notes, id=None if own is None else str(own))
        flat = list(_flat(events, path))
        if not flat:
            why = f"; the run ended in an error: {record.error}" if record.error else ""
            raise InputError(f"no events{why}", where=Where(field=name or None))
        for event, place in flat:
            checked(sdk.Event if _is_new(event) else old.Event, event, notes, place)
        if record.instruction and not any(_is_users(event) for event, _ in flat):
            draft.user(record.instruction)
        _put([event for event, _ in flat], draft, notes, "", [place for _, place in flat])
        _annotate(draft, record)
        yield draft


def _is_new(data: Any) -> bool:
    return isinstance(data, dict) and "kind" in data and not isinstance(data.get("action"), str)


def _is_event(data: Any) -> bool:
    if not isinstance(data, dict):
        return False
    kind = data.get("kind")
    if isinstance(kind, str) and kind in sdk.KINDS and ("source" in data or "id" in data):
        return True
    named = isinstance(data.get("action"), str) and isinstance(data.get("args"), dict)
    seen = isinstance(data.get("observation"), str) and isinstance(data.get("extras"), dict)
    return (named or seen) and data.get("source", "agent") in _SOURCES


def _is_about(data: Mapping[str, Any]) -> bool:
    """Whether it tells about a conversation: its title and cost, or the state of its agent."""
    return "conversation_id" in data or ("agent" in data and "workspace" in data)


def _describe(draft: Draft, about: Mapping[str, Any]) -> None:
    agent = about.get("agent")
    inner = agent.get("llm") if isinstance(agent, dict) else None
    model = inner.get("model") if isinstance(inner, dict) else about.get("llm_model")
    if isinstance(model, str):
        draft.model = model
    for key in ("title", "selected_repository", "trigger"):
        if about.get(key):
            draft.meta[key] = about[key]


def _is_users(event: Any) -> bool:
    """Whether it is a user's message."""
    said = event.get("action") == "message" or event.get("kind") == "MessageEvent"
    return bool(said and event.get("source") == "user")


def _begins_with_event(events: Sequence[Any]) -> bool:
    first = events[0] if events else None
    return _is_event(first[0] if isinstance(first, list) and first else first)


def _listed(data: Any) -> tuple[str, Sequence[Any]] | None:
    """The events of a record that has all of them, and their key."""
    if isinstance(data, list):
        return "", data
    if isinstance(data, dict):
        for name in _LISTS:
            if isinstance(data.get(name), list):
                return name, data[name]
    return None


def _flat(events: Sequence[Any], path: str) -> Iterator[tuple[Any, str]]:
    """Events and their places; pairs of an action and its observation one after another."""
    for at, event in enumerate(events):
        if isinstance(event, list):
            for inner, each in enumerate(event):
                yield each, f"{path}{at}.{inner}."
        else:
            yield event, f"{path}{at}."


def _put(
    events: Sequence[Any], draft: Draft, notes: Notes, path: str, places: Sequence[str] = ()
) -> None:
    """Events into a draft, by the way that each of them is written."""
    before, after = old.Course(draft, notes), sdk.SdkCourse(draft, notes)
    for at, event in enumerate(events):
        place = places[at] if places else path
        (after if _is_new(event) else before).add(event, place)
    after.end()


def _annotate(draft: Draft, record: Evaluation) -> None:
    metadata = record.metadata or {}
    configured = metadata.get("llm_config") or metadata.get("llm")
    if isinstance(configured, dict) and isinstance(configured.get("model"), str):
        draft.model = configured["model"]
    known = {
        "agent_class": metadata.get("agent_class"),
        "dataset": metadata.get("dataset"),
        "test_result": record.test_result,
        "report": record.report,
        "error": record.error,
        "cost": (record.metrics or {}).get("accumulated_cost"),
    }
    draft.meta.update({key: value for key, value in known.items() if value not in (None, {})})
