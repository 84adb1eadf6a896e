"""Sentences that want their reader to do something: a small lexicon, no model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources

from pydantic import BaseModel, ConfigDict, ValidationError

from vepa.errors import InputError, Where
from vepa.parsing.text import fold
from vepa.policy.document import complaint, parse_document

__all__ = ["Ask", "Lexicon", "bundled_lexicon"]

_TOKEN = re.compile(r"[^\W_]+(?:-[^\W_]+)*|[:,;]")
#: "Assistant, send …": the words before the comma are an address, not a clause.
_ADDRESS_WORDS = 3
_MAX_OPENERS = 4


class VerbClass(BaseModel):
    """Verbs of one meaning.

    Attributes
    ----------
    fits
        Kinds of action that carry such a request out.
    verbs
        Language -> folded verbs, in the forms that requests use.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    fits: list[str]
    verbs: dict[str, str]


@dataclass(frozen=True, slots=True)
class Ask:
    """What one sentence wants.

    Attributes
    ----------
    fits
        Kinds of action that would follow it; None: any.
    aimed
        Whether it speaks to an assistant.
    reply
        Whether something is to come back to the sender.
    itself
        Whether it speaks of the very thing that it stands in.
    """

    fits: frozenset[str] | None
    aimed: bool
    reply: bool
    itself: bool


class Lexicon(BaseModel):
    """The words that tell requests; the keys are described in `directives.yaml`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    version: int
    classes: dict[str, VerbClass]
    openers: str
    asks: list[str]
    asks_anywhere: list[str]
    subordinators: str
    subjects: str
    nouns_after: str
    replies: str
    answers: str
    aimed: list[str]
    itself: str
    delegations: list[str]
    errands: list[str]
    generic: str
    affirmations: str
    negations: str

    @classmethod
    def parse(cls, text: str, file: str = "<lexicon>") -> Lexicon:
        """Read a lexicon file.

        Raises
        ------
        InputError
            With file, line and field.
        """
        document = parse_document(text, file, InputError)
        try:
            lexicon = cls.model_validate(document.data)
            _ = lexicon._aimed, lexicon._itself, lexicon.delegating, lexicon.sending
        except ValidationError as error:
            path, message = complaint(error)
            raise InputError(
                message,
                where=Where(file, document.line(path), ".".join(map(str, path)) or None),
                remedy="vepa/parsing/directives.yaml describes every key",
            ) from None
        except re.error as fault:
            raise InputError(
                f"{fault.pattern!r} is no regular expression: {fault}",
                where=Where(file, field="aimed, itself, delegations or errands"),
                remedy="Python's syntax of regular expressions is meant",
            ) from None
        return lexicon

    @cached_property
    def _verbs(self) -> dict[str, frozenset[str]]:
        found: dict[str, frozenset[str]] = {}
        for group in self.classes.values():
            for verb in " ".join(group.verbs.values()).split():
                found[verb] = found.get(verb, frozenset()) | frozenset(group.fits)
        return found

    @cached_property
    def _aimed(self) -> re.Pattern[str]:
        return re.compile("|".join(f"(?:{pattern})" for pattern in self.aimed))

    @cached_property
    def _itself(self) -> re.Pattern[str]:
        return re.compile(self.itself)

    @cached_property
    def delegating(self) -> list[re.Pattern[str]]:
        """Patterns by which a user hands the decision over."""
        return [re.compile(pattern) for pattern in self.delegations]

    @cached_property
    def sending(self) -> list[re.Pattern[str]]:
        """Patterns by which a user names a piece of work."""
        return [re.compile(pattern) for pattern in self.errands]

    @cached_property
    def _sets(self) -> dict[str, frozenset[str]]:
        names = (
            "openers", "subordinators", "subjects", "nouns_after", "replies", "answers", "generic",
            "affirmations", "negations",
        )  # fmt: skip
        return {name: frozenset(getattr(self, name).split()) for name in names}

    @cached_property
    def _phrases(self) -> dict[str, list[tuple[tuple[str, ...], bool]]]:
        """First word -> the phrases that begin with it, and whether the verb may come later."""
        found: dict[str, list[tuple[tuple[str, ...], bool]]] = {}
        for phrases, anywhere in ((self.asks, False), (self.asks_anywhere, True)):
            for phrase in phrases:
                words = tuple(phrase.split())
                found.setdefault(words[0], []).append((words, anywhere))
        return found

    def words(self, name: str) -> frozenset[str]:
        """One of the word lists as a set."""
        return self._sets[name]

    def read(self, sentence: str) -> Ask | None:
        """What a sentence wants from its reader; None when it only states something."""
        folded = fold(sentence)
        tokens = _TOKEN.findall(folded)
        fits = self._wanted(tokens)
        aimed = self._aimed.search(folded) is not None
        if fits is None and not aimed:
            return None
        reply = not self._sets["replies"].isdisjoint(tokens)
        return Ask(fits, aimed, reply, self._itself.search(folded) is not None)

    def _wanted(self, tokens: list[str]) -> frozenset[str] | None:
        fits: frozenset[str] = frozenset()
        for start in self._starts(tokens):
            fits |= self._verb_at(tokens, start)
        for start in self._late(tokens):
            for token in tokens[start:]:
                fits |= self._verbs.get(token, frozenset())
        if not fits:
            return None
        for at, token in enumerate(tokens[:-1]):
            if token in ("and", "then", "und", "et", "y", ","):
                fits |= self._verb_at(tokens, at + 1)
        return fits

    def _starts(self, tokens: list[str]) -> Iterator[int]:
        """Where a verb would be an imperative."""
        yield 0
        subordinate = bool(tokens) and tokens[0] in self._sets["subordinators"]
        address = self._sets["subjects"].isdisjoint(tokens[:_ADDRESS_WORDS])
        for at, word in enumerate(tokens):
            opens = subordinate or (address and at <= _ADDRESS_WORDS)
            if word in ":;" or (word == "," and opens):
                yield at + 1
            for phrase, anywhere in self._phrases.get(word, ()):
                if not anywhere and tuple(tokens[at : at + len(phrase)]) == phrase:
                    yield at + len(phrase)

    def _late(self, tokens: list[str]) -> Iterator[int]:
        if not self._sets["negations"].isdisjoint(tokens):
            return
        for at, token in enumerate(tokens):
            for phrase, anywhere in self._phrases.get(token, ()):
                if anywhere and tuple(tokens[at : at + len(phrase)]) == phrase:
                    yield at + len(phrase)
                    return  # the rest of the sentence is covered

    def _verb_at(self, tokens: list[str], at: int) -> frozenset[str]:
        for _ in range(_MAX_OPENERS):
            if at < len(tokens) and (tokens[at] in self._sets["openers"] or tokens[at] == ","):
                at += 1
        if at + 1 >= len(tokens):
            return frozenset()
        after = tokens[at + 1]
        if after == ":" or after in self._sets["nouns_after"]:
            return frozenset()
        return self._verbs.get(tokens[at], frozenset())


@lru_cache(maxsize=1)
def bundled_lexicon() -> Lexicon:
    """The lexicon that ships with the package."""
    source = resources.files("vepa.parsing").joinpath("directives.yaml")
    return Lexicon.parse(source.read_text(encoding="utf-8"), "directives.yaml")
