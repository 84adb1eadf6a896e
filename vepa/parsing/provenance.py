"""Where the words of an episode came from: every text is read once, every look-up is a hash.

The memory holds each run of one to four words that occurred, with who said it. What stands in or
around a request by a third party is remembered together with that request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from vepa.corpus.tools import Origin
from vepa.parsing.directives import Lexicon
from vepa.parsing.documents import Document, split_quoted
from vepa.parsing.runs import CELL_WORDS, Planted, Runs, Seen, Standing
from vepa.parsing.text import GRAM, Run, fold, grams, is_distinctive, sentences, words_of

__all__ = ["Memory", "Voice"]

#: Who spoke: the user, the agent, or a text that an agent was given, by what it is.
Voice = Literal["user", "agent"] | Origin

#: Sentences before and after a request that belong to it ("The address is …. Send it there.").
_BEFORE, _AFTER = 1, 2
_ANNOUNCES = re.compile(r":\s*$|\b(?:following|below|folgende\w*|unten|suivant\w*|siguiente\w*)\b")
#: A plain run must be this long before it counts as copied.
_COPIED_WORDS = 6
#: How names with umlauts are spelled in addresses.
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "ø": "oe", "å": "aa"})


@dataclass(slots=True)
class Memory:
    """What an agent has been told so far, by whom.

    Attributes
    ----------
    lexicon
        What tells a request.
    runs
        Where every run of words has stood.
    planted
        Requests of third parties in the order in which they were first read; each once.
    work
        Runs of words read or looked up, for tests of its cost.
    user_words
        Every word of the user's own.
    wants_reply
        Whether the user spoke of an answer to somebody.
    wanted
        Kinds of action that the user's own requests call for.
    has_user, has_planted
        Whether there was a user turn, and a request that the user did not delegate.
    heard
        The words of each text that was read, with who spoke: for a listener, who empties it. None:
        nobody listens, nothing is kept.
    """

    lexicon: Lexicon
    planted: list[Planted] = field(default_factory=list)
    work: int = 0
    user_words: set[str] = field(default_factory=set)
    wants_reply: bool = False
    wanted: set[str] = field(default_factory=set)
    has_user: bool = False
    has_planted: bool = False
    heard: list[tuple[Voice, list[str]]] | None = None
    runs: Runs = field(default_factory=Runs)
    _authored: set[tuple[str, ...]] = field(default_factory=set)
    _numbers: dict[tuple[str, tuple[str, ...]], int] = field(default_factory=dict)
    _delegates: list[frozenset[str]] = field(default_factory=list)
    _errands: list[frozenset[str]] = field(default_factory=list)
    _references: dict[str, int] = field(default_factory=dict)
    _said: str = ""

    # -- reading ------------------------------------------------------------------------------

    def user(self, text: str) -> None:
        """Read a user turn; what the user only quotes counts as somebody else's message."""
        own, quoted = split_quoted(text)
        self.has_user = True
        words = words_of(own)
        self._hear("user", words)
        self._own(own, words)
        if self._said and self._agrees(words):
            self._own(self._said, words_of(self._said))
        self._said = ""
        self._delegate(own)
        self._wants(own, words)
        if quoted.strip():
            self.documents([Document(texts=[quoted])], "message_content", None, ())

    def _wants(self, own: str, words: list[str]) -> None:
        if not self.lexicon.words("answers").isdisjoint(words):
            self.wants_reply = True
            self.wanted.update(("send", "create"))
        for sentence in _flat(own):
            self._authored.add(tuple(words_of(sentence)))
            ask = self.lexicon.read(sentence)
            self.wanted.update(ask.fits or () if ask else ())

    def agent(self, texts: Iterable[str]) -> None:
        """Note what the agent wrote, so that an echo of it is nobody's request."""
        for text in texts:
            if self.heard is not None:
                self._hear("agent", words_of(text))
            for sentence in _flat(text):
                self._authored.add(tuple(words_of(sentence)))

    def _hear(self, voice: Voice, words: list[str]) -> None:
        if self.heard is not None:
            self.heard.append((voice, words))

    def answer(self, text: str) -> None:
        """Note what the agent told the user: a plain yes takes it over."""
        if self.heard is not None:
            self._hear("agent", words_of(text))
        self._said = text

    def documents(
        self, parts: Iterable[Document], origin: Origin, rank: int | None, around: Sequence[str]
    ) -> None:
        """Read the documents of a result.

        Parameters
        ----------
        parts
            What it holds.
        origin
            What its text is; a document of origin `none` is never searched for requests.
        rank
            Its class of sensitivity, where that is known.
        around
            Arguments of the call that gave it: they name each document, too.
        """
        named = [words_of(text) for text in around]
        self.work += GRAM * sum(map(len, named))
        for part in parts:
            self._document(part, origin, rank, named)

    def _document(
        self,
        document: Document,
        origin: Origin,
        rank: int | None,
        named: Sequence[list[str]],
    ) -> None:
        found: list[tuple[int, list[str]]] = []
        if origin != "none":
            standing = self._standing(document, named)
            for text in document.texts:
                # Who may be obeyed may still quote somebody who may not.
                own, quoted = (text, "") if standing == "foreign" else split_quoted(text)
                found.extend(self._requests(own, origin, standing))
                found.extend(self._requests(quoted, origin, "foreign"))
        for number, scope in found:
            self.runs.add_inside(self._grams(scope), number)
        for number in {number for number, _ in found}:
            ask = self.planted[number].ask
            if ask.reply or self.planted[number].standing == "errand":
                for text in document.senders:
                    self.runs.add_beside(self._grams(words_of(text)), number)
            if ask.itself:
                # Reading it once more is no answer to "delete this mail": told before.
                for words in (*map(words_of, document.head), *named):
                    self.runs.add_inside(self._grams(words), number, told=True)
        for text in document.texts:
            words = words_of(text)
            self._hear(origin, words)
            self.work += GRAM * len(words)
            self.runs.add_data(text, words, plain=not found, rank=rank, around=named)

    def _requests(
        self, text: str, origin: Origin, standing: Standing
    ) -> list[tuple[int, list[str]]]:
        found: list[tuple[int, list[str]]] = []
        if " " not in text.strip():
            return found
        paragraphs = sentences(text)
        for row, paragraph in enumerate(paragraphs):
            for at, sentence in enumerate(paragraph):
                self.work += 1
                ask = self.lexicon.read(sentence)
                if ask is None or (key := tuple(words_of(sentence))) in self._authored:
                    continue
                own: Standing = "foreign" if ask.aimed else standing
                number = self._numbered(Planted(ask, origin, key, own))
                scope = list(paragraph[max(0, at - _BEFORE) : at + 1 + _AFTER])
                last = at + 1 == len(paragraph)
                if last and _ANNOUNCES.search(sentence) and row + 1 < len(paragraphs):
                    scope += paragraphs[row + 1]
                found.append((number, words_of(" \n ".join(scope))))
        return found

    def _numbered(self, planted: Planted) -> int:
        key = (planted.origin, planted.sentence)
        number = self._numbers.setdefault(key, len(self.planted))
        if number == len(self.planted):
            self.planted.append(planted)
            self.has_planted = self.has_planted or planted.standing != "delegated"
        return number

    def _own(self, text: str, words: list[str]) -> None:
        self.user_words.update(words)
        if not text.isascii():
            self.user_words.update(words_of(text.translate(_UMLAUTS)))
        self.work += GRAM * len(words)
        self.runs.add_user(words)

    def _delegate(self, own: str) -> None:
        text = " ".join(fold(own).split())
        generic = self.lexicon.words("generic")
        for pattern in self.lexicon.sending:
            for match in pattern.finditer(text):
                self._errands.append(frozenset(words_of(match["of"])) - generic)
        for pattern in self.lexicon.delegating:
            for match in pattern.finditer(text):
                who = frozenset(words_of(match["of"])) - generic
                self._delegates.append(who or frozenset(words_of(match["more"])) - generic)

    def _standing(self, document: Document, named: Sequence[list[str]]) -> Standing:
        if not self._delegates and not self._errands:
            return "foreign"
        heads = {word for words in (*map(words_of, document.head), *named) for word in words}
        if any(not names or names & heads for names in self._delegates):
            return "delegated"
        return "errand" if any(names & heads for names in self._errands) else "foreign"

    def _agrees(self, words: list[str]) -> bool:
        yes, no = self.lexicon.words("affirmations"), self.lexicon.words("negations")
        return bool(words) and words[0] in yes and no.isdisjoint(words)

    def refer(self, names: Iterable[str], rank: int | None) -> None:
        """Note the class of what was read under a name: a path, an id."""
        for name in names:
            words = words_of(name)
            if rank is not None and (len(words) > 1 or any(map(is_distinctive, words))):
                key = " ".join(words)
                self._references[key] = max(rank, self._references.get(key, rank))

    # -- looking up ---------------------------------------------------------------------------

    def where(self, words: list[str]) -> Seen:
        """Where a run of words stood as a whole; a long one by all its runs of four."""
        self.work += len(words)
        return self.runs.where(words)

    def inside(self, words: list[str]) -> Mapping[int, bool]:
        """The requests in which a run of words stood, as `Seen.inside` tells them."""
        self.work += len(words)
        return self.runs.inside(words)

    def copied(self, text: str) -> int | None:
        """The highest class of earlier results whose text stands in `text`; None: of none.

        A run counts that is long, or holds an account, an id or an amount, or two cells of a
        table. What the user wrote, or what a result of a lower class held as well, does not.
        A text that is the name of something read has the class of that.
        """
        if not self.runs.ranked and not self._references:
            return None
        words = words_of(text)
        best = self._references.get(" ".join(words))
        cells: dict[int, set[Run]] = {}
        lengths: dict[int, int] = {}
        for at in range(len(words)):
            four = self._rank(tuple(words[at : at + GRAM])) if at + GRAM <= len(words) else None
            lengths = {four: lengths.get(four, GRAM - 1) + 1} if four is not None else {}
            if four is not None and lengths[four] >= _COPIED_WORDS:
                best = four if best is None else max(best, four)
            if is_distinctive(words[at]):
                one = self._rank((words[at],))
                if one is not None:
                    best = one if best is None else max(best, one)
            for length in CELL_WORDS:
                run = tuple(words[at : at + length])
                if len(run) == length and self.runs.is_cell(run):
                    rank = self._rank(run)
                    if rank is not None:
                        cells.setdefault(rank, set()).add(run)
        several = [rank for rank, runs in cells.items() if len(runs) > 1]
        return max((rank for rank in (best, *several) if rank is not None), default=None)

    def _rank(self, run: Run) -> int | None:
        self.work += 1
        return self.runs.rank(run)

    def _grams(self, words: list[str]) -> list[Run]:
        self.work += GRAM * len(words)
        return grams(words)


def _flat(text: str) -> list[str]:
    return [sentence for paragraph in sentences(text) for sentence in paragraph]
