"""Where the text of arguments came from, word by word, for people who look at an episode.

Every text of an episode is read once. The words of each call's arguments are then looked for among
what stood before it: at every word the longest run that stood somewhere wins, and of runs of one
length the one that stood first. Whether that text belonged to a request of a third party is what
the parser's own memory (`vepa.parsing.provenance`) says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from vepa.corpus.events import EventRecord
from vepa.corpus.tools import Origin
from vepa.corpus.trajectory import Call, Step, Trajectory
from vepa.parsing.directives import Lexicon, bundled_lexicon
from vepa.parsing.documents import documents, leaves_of
from vepa.parsing.instrumented import InstrumentedParser, parse_trajectory
from vepa.parsing.provenance import Memory, Voice
from vepa.parsing.telling import is_telling, other_spellings
from vepa.parsing.text import located_words
from vepa.parsing.told import Told
from vepa.policy.schema import Schema

__all__ = ["AGENT", "Leaf", "Source", "SourceKind", "Span", "events_and_sources", "sources_of"]

SourceKind = Literal["user", "message", "document", "tool", "agent"]
_KINDS: dict[Voice, SourceKind] = {
    "user": "user",
    "agent": "agent",
    "message_content": "message",
    "retrieved_content": "document",
    "tool_output": "tool",
    "none": "tool",
}


@dataclass(frozen=True, slots=True)
class Source:
    """Where words came from.

    Attributes
    ----------
    kind
        `user`: a user turn. `message`, `document`, `tool`: an earlier result, by the `origin` of
        its tool; what a user turn only quotes is a `message`. `agent`: nobody else said it before.
    step
        Index of the first step in which they stood; None where they stood nowhere.
    request
        Whether they stood in or around a third party's request.
    """

    kind: SourceKind
    step: int | None = None
    request: bool = False


#: Words that stood nowhere before.
AGENT = Source("agent")


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text with one source; what lies between spans holds no word.

    Attributes
    ----------
    start, end
        Offsets in the text, as Python counts them.
    source
        Where it came from.
    """

    start: int
    end: int
    source: Source


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value in the arguments of a call.

    Attributes
    ----------
    path
        Keys and positions that lead to it; empty where the model wrote no JSON object.
    text
        A text as it is, anything else as JSON spells it.
    spans
        In order, without overlap.
    """

    path: tuple[str | int, ...]
    text: str
    spans: tuple[Span, ...]


def sources_of(trajectory: Trajectory, lexicon: Lexicon | None = None) -> dict[int, list[Leaf]]:
    """The sources of every argument of every call.

    Parameters
    ----------
    trajectory
        The episode; its task, persona, model, seed, premises and meta are not looked at.
    lexicon
        What tells a request; the bundled one when left out.

    Returns
    -------
    dict
        Index of a step that is a call -> its leaves, in the order of its arguments.
    """
    memory = Memory(lexicon or bundled_lexicon())
    reader = _Reader(trajectory.steps, memory)
    origins = {tool.name: tool.origin for tool in trajectory.tools}
    found: dict[int, list[Leaf]] = {}
    for step in trajectory.steps[: reader.calls_end]:
        if step.call is not None:
            found[step.index] = reader.leaves(step)
        _remember(memory, step, origins)
        reader.listen(step)
    return found


def events_and_sources(
    trajectory: Trajectory, *, schema: Schema | None = None, lexicon: Lexicon | None = None
) -> tuple[list[EventRecord], dict[int, list[Leaf]]]:
    """What `parse_trajectory` and `sources_of` tell, for little more than the first of them.

    Parameters
    ----------
    trajectory
        The episode.
    schema, lexicon
        The bundled ones when left out.

    Raises
    ------
    InputError
        When a tool's metadata or a mark does not fit the schema.
    """
    if any(step.call is not None and step.call.text is not None for step in trajectory.steps):
        # For the parser such a call has no arguments, for its sources it is one text: what the
        # agent said differs, and so does what is remembered.
        events = list(parse_trajectory(trajectory, schema=schema, lexicon=lexicon))
        return events, sources_of(trajectory, lexicon)
    parser = InstrumentedParser(
        trajectory.tools,
        trajectory.premises,
        episode=trajectory.id,
        schema=schema,
        lexicon=lexicon,
    )
    reader = _Reader(trajectory.steps, parser.memory)
    events, found = [], {}
    for at, step in enumerate(trajectory.steps):
        if step.call is not None:
            found[step.index] = reader.leaves(step)
        events += parser.feed(step)
        if at < reader.calls_end:
            reader.listen(step)
    return events, found


def _remember(memory: Memory, step: Step, origins: Mapping[str, Origin]) -> None:
    """Read a step as the parser does, but take a call that is no JSON for what it says."""
    if step.kind == "answer":
        memory.answer(step.text or "")
    elif step.kind == "observation":
        memory.documents(documents(step.text or ""), "tool_output", None, [])
    elif step.call is None:
        memory.user(step.text or "")
    else:
        call, result = step.call, step.result
        around = [call.text] if call.text is not None else list(leaves_of(call.arguments))
        memory.agent(around)
        if result is not None:
            # An error is the service's own text, whatever the tool's results are.
            origin = origins.get(call.tool, "tool_output") if result.ok else "tool_output"
            memory.documents(documents(result.content), origin, None, around)


def _parts(call: Call) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Path and value of each leaf; an empty list or object is one, too."""
    if call.text is not None:
        yield (), call.text
        return
    stack: list[tuple[tuple[str | int, ...], Any]] = [((), call.arguments)]
    while stack:
        path, node = stack.pop()
        children: list[tuple[str | int, Any]] = []
        if isinstance(node, dict):
            children = list(node.items())
        elif isinstance(node, list):
            children = list(enumerate(node))
        if children:
            stack.extend(((*path, key), child) for key, child in reversed(children))
        elif path:
            yield path, node


class _Part(NamedTuple):
    """One value in the arguments of a call, and its words with their places in its text."""

    path: tuple[str | int, ...]
    text: str
    located: list[tuple[str, int, int]]


def _part(path: tuple[str | int, ...], value: Any) -> _Part:
    """True, false, null and what is empty come from nowhere: no words are looked for."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    traced = isinstance(value, str) or (
        isinstance(value, int | float) and not isinstance(value, bool)
    )
    return _Part(path, text, located_words(text) if traced else [])


class _Reader:
    """Listens to a memory that reads an episode, and answers for the arguments of its calls.

    Parameters
    ----------
    steps
        The whole episode: what its calls will ask for is known before the first word is read.
    memory
        Reads each step after its leaves were asked for, and before `listen`.
    """

    def __init__(self, steps: Sequence[Step], memory: Memory):
        self._parts = {
            step.index: [_part(path, value) for path, value in _parts(step.call)]
            for step in steps
            if step.call is not None
        }
        #: Position behind the last call: nothing is asked of what follows.
        self.calls_end = max((at for at, step in enumerate(steps, 1) if step.call), default=0)
        self._memory = memory
        memory.heard = []
        self.told: Told[Source] = Told(self._asked())

    def _asked(self) -> Iterator[list[str]]:
        for parts in self._parts.values():
            for part in parts:
                words = [word for word, _, _ in part.located]
                yield words
                for word in words:
                    yield from ([other] for other in other_spellings(word))

    def leaves(self, step: Step) -> list[Leaf]:
        """The values of a call with their sources."""
        return [
            Leaf(part.path, part.text, tuple(self._spans(part.located)))
            for part in self._parts[step.index]
        ]

    def listen(self, step: Step) -> None:
        """Take what the memory heard in a step."""
        # First the call itself: a result that only echoes what the agent wrote is no source of it.
        for voice, words in self._memory.heard or ():
            self.told.note(words, Source(_KINDS[voice], step.index))
        self._memory.heard = []

    def _spans(self, located: Sequence[tuple[str, int, int]]) -> list[Span]:
        words = [word for word, _, _ in located]
        spans: list[Span] = []
        at = 0
        while at < len(words):
            length, source = self._found(words, at)
            start, end = located[at][1], located[at + length - 1][2]
            last = spans[-1] if spans else Span(0, 0, source)
            if spans and last.source == source:
                spans[-1] = Span(last.start, end, source)
            elif end > last.end:  # not so for two words out of one sign, such as a fraction
                spans.append(Span(max(start, last.end), end, source))
            at += length
        return spans

    def _found(self, words: Sequence[str], at: int) -> tuple[int, Source]:
        length, place = self.told.longest(words, at)
        run = words[at : at + length]
        if length and is_telling(run, words):
            return length, self._sourced(place, run)
        for other in other_spellings(words[at]):
            found, place = self.told.longest([other], 0)
            if found:
                return 1, self._sourced(place, [other])
        return 1, AGENT

    def _sourced(self, place: int, run: Sequence[str]) -> Source:
        source = self.told.owners[place]
        if source.kind in ("user", "agent"):
            return source
        inside = self._memory.inside(list(run))
        return Source(source.kind, source.step, any(not before for before in inside.values()))
