"""Run logs of AgentDojo: one JSON object a run, `PIPELINE/SUITE/USER_TASK/ATTACK/INJECTION.json`.

What differs over its versions: contents are texts at first and, since 0.1.30, lists of blocks
(`text`, `thinking`, `redacted_thinking`, each with `content`); `agentdojo_package_version`,
`evaluation_timestamp` and `benchmark_version` came with them. Calls are `{function, args, id,
placeholder_args}` throughout; their id may be missing or empty. A `tool` message repeats its call.
A run that is not finished, or was aborted, has no `utility` and `security`.

`security` tells, in every released version, whether the *attacker's* goal was reached: true is
a successful attack. It says nothing where it was not measured and is true all the same: in a run
without an injection, and in one that ended in an error (a context too long, a server's fault). For
attacks that only keep the agent from its work (`…dos`) it is no more than "the user's task failed".
So the label is `refuse` where an injection reached its goal, `allow` where it did not and the
user's task was done, and none otherwise; both measurements stand in `meta` in any case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from vepa.corpus.importing.draft import Draft
from vepa.corpus.importing.format import Format, checked
from vepa.corpus.importing.report import Foreign, Notes
from vepa.errors import InputError, Where

__all__ = ["AgentDojo"]

#: Ends of a pipeline's name that name its defence; what is before them is the model.
_DEFENCES = (
    "tool_filter",
    "transformers_pi_detector",
    "spotlighting_with_delimiting",
    "repeat_user_prompt",
)
#: Kept as annotations, under the source's own names.
_META = (
    "suite_name", "pipeline_name", "user_task_id", "injection_task_id", "attack_type",
    "injections", "utility", "security", "error", "duration", "benchmark_version",
    "agentdojo_package_version", "evaluation_timestamp",
)  # fmt: skip


class Block(Foreign):
    """A part of a message; `id` belongs to thinking."""

    type: Literal["text", "thinking", "redacted_thinking"]
    content: str | None
    id: str | None = None


class FunctionCall(Foreign):
    """A call; `placeholder_args` serve only the benchmark's own checks."""

    function: str
    args: dict[str, Any]
    id: str | None = None
    placeholder_args: Any = None


class Message(Foreign):
    """One message."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str | list[Block] | None
    tool_calls: list[FunctionCall] | None = None
    tool_call: FunctionCall | None = None
    tool_call_id: str | None = None
    error: str | None = None


class Run(Foreign):
    """A run; `injections` has the attacker's text for each place in the environment."""

    suite_name: str
    pipeline_name: str | None = None
    user_task_id: str
    injection_task_id: str | None = None
    attack_type: str | None = None
    injections: dict[str, str] | None = None
    messages: list[Message]
    error: str | None = None
    utility: bool | None = None
    security: bool | None = None
    duration: float | None = None
    benchmark_version: str | None = None
    agentdojo_package_version: str | None = None
    evaluation_timestamp: str | None = None


class AgentDojo(Format):
    """A record is one run."""

    name = "agentdojo"
    title = "AgentDojo run logs"

    def recognise(self, data: Any) -> bool:
        """An object with a suite, a user task and messages."""
        return isinstance(data, dict) and {"suite_name", "user_task_id", "messages"} <= set(data)

    def dataset(self, stem: str) -> str:
        """Ids tell pipeline, suite and tasks, so the file's name adds nothing."""
        return "agentdojo"

    def read(self, data: Any, head: Mapping[str, Any], notes: Notes) -> Iterator[Draft]:
        """One trajectory a run."""
        run = checked(Run, data, notes)
        if not run.messages:
            raise InputError(
                "no messages" + (f"; the run ended in an error: {run.error}" if run.error else ""),
                where=Where(field="messages"),
                remedy="a run that failed before its first turn has nothing to import",
            )
        draft = Draft(notes, id=_id(run))
        model, defence = _pipeline(run.pipeline_name)
        draft.model = model
        draft.label = _label(run)
        draft.meta = {name: getattr(run, name) for name in _META if getattr(run, name) is not None}
        if defence:
            draft.meta["defence"] = defence
        for at, message in enumerate(run.messages):
            _message(draft, message, f"messages.{at}")
        yield draft


def _id(run: Run) -> str:
    parts = (
        run.pipeline_name,
        run.suite_name,
        run.user_task_id,
        run.attack_type or "none",
        run.injection_task_id or "none",
    )
    return "/".join(part for part in parts if part)


def _pipeline(name: str | None) -> tuple[str | None, str | None]:
    for defence in _DEFENCES:
        if name and name.endswith(f"-{defence}"):
            return name[: -len(defence) - 1], defence
    return name, None


def _label(run: Run) -> Literal["allow", "refuse"] | None:
    """The benchmark's verdict where it measured one; see the module."""
    attack = run.attack_type or "none"
    measured = run.injection_task_id is not None and attack != "none" and not run.error
    if not measured or attack.endswith("dos") or run.security is None:
        return None
    if run.security:
        return "refuse"
    return "allow" if run.utility else None


def _message(draft: Draft, message: Message, place: str) -> None:
    text, thought = _text(message, draft.notes)
    if message.role == "system":
        draft.instruct(text)
    elif message.role == "user":
        draft.user(text)
    elif message.role == "assistant":
        _assistant(draft, message, text, thought)
    else:
        _result(draft, message, text, place)


def _assistant(draft: Draft, message: Message, text: str, thought: str | None) -> None:
    if not message.tool_calls:
        draft.answer(text, thought=thought)
        return
    beside = "\n".join(part for part in (thought, text) if part) or None
    for at, call in enumerate(message.tool_calls):
        draft.call(call.function, call.args, id=call.id, thought=beside if at == 0 else None)


def _result(draft: Draft, message: Message, text: str, place: str) -> None:
    """Of a call that failed the model saw the error; what else the tool gave is kept as `raw`."""
    call = message.tool_call
    own = message.tool_call_id or (call.id if call else None)
    if call is None and not own:
        raise InputError(
            "a result that names no call",
            where=Where(field=place),
            remedy="a tool message has a tool_call or a tool_call_id",
        )
    tool = call.function if call else None
    if message.error is None:
        draft.result(text, id=own, tool=tool)
        return
    kind = message.error.split(":", 1)[0] if ":" in message.error else "error"
    raw = text if text and text != "None" else None
    draft.result(
        message.error,
        id=own,
        tool=tool,
        ok=False,
        error=kind if kind.isidentifier() else "error",
        raw=raw,
    )


def _text(message: Message, notes: Notes) -> tuple[str, str | None]:
    """What was said, and what the model thought."""
    if message.content is None or isinstance(message.content, str):
        return message.content or "", None
    texts: list[str] = []
    thoughts: list[str] = []
    for block in message.content:
        if block.type == "redacted_thinking":
            notes.remark("redacted_thinking left out")
        elif block.content:
            (texts if block.type == "text" else thoughts).append(block.content)
    return "\n".join(texts), "\n".join(thoughts) or None
