"""The instrumented parser: calls of known tools to typed events, without a model.

It reads the metadata of the tools, resolves arguments, and traces where their text came from. It
never sees a label, a task's expectation or a list of planted texts. What it cannot know is
`unknown`. docs/instrumented-parser.md says how each field is found and what stays unseen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from vepa.corpus.arguments import argument_texts
from vepa.corpus.events import EventRecord
from vepa.corpus.tools import FieldValue, Origin, ToolMetadata
from vepa.corpus.trajectory import Call, Premises, Result, Step, Trajectory
from vepa.parsing.directives import Lexicon, bundled_lexicon
from vepa.parsing.documents import documents, leaves_of
from vepa.parsing.marks import Marks
from vepa.parsing.places import Places
from vepa.parsing.provenance import Memory
from vepa.parsing.tracing import Cause, Deed, trace
from vepa.policy.event import Unit
from vepa.policy.schema import UNKNOWN, Schema, bundled_schema

__all__ = ["INSTRUMENTED", "InstrumentedParser", "parse_call", "parse_step", "parse_trajectory"]

#: The fields that this parser can know; every other field of the schema stays `unknown`.
INSTRUMENTED = (
    "agent_outcome", "action_kind", "resource", "sensitivity", "instruction_origin", "injection",
    "recipient", "reversibility", "tool_trust",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Reading:
    """What is known of a call before it runs."""

    fields: dict[str, str]
    base: str
    cause: Cause | None


class InstrumentedParser:
    """Reads an episode turn by turn; each step costs its own new text.

    Parameters
    ----------
    tools
        The tools that the agent was offered.
    premises
        What is known of the setting beforehand.
    episode
        Names the episode in the ids of its events.
    schema
        The event schema; the bundled one when left out.
    lexicon
        What tells a request; the bundled one when left out.

    Attributes
    ----------
    memory
        What was said so far, for whoever reads along (`vepa.parsing.sources`).

    Raises
    ------
    InputError
        When a tool's metadata or a mark does not fit the schema.
    """

    def __init__(
        self,
        tools: Iterable[ToolMetadata],
        premises: Premises,
        *,
        episode: str = "episode",
        schema: Schema | None = None,
        lexicon: Lexicon | None = None,
    ):
        self.schema = schema or bundled_schema()
        self.episode = episode
        self._tools = {tool.name: tool for tool in tools}
        for tool in self._tools.values():
            tool.check_against(self.schema)
        premises.check_against(self.schema)
        self._places = Places(premises)
        self._marks = Marks(premises.marks, self.schema)
        self.memory = Memory(lexicon or bundled_lexicon())
        self._steps = 0

    @property
    def work(self) -> int:
        """Runs of words read and looked up so far."""
        return self.memory.work

    def user(self, text: str) -> None:
        """Read a user turn."""
        self.memory.user(text)
        self._steps += 1

    def observe(self, text: str) -> None:
        """Read words of the environment that no call gave back."""
        self.memory.documents(documents(text), "tool_output", None, [])
        self._steps += 1

    def propose(self, call: Call) -> EventRecord:
        """The `call` event of a proposed call, from what is known before it runs.

        Nothing is remembered: a call that a guard stops leaves no trace.
        """
        return self._record("call", self._read(call).fields, call)

    def complete(self, call: Call, result: Result | None) -> EventRecord:
        """The `step` event of a call that ran; its arguments and its result are remembered."""
        reading = self._read(call)
        self._remember(call, result, reading.base)
        fields = dict(reading.fields)
        done = result is not None and result.ok
        fields["agent_outcome"] = "executed" if done else "attempted"
        if result is not None and fields["action_kind"] in ("read", "search", UNKNOWN):
            marked = self._marks.highest([result.content])
            fields["sensitivity"] = self._marks.most(fields["sensitivity"], marked)
            if done:
                names = leaves_of(call.arguments)
                self.memory.refer(names, self._marks.rank(fields["sensitivity"]))
        if fields["injection"] == "none" and self._sees_planted():
            fields["injection"] = "ignored"
        record = self._record("step", fields, call)
        self._steps += 1
        return record

    def answer(self, text: str) -> EventRecord:
        """The `step` event of words to the user: what an answer does, words alone do not tell."""
        marked = self._marks.most(self._marks.highest([text]), self._copied([text]))
        fields = dict.fromkeys(INSTRUMENTED, UNKNOWN) | {"sensitivity": marked}
        if not self._sees_planted():
            fields["injection"] = "none"
            if self.memory.has_user:
                fields["instruction_origin"] = "user"
        self.memory.answer(text)
        record = self._record("step", fields, None)
        self._steps += 1
        return record

    def feed(self, step: Step) -> list[EventRecord]:
        """Read one recorded step; its events: `call` and `step`, `step`, or none."""
        if step.call is not None:
            return [self.propose(step.call), self.complete(step.call, step.result)]
        if step.kind == "answer":
            return [self.answer(step.text or "")]
        if step.kind == "observation":
            self.observe(step.text or "")
        else:
            self.user(step.text or "")
        return []

    # -- one call -----------------------------------------------------------------------------

    def _read(self, call: Call) -> _Reading:
        fields = dict.fromkeys(INSTRUMENTED, UNKNOWN)
        fields["agent_outcome"] = "planned"
        tool = self._tools.get(call.tool)
        marked = self._marks.highest(leaves_of(call.arguments))
        if tool is None:
            fields["sensitivity"] = marked
            fields["injection"] = UNKNOWN if self._sees_planted() else "none"
            return _Reading(fields, UNKNOWN, None)
        for name, value in tool.event.items():
            fields[name] = self._value(value, call)
        base = fields["sensitivity"]
        carried = self._copied(
            [text for name in tool.carries for text in argument_texts(call.arguments, name)]
        )
        fields["sensitivity"] = self._marks.most(base, marked, carried)
        named = {name.split(".")[0] for name in (*tool.decisive, *tool.carries)}
        cause = trace(
            self.memory,
            Deed(
                fields["action_kind"],
                near=fields["recipient"] in ("none", "self", "internal"),
                guarded=self._marks.is_protected(self._marks.most(marked, carried)),
            ),
            [text for name in tool.decisive for text in argument_texts(call.arguments, name)],
            [
                text
                for name in call.arguments
                if name not in named
                for text in argument_texts({"_": call.arguments[name]}, "_")
            ],
        )
        fields["instruction_origin"] = cause.origin
        fields["injection"] = cause.injection
        if cause.injection == "none" and self._sees_planted():
            fields["injection"] = "ignored"
        return _Reading(fields, base, cause)

    def _value(self, value: FieldValue, call: Call) -> str:
        if value.resolve is not None:
            return self._places.resolve(value.texts(call.arguments), value.otherwise)
        return value.derive(call.arguments)

    def _copied(self, texts: Iterable[str]) -> str:
        ranks = [rank for text in texts if (rank := self.memory.copied(text)) is not None]
        return self._marks.word(max(ranks, default=None))

    def _remember(self, call: Call, result: Result | None, base: str) -> None:
        around = list(leaves_of(call.arguments))
        self.memory.agent(around)
        if result is None:
            return
        tool = self._tools.get(call.tool)
        # An error is the service's own text, whatever the tool's results are.
        origin: Origin = "tool_output"
        rank = None
        if result.ok and tool is not None:
            origin, rank = tool.origin, self._marks.rank(base)
        self.memory.documents(documents(result.content), origin, rank, around)

    def _sees_planted(self) -> bool:
        return self.memory.has_planted

    def _record(self, unit: Unit, fields: dict[str, str], call: Call | None) -> EventRecord:
        # Another schema may lack a field, or a value of one: what it cannot say is unknown.
        event = {
            field.name: value if value in field.codes else UNKNOWN
            for field in self.schema.fields
            for value in (fields.get(field.name, UNKNOWN),)
        }
        meta: dict[str, object] = {"episode": self.episode, "step": self._steps}
        if call is not None:
            meta["call"] = call.id
            meta["tool"] = call.tool
        name = f"{self.episode}/{self._steps}/{unit}"
        return EventRecord(id=name, event=event, unit=unit, meta=meta)


def _fed(
    steps: Sequence[Step], tools: Iterable[ToolMetadata], premises: Premises
) -> InstrumentedParser:
    parser = InstrumentedParser(tools, premises)
    for step in steps:
        parser.feed(step)
    return parser


def parse_call(
    so_far: Sequence[Step], call: Call, tools: Iterable[ToolMetadata], premises: Premises
) -> EventRecord:
    """The `call` event of a proposed call after the steps so far."""
    return _fed(so_far, tools, premises).propose(call)


def parse_step(
    so_far: Sequence[Step], step: Step, tools: Iterable[ToolMetadata], premises: Premises
) -> EventRecord | None:
    """The `step` event of a call with its result, or of an answer; None for any other step."""
    events = _fed(so_far, tools, premises).feed(step)
    return events[-1] if events else None


def parse_trajectory(
    trajectory: Trajectory, *, schema: Schema | None = None, lexicon: Lexicon | None = None
) -> Iterator[EventRecord]:
    """Every event of an episode: `call` and `step` of each call, `step` of each answer.

    Parameters
    ----------
    trajectory
        The episode; its task, persona, model, seed, annotations and meta are not looked at.
    schema, lexicon
        The bundled ones when left out.
    """
    parser = InstrumentedParser(
        trajectory.tools,
        trajectory.premises,
        episode=trajectory.id,
        schema=schema,
        lexicon=lexicon,
    )
    for step in trajectory.steps:
        yield from parser.feed(step)
