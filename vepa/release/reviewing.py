"""Finds that a person looked at: `data/reviewed.yaml`, a list that whoever runs releases keeps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from vepa.errors import InputError, Where
from vepa.files import read_text
from vepa.policy.document import complaint, parse_document
from vepa.project import Project
from vepa.release.finds import Found

__all__ = ["FILE", "NOTHING", "Review", "ReviewedFind", "entries_for", "load_review", "read_review"]

#: Among the project's data.
FILE = "reviewed.yaml"
_PAGE = "docs/releases.md says what a list of reviewed finds looks like"
#: Entries that a refusal writes out.
_SUGGESTED = 20


class _Listed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ReviewedFind(_Listed):
    """A find that is no secret, by somebody's word.

    Attributes
    ----------
    file
        Path in a release, or a pattern of paths: splits differ from release to release.
    kind
        What it looks like, in the scanner's words.
    sha256
        Of the words that were found; they themselves stand nowhere.
    reason
        Why they may stand in a release.
    """

    file: str = Field(min_length=1)
    kind: str = Field(min_length=1)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    reason: str = Field(min_length=10)

    def matches(self, found: Found) -> bool:
        """Whether this is the find."""
        same = (self.kind, self.sha256) == (found.kind, found.sha256)
        return same and fnmatchcase(found.file, self.file)


class _List(_Listed):
    reviewed: Literal[1]
    finds: list[ReviewedFind]

    @model_validator(mode="after")
    def _each_once(self) -> _List:
        seen: dict[tuple[str, str, str], int] = {}
        for at, each in enumerate(self.finds):
            first = seen.setdefault((each.file, each.kind, each.sha256), at)
            if first != at:
                raise ValueError(f"finds.{at}: the same as finds.{first}")
        return self


@dataclass(frozen=True)
class Review:
    """A list of reviewed finds.

    Attributes
    ----------
    file
        Where it was read.
    finds
        Its entries.
    lines
        Where each begins.
    """

    file: str = ""
    finds: tuple[ReviewedFind, ...] = ()
    lines: tuple[int | None, ...] = ()

    def left(self, found: Iterable[Found]) -> list[Found]:
        """Finds that nobody reviewed."""
        return [each for each in found if not any(entry.matches(each) for entry in self.finds)]

    def unmatched(self, found: Iterable[Found]) -> tuple[str, ...]:
        """What is to be told of each entry that matches none of a release's finds."""
        every = list(found)
        return tuple(
            f"{Where(self.file, line)}: matches nothing in this release ({entry.kind}, "
            f"{entry.file}); if no other release needs it, take it out"
            for entry, line in zip(self.finds, self.lines, strict=True)
            if not any(entry.matches(each) for each in every)
        )


#: Nobody reviewed anything.
NOTHING = Review()


def read_review(file: str | Path) -> Review:
    """A list of reviewed finds.

    Raises
    ------
    InputError
        When it is no such list, with file, line, field and remedy.
    """
    document = parse_document(read_text(file), str(file), InputError)
    try:
        found = _List.model_validate(document.data)
    except ValidationError as error:
        at, words = complaint(error)
        raise InputError(
            words,
            where=Where(str(file), document.line(at), ".".join(map(str, at)) or None),
            remedy=_PAGE,
        ) from None
    lines = tuple(document.line(("finds", at)) for at in range(len(found.finds)))
    return Review(str(file), tuple(found.finds), lines)


def load_review(project: Project) -> Review:
    """The list of a project; one without the file reviewed nothing.

    Raises
    ------
    InputError
        When the list is wrong.
    """
    files = project.all("data", FILE)
    return read_review(files[0]) if files else NOTHING


def entries_for(found: Iterable[Found]) -> str:
    """How finds are listed as reviewed, once somebody has looked at each."""
    files: dict[tuple[str, str], set[str]] = {}
    for each in found:
        files.setdefault((each.kind, each.sha256), set()).add(each.file)
    lines = [
        f"  - {{file: {min(places) if len(places) == 1 else 'data/*'}, kind: {kind}, "
        f"sha256: {sha256}, reason: }}"
        for (kind, sha256), places in list(files.items())[:_SUGGESTED]
    ]
    more = len(files) - len(lines)
    told = "What a person looked at and found to be no secret is listed in data/reviewed.yaml:"
    return "\n".join([told, *lines, *([f"  and {more} more"] if more else [])])
