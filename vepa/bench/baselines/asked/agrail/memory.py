"""The memory of AGrail: one list of entries, found by the nearest key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vepa.bench.baselines.base import Floats
from vepa.errors import InputError, Where
from vepa.llm.embedding import Embedder
from vepa.policy.document import complaint

__all__ = ["Check", "Entry", "Key", "Memory", "Vectors"]

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Key:
    """What an entry is found by: an event as a generic sentence and as a command form."""

    sentence: str
    command: str

    @property
    def text(self) -> str:
        """Both, as they are embedded; two keys with the same text are the same key."""
        return f"{self.sentence}\n{self.command}"


@dataclass(frozen=True, slots=True)
class Check:
    """A named check of a category; its definition says when it is true."""

    category: str
    name: str
    definition: str

    def to_dict(self) -> dict[str, str]:
        """As it is stored and shown."""
        return {"category": self.category, "name": self.name, "definition": self.definition}


@dataclass(frozen=True, slots=True)
class Entry:
    """A key with its checks."""

    key: Key
    checks: tuple[Check, ...]

    @property
    def by_category(self) -> dict[str, dict[str, str]]:
        """Category -> name -> definition, without categories that have no check."""
        found: dict[str, dict[str, str]] = {}
        for check in self.checks:
            found.setdefault(check.category, {})[check.name] = check.definition
        return found

    def to_dict(self) -> dict[str, Any]:
        """As it is stored and shown; the checks are a list, for their order is a part of it."""
        key = {"sentence": self.key.sentence, "command": self.key.command}
        return {"key": key, "checks": [check.to_dict() for check in self.checks]}


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors of length 1 of a key's whole text and of its sentence."""

    text: Floats
    sentence: Floats


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _StoredKey(_Stored):
    sentence: str
    command: str


class _StoredCheck(_Stored):
    category: str
    name: str
    definition: str


class _StoredEntry(_Stored):
    key: _StoredKey
    checks: list[_StoredCheck] = Field(min_length=1)


class _StoredMemory(_Stored):
    agrail: int
    embedder: str
    categories: dict[str, str]
    entries: list[_StoredEntry]


class Memory:
    """Entries in the order in which their keys first came.

    Parameters
    ----------
    embedder
        Turns keys into vectors.
    categories
        Category -> definition; fixed.
    """

    def __init__(self, embedder: Embedder, categories: Mapping[str, str]):
        self._embedder = embedder
        self.categories = dict(categories)
        self._entries: dict[str, tuple[Entry, Vectors]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries."""
        return tuple(entry for entry, _ in self._entries.values())

    def vectors(self, key: Key) -> Vectors:
        """The vectors of a key; one call of the embedder."""
        text, sentence = self._embedder.embed([key.text, key.sentence])
        return Vectors(text, sentence)

    def nearest(self, vectors: Vectors) -> Entry | None:
        """The entry whose key is nearest (the oldest of equals); None without entries."""
        if not self._entries:
            return None
        kept = np.stack([found.text for _, found in self._entries.values()])
        return self.entries[int(np.argmax(kept @ vectors.text))]

    def likeness(self, entry: Entry, summary: str) -> float:
        """Cosine between a sentence and the sentence of an entry's key."""
        vector = self._embedder.embed([summary])[0]
        return float(vector @ self._entries[entry.key.text][1].sentence)

    def write(self, key: Key, checks: Sequence[Check], vectors: Vectors | None = None) -> None:
        """Put checks under a key, in the place of what stood there; no checks change nothing.

        Parameters
        ----------
        key
            Of an entry, or a new one.
        checks
            What is kept.
        vectors
            Of the key, where they are known; a key of an entry needs none.
        """
        if not checks:
            return
        known = self._entries.get(key.text)
        found = known[1] if known else vectors or self.vectors(key)
        self._entries[key.text] = (Entry(key, tuple(checks)), found)

    def copy(self) -> Memory:
        """The same entries; what is written to one does not touch the other."""
        other = Memory(self._embedder, self.categories)
        other._entries = dict(self._entries)
        return other

    def to_dict(self) -> dict[str, Any]:
        """As JSON; vectors are left out, for the embedder makes them again."""
        return {
            "agrail": _VERSION,
            "embedder": self._embedder.name,
            "categories": dict(self.categories),
            "entries": [entry.to_dict() for entry in self.entries],
        }

    @classmethod
    def from_dict(cls, data: Any, embedder: Embedder) -> Memory:
        """What `to_dict` gave; the keys are embedded anew.

        Raises
        ------
        InputError
            When it is no such thing, or was made with another embedder.
        ModelError, BudgetError
            Of the embedder.
        """
        try:
            stored = _StoredMemory.model_validate(data)
        except ValidationError as error:
            path, message = complaint(error)
            raise _unusable(message, ".".join(map(str, path))) from None
        if stored.agrail != _VERSION:
            raise _unusable(f"version {stored.agrail}, not {_VERSION}", "agrail")
        if stored.embedder != embedder.name:
            raise _unusable(f"made with {stored.embedder!r}, not {embedder.name!r}", "embedder")
        memory = cls(embedder, stored.categories)
        memory._restore(
            _entry(each, at, stored.categories) for at, each in enumerate(stored.entries)
        )
        return memory

    def _restore(self, entries: Iterable[Entry]) -> None:
        found = list(entries)
        texts = [text for entry in found for text in (entry.key.text, entry.key.sentence)]
        made = self._embedder.embed(texts)
        for at, entry in enumerate(found):
            vectors = Vectors(made[2 * at], made[2 * at + 1])
            self._entries[entry.key.text] = (entry, vectors)


def _entry(stored: _StoredEntry, at: int, categories: Mapping[str, str]) -> Entry:
    checks = tuple(Check(each.category, each.name, each.definition) for each in stored.checks)
    strange = [check.category for check in checks if check.category not in categories]
    if strange:
        raise _unusable(f"{strange[0]!r} is no category of it", f"entries.{at}.checks")
    return Entry(Key(stored.key.sentence, stored.key.command), checks)


def _unusable(message: str, field: str) -> InputError:
    return InputError(
        f"no memory of AGrail: {message}",
        where=Where(field=field or None),
        remedy="hand in what `to_dict` gave, with the embedder that it was made with",
    )
