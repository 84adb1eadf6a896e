"""Logs of Inspect: a document `{version, status, eval, …, samples: […]}`, or an archive `.eval`.

An archive has the same parts as members: `header.json` without the samples, and one
`samples/ID_epoch_N.json` each. A sample has its conversation in `messages`; what is long in it, or
an image, may stand in `attachments` and be referred to as `attachment://HASH` (`tc://HASH` in the
first logs). `events` repeat the conversation call by call: of them only the offered tools and the
times are read. A `user` message with `tool_call_id` is the content of a tool's result that the
provider could not take there. Of a call that failed the model saw `error.message`.

First logs: one `score` in place of `scores`, `transcript: {events, content}` in place of `events`
and `attachments`, `tool_error` in place of `error`, `reasoning` beside the content. Scores are
measures of whatever the task asks for, so they go into `meta`, and no label is made of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from vepa.corpus.importing.draft import Draft, as_text
from vepa.corpus.importing.format import Format, checked
from vepa.corpus.importing.formats.inspect_turns import Message, Turns
from vepa.corpus.importing.report import Foreign, Notes
from vepa.errors import InputError, Where

__all__ = ["InspectLogs"]

_REFERENCES = ("attachment://", "tc://")


class Sample(Foreign):
    """A sample; only what tells of the conversation is checked closely."""

    unused: ClassVar[frozenset[str]] = frozenset(
        {"store", "files", "setup", "sandbox", "events_data", "timelines", "model_usage",
         "role_usage", "started_at", "completed_at", "working_time", "uuid", "error_retries",
         "turn_count", "events", "transcript", "attachments", "output"}
    )  # fmt: skip
    id: int | str
    epoch: int | None = None
    input: str | list[Any] | None = None
    messages: list[Message] = []  # noqa: RUF012 (a record is frozen)
    target: Any = None
    choices: list[Any] | None = None
    scores: dict[str, Any] | None = None
    score: Any = None
    metadata: dict[str, Any] | None = None
    error: Any = None
    limit: Any = None
    invalidation: Any = None
    total_time: float | None = None


class InspectLogs(Format):
    """A record is one sample; a log that cannot be streamed is taken whole."""

    name = "inspect"
    title = "Inspect (UK AISI) evaluation logs"
    inside = ("samples",)

    def recognise(self, data: Any) -> bool:
        """A sample with its epoch and target, or a log with its head."""
        if not isinstance(data, dict):
            return False
        return {"id", "epoch", "input", "target"} <= set(data) or _is_log(data)

    def read(self, data: Any, head: Mapping[str, Any], notes: Notes) -> Iterator[Draft]:
        """One trajectory a sample."""
        if not _is_log(data):
            yield _sample(data, head, notes, "")
            return
        samples = data.get("samples")
        if not isinstance(samples, list) or not samples:
            raise InputError(
                "this log has no samples",
                where=Where(field="samples"),
                remedy="only the head was read, or it was run with --no-log-samples",
            )
        for at, sample in enumerate(samples):
            yield _sample(sample, data, notes, f"samples.{at}.")


def _is_log(data: Any) -> bool:
    return isinstance(data, dict) and {"eval", "status"} <= set(data)


def _sample(data: Any, head: Mapping[str, Any], notes: Notes, path: str) -> Draft:
    if not isinstance(data, dict):
        raise InputError("an object belongs here", where=Where(field=path.strip(".") or None))
    resolved = _resolved(data, notes, path)
    sample = checked(Sample, resolved, notes, path)
    spec = head.get("eval")
    spec = spec if isinstance(spec, dict) else {}
    task = spec.get("task")
    names = (task, str(sample.id), f"epoch-{sample.epoch}" if sample.epoch else None)
    draft = Draft(notes, id="/".join(name for name in names if isinstance(name, str)))
    draft.model = spec.get("model") if isinstance(spec.get("model"), str) else None
    draft.meta = _meta(sample, spec)
    events = [each for each in resolved["events"] if isinstance(each, dict)]
    if events:
        draft.meta["events"] = dict(Counter(str(each.get("event")) for each in events))
    _offer(draft, events, resolved["attachments"])
    turns = Turns(draft, events)
    messages = sample.messages or _asked_and_answered(resolved, notes, path)
    for at, message in enumerate(messages):
        turns.add(message, f"{path}messages.{at}")
    turns.end()
    return draft


def _resolved(data: Mapping[str, Any], notes: Notes, path: str) -> dict[str, Any]:
    """The sample with its events in their newest place, and references filled in."""
    old = data.get("transcript")
    old = old if isinstance(old, dict) else {}
    attachments = data.get("attachments") or old.get("content") or {}
    events = data.get("events") or old.get("events") or []
    if not isinstance(attachments, dict):
        raise InputError("a mapping belongs here", where=Where(field=f"{path}attachments"))
    if not isinstance(events, list):
        raise InputError("a list belongs here", where=Where(field=f"{path}events"))
    wanted = ("messages",) if data.get("messages") else ("input", "output")
    filled = {
        name: _filled(data[name], attachments, notes) for name in wanted if name in data
    }  # fmt: skip
    return {**data, **filled, "events": events, "attachments": attachments}


def _filled(value: Any, attachments: Mapping[str, Any], notes: Notes) -> Any:
    """A value with what its references stand for."""
    if isinstance(value, str):
        if not value.startswith(_REFERENCES):
            return value
        key = value.partition("://")[2]
        if key not in attachments:
            notes.remark("attachment missing")
        return attachments.get(key, value)
    if isinstance(value, list):
        return [_filled(each, attachments, notes) for each in value]
    if isinstance(value, dict):
        return {name: _filled(each, attachments, notes) for name, each in value.items()}
    return value


def _meta(sample: Sample, spec: Mapping[str, Any]) -> dict[str, Any]:
    error = sample.error.get("message") if isinstance(sample.error, dict) else sample.error
    scores = sample.scores or ({"score": sample.score} if sample.score is not None else None)
    known = {
        "task": spec.get("task"),
        "eval_id": spec.get("eval_id"),
        "created": spec.get("created"),
        "tags": spec.get("tags"),
        "sample": sample.id,
        "epoch": sample.epoch,
        "target": sample.target,
        "choices": sample.choices,
        "scores": scores,
        "metadata": sample.metadata,
        "error": error,
        "limit": sample.limit,
        "invalidation": sample.invalidation,
        "seconds": sample.total_time,
    }
    return {name: value for name, value in known.items() if value not in (None, {}, [])}


def _offer(
    draft: Draft, events: Sequence[Mapping[str, Any]], attachments: Mapping[str, Any]
) -> None:
    """The tools of the model's calls; one that is offered in every call counts once."""
    found: dict[str, Mapping[str, Any]] = {}
    for event in events:
        tools = event.get("tools") if event.get("event") == "model" else None
        for tool in tools if isinstance(tools, list) else []:
            if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                found.setdefault(tool["name"], tool)
    for name, raw in found.items():
        tool = _filled(raw, attachments, draft.notes)
        draft.offer(name, as_text(tool.get("description")) or None, tool.get("parameters"))


def _asked_and_answered(data: Mapping[str, Any], notes: Notes, path: str) -> Sequence[Message]:
    """What was asked and answered, where no conversation was kept."""
    asked = data.get("input") or []
    turns = [{"role": "user", "content": asked}] if isinstance(asked, str) else asked
    found = [checked(Message, each, notes, f"{path}input.{at}.") for at, each in enumerate(turns)]
    output = data.get("output")
    choices = output.get("choices") if isinstance(output, dict) else None
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        place = f"{path}output.choices.0.message."
        found.append(checked(Message, choices[0].get("message"), notes, place))
    if not found:
        raise InputError("no messages", where=Where(field=f"{path}messages"))
    return found
