"""Many calls of a model, each with the history before it, as one course of events.

Spans and runs hold a conversation over and over: every call of the model repeats what was said
before it. What was already told is recognised by what it says, in its order, so a history that was
cut, summarised or shared by several agents does not double a turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from vepa.corpus.importing.draft import Draft
from vepa.corpus.importing.messages import Asked, Given, Said
from vepa.corpus.importing.report import Notes
from vepa.corpus.importing.told import Told, shape_of

__all__ = ["Joined"]


@dataclass
class _Step:
    kind: Literal["user", "answer", "observation", "call"]
    text: str = ""
    thought: str | None = None
    speaker: str | None = None
    call: Asked | None = None
    shown: Given | None = None
    made: Given | None = None
    seconds: float | None = None


@dataclass
class _Open:
    """Calls that can still get a result."""

    by_id: dict[str, _Step] = field(default_factory=dict)
    steps: list[_Step] = field(default_factory=list)


class Joined:
    """Takes calls of models and tools in the order of time, and writes one draft.

    Parameters
    ----------
    notes
        Takes what does not fit.
    """

    def __init__(self, notes: Notes):
        self.notes = notes
        self._steps: list[_Step] = []
        self._open = _Open()
        self._told = Told()
        self._systems: dict[tuple[str | None, str], None] = {}
        self._offered: dict[str, tuple[str | None, Any]] = {}

    def __len__(self) -> int:
        """Steps so far."""
        return len(self._steps)

    def chat(
        self,
        inputs: Sequence[Said],
        outputs: Sequence[Said],
        *,
        agent: str | None = None,
        asked_by: str | None = None,
        seconds: float | None = None,
    ) -> None:
        """One call of a model.

        Parameters
        ----------
        inputs, outputs
            All that it was shown, and what it answered (or, again, all with the answer at its end).
        agent
            Whose call it is; speaker of what has none of its own.
        asked_by
            The agent that called this one: what stands as a user's is that agent's.
        seconds
            How long the model took; told of the first step of its answer.
        """
        for message in (*inputs, *outputs):
            if message.role == "system":
                self._systems.setdefault((message.speaker or agent, message.text))
        inputs, outputs = (
            [message for message in messages if message.role != "system"]
            for messages in (inputs, outputs)
        )
        if outputs and outputs[0].role != "assistant" and outputs[:1] == inputs[:1]:
            inputs, outputs = outputs, []  # an answer that is the whole history again
        steps, answer = len(self._steps), None
        for message, answered in self._told.new_in(inputs, outputs, agent):
            if answered and answer is None:
                answer = len(self._steps)
            self._say(message, agent, asked_by)
        if outputs and len(self._steps) == steps:
            self.notes.remark("call of a model that says nothing new")
        if answer is not None and answer < len(self._steps):
            self._steps[answer].seconds = seconds

    def tool(self, call: Asked, given: Given | None, *, agent: str | None = None) -> None:
        """One run of a tool: the result of a call that a model made, else a call of its own."""
        step = self._called(call)
        if step is None:
            step = _Step("call", speaker=agent, call=call)
            self._add_call(step)
        elif step.call is not None and not step.call.arguments and call.arguments:
            step.call = replace(step.call, arguments=call.arguments)
        if given is None:
            return
        if step.made is not None:
            self.notes.remark("tool run twice for one call")
            return
        step.made = given

    def offer(self, name: str, description: Any = None, parameters: Any = None) -> None:
        """A tool that a call of a model could use; each call says it again, the first counts."""
        told = description if isinstance(description, str) else None
        self._offered.setdefault(name, (told, parameters))

    def write(self, draft: Draft) -> None:
        """Everything, into a draft; speakers are told where there are several."""
        for name, (told, parameters) in self._offered.items():
            draft.offer(name, told, parameters)
        agents = {step.speaker for step in self._steps if step.kind != "user" and step.speaker}
        several = len(agents) > 1
        for agent, text in self._systems:
            draft.instruct(f"{agent}:\n{text}" if several and agent and text else text)
        for number, step in enumerate(self._steps):
            self._write(draft, step, number, several)

    # -- steps ----------------------------------------------------------------------------------

    def _say(self, message: Said, agent: str | None, asked_by: str | None) -> None:
        for given in message.results:
            self._show(given)
        speaker = message.speaker
        if message.role == "assistant":
            self._speak(message, speaker or agent)
        elif message.text or not message.results:
            if message.role == "observation":
                self._steps.append(_Step("observation", message.text, speaker=speaker))
            elif asked_by is not None:
                self._steps.append(_Step("answer", message.text, speaker=speaker or asked_by))
            else:
                self._steps.append(_Step("user", message.text, speaker=speaker))

    def _speak(self, message: Said, speaker: str | None) -> None:
        if not message.calls:
            if message.text or message.thought or not message.results:
                step = _Step("answer", message.text, message.thought, speaker)
                self._steps.append(step)
            return
        thought = "\n".join(part for part in (message.thought, message.text) if part) or None
        for number, call in enumerate(message.calls):
            first = thought if number == 0 else None
            self._add_call(_Step("call", thought=first, speaker=speaker, call=call))

    def _add_call(self, step: _Step) -> None:
        self._steps.append(step)
        self._open.steps.append(step)
        if step.call is not None and step.call.id:
            self._open.by_id[step.call.id] = step

    def _show(self, given: Given) -> None:
        """What the model saw of a call."""
        step = self._open.by_id.get(given.id) if given.id else None
        if step is None and not given.id:
            step = next(
                (
                    each
                    for each in self._open.steps
                    if each.shown is None
                    and each.call is not None
                    and given.tool in (None, each.call.name)
                ),
                None,
            )
        if step is None:
            self.notes.remark("result without a call")
            self._steps.append(_Step("observation", given.content, speaker=given.tool))
        elif step.shown is not None:
            self.notes.remark("second result of a call")
            self._steps.append(_Step("observation", given.content, speaker=given.tool))
        else:
            step.shown = given

    def _called(self, call: Asked) -> _Step | None:
        """The call of a model that a run of a tool carried out."""
        if call.id and call.id in self._open.by_id:
            return self._open.by_id[call.id]
        waiting = [
            each
            for each in self._open.steps
            if each.call is not None
            and each.made is None
            and each.call.name == call.name
            and not (call.id and each.call.id)
        ]
        same = [
            each
            for each in waiting
            if each.call is not None and shape_of(each.call.arguments) == shape_of(call.arguments)
        ]
        if same:
            return same[0]
        return waiting[0] if waiting and not call.arguments else None

    def _write(self, draft: Draft, step: _Step, number: int, several: bool) -> None:
        speaker = step.speaker if several or step.kind in ("user", "observation") else None
        more = {"thought": step.thought, "speaker": speaker, "seconds": step.seconds}
        if step.call is None:
            say = {"user": draft.user, "answer": draft.answer}.get(step.kind, draft.observe)
            say(step.text, **more)
            return
        own = step.call.id or f"call-{number}"  # its result is to name it
        draft.call(step.call.name, step.call.arguments, id=own, **more)
        given = step.shown or step.made
        if given is None:
            return
        made = step.made or given
        failed = made if not made.ok else given
        raw = made.content if made.content != given.content and made.content else None
        draft.result(
            given.content,
            id=own,
            ok=failed.ok,
            error=failed.error,
            raw=raw,
            seconds=made.seconds,
        )
