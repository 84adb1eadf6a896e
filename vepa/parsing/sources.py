"""Where the text of arguments came from, word by word, for people who look at an episode.

Every text of an episode is read once. The words of each call's arguments are then looked for among
what stood before it: at every word the longest run that stood somewhere wins, and of runs of one
length the one that stood first. Whether that text belonged to a request of a third party is what
the parser's own memory (`vepa.parsing.provenance`) says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from vepa.corpus.tools import Origin, ToolMetadata
from vepa.corpus.trajectory import Call, Result, Step, Trajectory
from vepa.parsing.directives import Lexicon, bundled_lexicon
from vepa.parsing.documents import documents, leaves_of, split_quoted
from vepa.parsing.provenance import Memory
from vepa.parsing.text import GRAM, is_distinctive, located_words, words_of

__all__ = ["AGENT", "Leaf", "Source", "SourceKind", "Span", "sources_of"]

SourceKind = Literal["user", "message", "document", "tool", "agent"]
_KINDS: dict[Origin, SourceKind] = {
    "message_content": "message",
    "retrieved_content": "document",
    "tool_output": "tool",
    "none": "tool",
}
#: A longer run is looked for at so many places where its first words stood: cost stays linear.
_PLACES = 8
#: In a text of more words, a short run must tell something before it counts as copied.
_SHORT = GRAM
_TELLING_LETTERS = 5
#: Digits of a number that may be an amount in another unit; shorter ones are limits and counts.
_FEWEST_IN_CENTS, _FEWEST_IN_UNITS = 4, 3


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
    reader = _Reader(trajectory.tools, Memory(lexicon or bundled_lexicon()))
    found: dict[int, list[Leaf]] = {}
    for step in trajectory.steps:
        if step.call is not None:
            found[step.index] = [reader.leaf(path, value) for path, value in _parts(step.call)]
        reader.read(step)
    return found


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


@dataclass(slots=True)
class _Told:
    """Every word that was said, in one row, and where runs of one to four of them first stood.

    Attributes
    ----------
    words
        None stands between two texts, so that no run reaches from one into the other.
    owners
        Of each word, who said it.
    places
        Run -> positions in `words`; the first one, of runs of four the first few.
    work
        Runs noted and looked up.
    """

    words: list[str | None] = field(default_factory=list)
    owners: list[Source] = field(default_factory=list)
    places: dict[str, list[int]] = field(default_factory=dict)
    work: int = 0

    def note(self, text: str, source: Source) -> None:
        """Read a text."""
        words = words_of(text)
        begin = len(self.words)
        self.words += [*words, None]
        self.owners += [source] * (len(words) + 1)
        for at in range(len(words)):
            for length in range(1, min(GRAM, len(words) - at) + 1):
                self.work += 1
                known = self.places.setdefault(" ".join(words[at : at + length]), [])
                if len(known) < (_PLACES if length == GRAM else 1):
                    known.append(begin + at)

    def longest(self, words: Sequence[str], at: int) -> tuple[int, int]:
        """How many words from `at` on stood somewhere as one run, and where; (0, -1): none."""
        for length in range(min(GRAM, len(words) - at), 0, -1):
            self.work += 1
            known = self.places.get(" ".join(words[at : at + length]))
            if known:
                ends = [self._reach(words, at, place, length) for place in known]
                most = max(ends)
                return most, known[ends.index(most)]
        return 0, -1

    def _reach(self, words: Sequence[str], at: int, place: int, length: int) -> int:
        while at + length < len(words) and self.words[place + length] == words[at + length]:
            length += 1
            self.work += 1
        return length


class _Reader:
    """Reads an episode step by step and answers for the arguments of the next call."""

    def __init__(self, tools: Sequence[ToolMetadata], memory: Memory):
        self._origins = {tool.name: tool.origin for tool in tools}
        self._memory = memory
        self.told = _Told()

    def leaf(self, path: tuple[str | int, ...], value: Any) -> Leaf:
        """One value with its sources; true, false, null and what is empty come from nowhere."""
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        traced = isinstance(value, str) or (
            isinstance(value, int | float) and not isinstance(value, bool)
        )
        return Leaf(path, text, tuple(self._spans(text)) if traced else ())

    def _spans(self, text: str) -> list[Span]:
        located = located_words(text)
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
        if length and _is_telling(run, words):
            return length, self._sourced(place, run)
        for other in _other_spellings(words[at]):
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

    def read(self, step: Step) -> None:
        """Remember a step."""
        if step.call is not None:
            self._read_call(step.index, step.call, step.result)
        elif step.kind == "answer":
            self._note(step.text or "", "agent", step.index)
            self._memory.answer(step.text or "")
        elif step.kind == "observation":
            self._read_result(step.index, step.text or "", "tool_output", [])
        else:
            own, quoted = split_quoted(step.text or "")
            self._note(own, "user", step.index)
            self._note(quoted, "message", step.index)
            self._memory.user(step.text or "")

    def _read_call(self, index: int, call: Call, result: Result | None) -> None:
        # First the call itself: a result that only echoes what the agent wrote is no source of it.
        around = [call.text] if call.text is not None else list(leaves_of(call.arguments))
        for text in around:
            self._note(text, "agent", index)
        self._memory.agent(around)
        if result is None:
            return
        # An error is the service's own text, whatever the tool's results are.
        origin = self._origins.get(call.tool, "tool_output") if result.ok else "tool_output"
        self._read_result(index, result.content, origin, around)

    def _read_result(self, index: int, content: str, origin: Origin, around: list[str]) -> None:
        parts = documents(content)
        for document in parts:
            for text in document.texts:
                self._note(text, _KINDS[origin], index)
        self._memory.documents(parts, origin, None, around)

    def _note(self, text: str, kind: SourceKind, index: int) -> None:
        self.told.note(text, Source(kind, index))


def _is_telling(run: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a run is more than a turn of phrase that stands in any text.

    A single plain word is, where it is all of the text; two or three of them in a short text.
    """
    if len(run) >= min(GRAM, len(words)) or any(is_distinctive(word) for word in run):
        return True
    if len(run) == 1:
        return run[0].isdecimal() and len(words) <= _SHORT
    return (
        len(words) <= _SHORT
        or any(word.isdecimal() for word in run)
        or sum(len(word) >= _TELLING_LETTERS for word in run) > 1
    )


def _other_spellings(word: str) -> Iterator[str]:
    """A number in cents where it stood in whole units, and the other way round."""
    whole, mark, part = word.partition(".")
    if not whole.isdecimal() or (mark and not part.isdecimal()):
        return
    if not mark and len(whole) >= _FEWEST_IN_CENTS:
        cents = whole[-2:].rstrip("0")
        yield whole[:-2] + (f".{cents}" if cents else "")
    if mark or len(whole) >= _FEWEST_IN_UNITS:
        yield (whole + part.ljust(2, "0")).lstrip("0") or "0"
