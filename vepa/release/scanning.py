"""Secrets: only seeded ones, which are listed, may stand in a release.

Every text of every line is looked at once, however often it stands there: a record's strings as
they are read, what lies inside of them as JSON, and the same without escapes. Parquet is not read:
`vepa.release.checking` proves that it says the same as the JSON Lines beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from vepa.corpus.lines import MAX_RECORD_BYTES
from vepa.errors import InputError, Where
from vepa.files import decode, read_lines, read_text, sha256_of
from vepa.release.finds import BINARY, Found, masked
from vepa.release.patterns import (
    CANARY,
    DOCUMENT_HOSTS,
    SECRET_NAME,
    looks_secret,
    secrets_in,
)
from vepa.release.reviewing import NOTHING, Review, entries_for

__all__ = ["Found", "scan", "scan_or_refuse"]

_CANARY_KIND = "a canary that the world does not list"
#: Escapes that stand inside of a text: JSON in JSON, as arguments and answers hold it.
_BREAKS = re.compile(r"\\+[nrtbf]")
_SIGNS = re.compile(r"\\+([\"'/])")
#: Names of fields that are told; another may be a secret itself.
_PLAIN = re.compile(r"[A-Za-z_]{1,32}\d{0,3}")
#: Whole numbers below this are no number of a card.
_LARGE = 10**11


class _Hit(NamedTuple):
    """A find in a text; `excerpt` and `sha256` stand for its words."""

    kind: str
    excerpt: str
    column: int
    sha256: str

    @classmethod
    def of(cls, kind: str, words: str, column: int) -> _Hit:
        return cls(kind, masked(words), column, sha256_of(words))


def scan(folder: Path, canaries: Iterable[str]) -> list[Found]:
    """Look through every file of a release.

    Parameters
    ----------
    folder
        Of the release, or of the files that become one.
    canaries
        Seeded secrets: the only ones that may stand there.

    Raises
    ------
    InputError
        When a file cannot be read as what its name says.
    MissingExtraError
        When detect-secrets is not installed.
    """
    scanner = _Scanner(canaries)
    return [
        found
        for path in sorted(each for each in folder.rglob("*") if each.is_file())
        for found in scanner.file(path, path.relative_to(folder).as_posix())
    ]


def scan_or_refuse(
    folder: Path, canaries: Iterable[str], review: Review = NOTHING
) -> tuple[str, ...]:
    """Look through every file; refuse what holds a secret that is no canary.

    Parameters
    ----------
    folder, canaries
        As in `scan`.
    review
        Finds that a person looked at: they do not refuse it.

    Returns
    -------
    tuple
        What is to be told of entries that match nothing.

    Raises
    ------
    InputError
        At the first find: names file, line, field, kind and remedy, and how many there are.
    """
    every = scan(folder, canaries)
    found = review.left(every)
    if not found:
        return review.unmatched(every)
    first, more = found[0], len(found) - 1
    others = f" ({more} more of this release: {_kinds(found[1:])})" if more else ""
    raise InputError(
        f"{first}{others}",
        where=Where(first.file, first.line, first.field),
        remedy=f"{first.remedy}. {entries_for(found)}",
    )


def _kinds(found: Iterable[Found]) -> str:
    return "; ".join(sorted({each.kind for each in found}))


class _Scanner:
    def __init__(self, canaries: Iterable[str]):
        self.canaries = {canary.upper() for canary in canaries}
        # A text that stands in hundreds of records, as a tool's description, is looked at once.
        self.known: dict[tuple[bool, bool, str], tuple[_Hit, ...]] = {}

    def file(self, path: Path, name: str) -> Iterator[Found]:
        if path.suffix == ".jsonl":
            yield from self._records(path, name)
        elif path.suffix == ".json":
            yield from self._document(path, name)
        elif path.suffix == ".parquet" and path.with_suffix(".jsonl").is_file():
            return  # its text is that of the records beside it
        else:
            yield from self._text(path, name)

    def _records(self, path: Path, name: str) -> Iterator[Found]:
        for number, text in read_lines(path, limit=MAX_RECORD_BYTES):
            data = _parsed(text)
            if data is None:
                data = {"line": text}
            record = None
            for field, key, words in _strings(data):
                for hit in self._finds(key, words, own=False):
                    record = record or _name_of(data)
                    yield _found(name, number, field, hit, record)

    def _document(self, path: Path, name: str) -> Iterator[Found]:
        text = read_text(path)
        data = _parsed(text)
        if data is None:
            yield from self._lines(text, name)
            return
        lines = text.splitlines()
        for field, key, words in _strings(data):
            for hit in self._finds(key, words, own=True):
                spelled = json.dumps(words, ensure_ascii=False)
                line = next((at for at, each in enumerate(lines, 1) if spelled in each), 1)
                yield _found(name, line, field, hit)

    def _text(self, path: Path, name: str) -> Iterator[Found]:
        data = path.read_bytes()
        try:
            text = decode(data, name)
        except InputError as error:
            line = error.where.line or 1
            yield Found(name, line, None, 1, BINARY, error.message, sha256_of(data))
            return
        yield from self._lines(text, name)

    def _lines(self, text: str, name: str) -> Iterator[Found]:
        for number, line in enumerate(text.splitlines(), 1):
            for hit in self._finds(None, line, own=True):
                yield _found(name, number, None, hit)

    def _finds(self, key: str | None, text: str, *, own: bool) -> tuple[_Hit, ...]:
        """Every find in a text; `own` of a release's documents."""
        at = (own, key is not None and _names_secret(key), text)
        known = self.known.get(at)
        if known is None:
            found = list(self._look(text, own))
            if at[1] and looks_secret(self._struck(text)[0].replace("*", "")):
                found.append(_Hit.of("a secret with its name", text, 1))
            known = self.known[at] = tuple(found)
        return known

    def _look(self, text: str, own: bool) -> Iterator[_Hit]:
        seen: set[tuple[str, str]] = set()
        hosts = DOCUMENT_HOSTS if own else frozenset()
        for spelled in _spellings(text):
            struck, unknown = self._struck(spelled)
            finds = [(_CANARY_KIND, words) for words in unknown]
            for kind, words in (*finds, *secrets_in(struck, hosts)):
                if (kind, words) not in seen:
                    seen.add((kind, words))
                    yield _Hit.of(kind, words, max(text.find(words), 0) + 1)
        told = {(kind, masked(found)) for kind, found in seen}
        for _, key, words in _inside(text):
            for hit in self._finds(key, words, own=own):
                if (hit.kind, hit.excerpt) not in told:
                    yield hit._replace(column=1)

    def _struck(self, text: str) -> tuple[str, list[str]]:
        """The text with listed canaries struck out, and those that are not listed."""
        unknown: list[str] = []

        def strike(match: re.Match[str]) -> str:
            words = match[0].upper()
            # The beginning of a canary, as somebody searches for it, opens nothing.
            if words not in self.canaries and not any(
                each.startswith(words) for each in self.canaries
            ):
                unknown.append(match[0])
            return "*" * len(match[0])

        return CANARY.sub(strike, text), unknown


def _found(file: str, line: int, field: str | None, hit: _Hit, record: str | None = None) -> Found:
    return Found(file, line, field, hit.column, hit.kind, hit.excerpt, hit.sha256, record)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


@cache
def _names_secret(key: str) -> bool:
    """Whether the value of a field of this name is a secret."""
    return SECRET_NAME.search(key) is not None


def _strings(data: Any) -> list[tuple[str, str | None, str]]:
    """Path, key and words of every text in JSON data, names of fields included."""
    found: list[tuple[str, str | None, str]] = []

    def walk(data: Any, path: str, key: str | None) -> None:
        if isinstance(data, str):
            found.append((path, key, data))
        elif isinstance(data, dict):
            for name, value in data.items():
                shown = name if _PLAIN.fullmatch(name) else masked(name)
                below = f"{path}.{shown}" if path else shown
                found.append((below, None, name))
                walk(value, below, name)
        elif isinstance(data, list):
            for at, value in enumerate(data):
                walk(value, f"{path}.{at}" if path else str(at), key)
        elif isinstance(data, int) and data > _LARGE:
            found.append((path, key, str(data)))

    walk(data, "", None)
    return found


def _inside(text: str) -> list[tuple[str, str | None, str]]:
    """Texts of a text that is JSON itself."""
    data = _parsed(text) if text.lstrip()[:1] in ("{", "[", '"') else None
    return _strings(data) if isinstance(data, dict | list | str) else []


def _spellings(text: str) -> Iterator[str]:
    """The text, and what it says without its escapes."""
    yield text
    if "\\" in text:
        yield _SIGNS.sub(r"\1", _BREAKS.sub(" ", text))
    if "%" in text and (plain := unquote(text, errors="replace")) != text:
        yield plain


def _name_of(data: Any) -> str | None:
    if not isinstance(data, dict):
        return None
    name = data.get("trajectory") or data.get("id")
    return name if isinstance(name, str) else None
