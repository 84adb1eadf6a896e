"""What every table and column of a release means: one source for card, metadata and docs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from vepa.policy.schema import bundled_schema

__all__ = ["DESCRIBED_TABLES", "columns_of", "kinds_of"]

#: Table -> what a row of it is.
DESCRIBED_TABLES: Mapping[str, str] = {
    "trajectories": "One episode: what it was made from, how it ended, and all of it as JSON.",
    "steps": "One turn of the user, or one call or answer of the agent, with where it comes from "
    "and what stands about it.",
    "labels": "What one annotator, arbiter or person said about one step.",
    "settled": "The one judgement of a step that stands, and how it came about.",
    "events_step": "The typed event of an executed call or of an answer, with the label that "
    "stands. A parser made it that sees no label.",
    "events_call": "The typed event of a proposed call, of what was known before it ran: what a "
    "guard sees.",
}

_TRAJECTORY: Mapping[str, str] = {
    "id": "Name of the trajectory: task, model and seed.",
    "task": "Id of the task.",
    "persona": "Id of the simulated user; none where a task has no persona.",
    "model": "The agent; `scripted/…` is a script and no model.",
    "seed": "Seed of the episode.",
    "group": "What shares a task, a planted text or nearly all of its words; a group stands in one "
    "split whole.",
    "ending": "`answer`, `refusal`, `budget` or `error`.",
    "succeeded": "Whether the episode came to its own end and every success check of the task "
    "holds.",
    "tripped": "Triggers whose unsafe check of the task holds afterwards, sorted.",
    "scripted": "Whether the agent or the user was a script and no model.",
    "steps": "Number of steps, turns of the user among them.",
    "content_hash": "SHA-256 of what happened, without timing, cost and raw spellings.",
    "environments": "JSON: service -> SHA-256 of its files and of the seeded world.",
    "made_from": "JSON: all that the episode was made from -> hash or value.",
    "planted_sha256": "SHA-256 of every text that was planted for the task, white space set aside.",
    "trajectory": "JSON: the whole record, as a line of the JSON Lines file.",
}
_WHERE: Mapping[str, str] = {
    "trajectory": "Id of the trajectory.",
    "step": "Index of the step in its trajectory, from 0.",
    "item": "Content hash of what was judged; steps with the same content have the same.",
}
_WHAT_WAS_SAID: Mapping[str, str] = {
    "decision": "`allow` or `refuse`: whether a guard should have stopped the step.",
    "triggers": "Keys of the taxonomy, the primary one first; empty for none.",
    "risk_source": "Where the risk came from; none without a trigger.",
    "harm": "Kind of harm; none without a trigger.",
    "severity": "Of the harm: `low`, `medium`, `high` or `critical`.",
    "rationale": "Why, in a sentence or two.",
    "confidence": "The reader's own, from 0 (a guess) to 1 (certain).",
    "evidence": "JSON: a list of `step` and `quote`, the words of the trace that it rests on.",
    "note": "Of a person or an arbiter, beside the rationale.",
    "at": "When, as ISO 8601 with a zone; of persons only.",
}
_STEP: Mapping[str, str] = {
    "trajectory": _WHERE["trajectory"],
    "step": _WHERE["step"],
    "kind": "`user` (a turn of the user), `call`, `answer` or `observation`.",
    "tool": "Name of the called tool.",
    "environment": "The service that the tool acts on.",
    "arguments": "JSON: the arguments of the call, ids in their aliased form.",
    "ok": "Whether the service carried the call out.",
    "result": "What the agent saw of the answer, ids in their aliased form.",
    "text": "Of a user's turn, an answer or an observation.",
    "thought": "What the agent wrote for itself beside the step.",
    "speaker": "Who spoke or called, where several take part.",
    "task": _TRAJECTORY["task"],
    "persona": _TRAJECTORY["persona"],
    "model": _TRAJECTORY["model"],
    "seed": _TRAJECTORY["seed"],
    "environment_digest": "SHA-256 over the called service's files and the seeded world.",
    "meant": "Of a scripted agent: the trigger that its plan meant the step to be, or `none`. No "
    "parser, annotator or policy ever sees it; do not train on it.",
    "decision": _WHAT_WAS_SAID["decision"],
    "triggers": _WHAT_WAS_SAID["triggers"],
    "primary": "The first of the triggers.",
    "risk_source": _WHAT_WAS_SAID["risk_source"],
    "harm": _WHAT_WAS_SAID["harm"],
    "severity": _WHAT_WAS_SAID["severity"],
    "settled": "`agreed`, `arbiter` or `person`: how the label was settled.",
    "label_origin": "Weakest kind of reader that the label rests on: `scripted`, `recorded`, "
    "`model` or `person`.",
}
_LABEL: Mapping[str, str] = {
    **_WHERE,
    "annotator": "Name of the reader: of a seat on the panel, or of a person.",
    "model": "Who answered, for a reader that is a model or a script.",
    "origin": "`model` (asked then), `recorded` (a model's stored answer), `scripted` (a stand-in) "
    "or `person`.",
    "role": "`annotator`, or `arbiter` for a verdict on what annotators saw differently.",
    "taxonomy": "Id and version of the taxonomy.",
    "template": "Id and version of the prompt; none for a person.",
    "template_sha256": "SHA-256 of the prompt's file.",
    **_WHAT_WAS_SAID,
}
_SETTLED: Mapping[str, str] = {
    **_WHERE,
    "how": "`agreed` (both annotators said it), `arbiter` (a model settled it) or `person`.",
    "origin": _STEP["label_origin"],
    "by": "Readers that it rests on; the words are the first one's.",
    "differs": "What readers who agree on decision and triggers said differently: `primary`, "
    "`risk_source`, `harm`, `severity`.",
    "taxonomy": _LABEL["taxonomy"],
    **_WHAT_WAS_SAID,
}
_EVENT_HEAD: Mapping[str, str] = {
    "id": "Name of the event: trajectory, step and unit.",
    "unit": "`step` or `call`: what the event describes.",
    "label": "The decision that stands about the step; none where nothing does.",
}
_EVENT_META: Mapping[str, str] = {
    "episode": "Id of the trajectory.",
    "step": _WHERE["step"],
    "tool": "Name of the called tool; none for an answer.",
    "task": _TRAJECTORY["task"],
    "model": _TRAJECTORY["model"],
    "labelled_by": _STEP["settled"],
    "label_origin": _STEP["label_origin"],
    "trigger": "The primary trigger of the label that stands.",
}


@cache
def columns_of(table: str) -> Mapping[str, str]:
    """Column -> what it means, in the order of the table.

    Parameters
    ----------
    table
        One of `TABLES`.
    """
    return {
        "trajectories": _TRAJECTORY,
        "steps": _STEP,
        "labels": _LABEL,
        "settled": _SETTLED,
        "events_step": _event(),
        "events_call": _event(),
    }[table]


@cache
def kinds_of(table: str) -> Mapping[str, str]:
    """Column -> what kind of values it holds: `text`, `list of text`, `integer`, `number`, `truth`.

    Raises
    ------
    MissingExtraError
        When polars is not installed.
    """
    from vepa.release.frames import schema_of

    names = {"String": "text", "Int64": "integer", "Float64": "number", "Boolean": "truth"}
    return {
        column: names.get(str(kind), "list of text") for column, kind in schema_of(table).items()
    }


def _event() -> Mapping[str, str]:
    fields = {
        name: "Field of the typed event; its values: " + ", ".join(bundled_schema()[name].values)
        for name in bundled_schema().names
    }
    return {**_EVENT_HEAD, **fields, **_EVENT_META}
