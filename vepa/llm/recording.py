"""Answers of a real large language model, kept in the project: a manifest and JSON Lines."""

from __future__ import annotations

import fcntl
import json
import os
import re
import threading
from datetime import date
from pathlib import Path
from typing import BinaryIO

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from vepa.errors import InputError, Where
from vepa.files import canonical_json, decode, read_text, write_atomic
from vepa.llm.messages import Finish, Item, Message, ModelReply
from vepa.policy.document import complaint, parse_document

__all__ = ["Manifest", "Recording", "read_manifest"]

#: Hash, template, major version, and the name where one content has several answers.
Key = tuple[str, str, int, str | None]
MANIFEST, ANSWERS = "manifest.yaml", "answers.jsonl"
_VERSION = re.compile(r"(\d+)\.(\d+)")


class Manifest(BaseModel):
    """What a reader has to know about recorded answers.

    Attributes
    ----------
    model
        The large language model that gave them, as its maker calls it.
    date
        When they were made, `YYYY-MM-DD`; the last day, where it took several.
    made
        How: by which way, with which settings, by whom they were started.
    licence
        Under what they may be used.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    model: str = Field(min_length=2)
    date: str
    made: str = Field(min_length=10)
    licence: str = Field(min_length=2)

    @field_validator("model")
    @classmethod
    def _a_real_one(cls, value: str) -> str:
        if value.startswith(("scripted", "recorded")):
            raise ValueError("answers of a large language model are recorded, never of a script")
        return value

    @field_validator("date")
    @classmethod
    def _a_day(cls, value: str) -> str:
        try:
            date.fromisoformat(value)
        except ValueError:
            raise ValueError("a day like 2025-06-30 belongs here") from None
        return value


class Answered(BaseModel):
    """One recorded answer: what it is about, and what the model said.

    `name` is left out, but for a second answer about the same content: that one is only for the
    item of this id.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    hash: str = Field(min_length=8)
    template: str = Field(min_length=1)
    version: str
    message: Message
    finish: Finish = "stop"
    name: str | None = Field(default=None, min_length=1)

    @property
    def key(self) -> Key:
        """What it is found by."""
        return key_of(
            Item(hash=self.hash, template=self.template, version=self.version, name=self.name)
        )


def key_of(item: Item) -> Key:
    """Hash, template, major version and name.

    Raises
    ------
    InputError
        When the version is not `MAJOR.MINOR`.
    """
    match = _VERSION.fullmatch(item.version)
    if match is None:
        raise InputError(
            f"the version {item.version!r} of the template {item.template!r}",
            where=Where(field="version"),
            remedy="write it MAJOR.MINOR, like 1.0",
        )
    return item.hash, item.template, int(match.group(1)), item.name


class Recording:
    """A folder of recorded answers, read at once; answers can be added.

    Parameters
    ----------
    folder
        With `manifest.yaml` and any number of `*.jsonl`.

    Raises
    ------
    InputError
        When the manifest or a line is not usable, or two lines disagree.
    """

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        self.manifest = read_manifest(self.folder / MANIFEST)
        self._lock = threading.Lock()
        self._answers: dict[Key, Answered] = {}
        #: Bytes and lines of `answers.jsonl` that were read.
        self._read = (0, 0)
        for path in sorted(self.folder.glob("*.jsonl")):
            if path.name == ANSWERS:
                with open(path, "rb") as stream:
                    self._catch_up(path, stream)
            else:
                self._take(path, path.read_bytes())

    @classmethod
    def create(cls, folder: str | Path, manifest: Manifest) -> Recording:
        """Begin one, or go on with one that has the same manifest.

        Raises
        ------
        InputError
            When there is one with another manifest.
        """
        path = Path(folder) / MANIFEST
        if path.exists():
            found = cls(folder)
            if found.manifest != manifest:
                raise InputError(
                    "another manifest is here already",
                    where=Where(str(path)),
                    remedy="answers of another model, or made in another way, need another folder",
                )
            return found
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [
            f"{name}: {json.dumps(value, ensure_ascii=False)}\n"
            for name, value in manifest.model_dump().items()
        ]
        write_atomic(path, "".join(lines))
        return cls(folder)

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, item: Item) -> Answered | None:
        """The answer about an item: the one of its name, else that of its content, else None."""
        key = key_of(item)
        return self._answers.get(key) or self._answers.get((*key[:3], None))

    def add(
        self,
        item: Item,
        answer: Message | ModelReply,
        finish: Finish = "stop",
        *,
        named: bool = False,
    ) -> bool:
        """Append an answer; safe beside other threads and processes, and through crashes.

        Parameters
        ----------
        item
            What it is about.
        named
            Whether the answer is only for the item of this name: where the same content was asked
            about several times, under other ids, and the answers differ.
        answer
            What the model said, or the whole reply that a model gave.
        finish
            Why it stopped, where `answer` is only a message.

        Returns
        -------
        bool
            Whether it was new; the same answer again changes nothing.

        Raises
        ------
        InputError
            When another answer is there already, or it is not a large language model's.
        """
        if isinstance(answer, ModelReply):
            if answer.source in ("scripted", "recorded"):
                raise InputError(
                    f"a {answer.source} answer cannot be recorded",
                    remedy="only answers of a large language model are",
                )
            finish = answer.finish
        message = answer.message if isinstance(answer, ModelReply) else answer
        wanted = Answered(
            hash=item.hash,
            template=item.template,
            version=item.version,
            message=message,
            finish=finish,
            name=item.name if named else None,
        )
        key = wanted.key
        path = self.folder / ANSWERS
        with self._lock, open(path, "ab+") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            self._catch_up(path, stream)
            stream.truncate(self._read[0])  # half a line, of a crash
            known = self._answers.get(key)
            if known is not None:
                if _same(known, wanted):
                    return False
                raise InputError(
                    f"another answer is recorded already for {_named(key)}",
                    where=Where(str(path)),
                    remedy="raise the template's major version, or record into another folder",
                )
            told = wanted.model_dump(mode="json", exclude=None if named else {"name"})
            line = (canonical_json(told) + "\n").encode()
            stream.write(line)
            stream.flush()
            os.fsync(stream.fileno())
            self._answers[key] = wanted
            self._read = (self._read[0] + len(line), self._read[1] + 1)
            return True

    def _catch_up(self, path: Path, stream: BinaryIO) -> None:
        """Read the whole lines that others, or an earlier run, added at the end."""
        at, lines = self._read
        stream.seek(at)
        raw = stream.read()
        raw = raw[: raw.rfind(b"\n") + 1]
        self._take(path, raw, lines + 1)
        self._read = (at + len(raw), lines + raw.count(b"\n"))

    def _take(self, path: Path, raw: bytes, first: int = 1) -> None:
        for number, line in enumerate(decode(raw, str(path)).split("\n"), first):
            if not line.strip():
                continue
            where = Where(str(path), number)
            try:
                found = Answered.model_validate(json.loads(line))
                key = found.key
            except ValidationError as error:
                at, words = complaint(error)
                raise InputError(
                    words, where=Where(str(path), number, ".".join(map(str, at))), remedy=_REMEDY
                ) from None
            except (ValueError, InputError):
                raise InputError("no recorded answer", where=where, remedy=_REMEDY) from None
            known = self._answers.setdefault(key, found)
            if not _same(known, found):
                raise InputError(
                    f"two answers disagree about {_named(key)}", where=where, remedy=_REMEDY
                )


_REMEDY = "lines are written by vepa.llm.Recording, not by hand; docs/models.md shows one"


def _same(one: Answered, other: Answered) -> bool:
    return (one.message, one.finish) == (other.message, other.finish)


def _named(key: Key) -> str:
    own = "" if key[3] is None else f", name {key[3]!r}"
    return f"hash {key[0]}, template {key[1]!r}, version {key[2]}.x{own}"


def read_manifest(path: Path) -> Manifest:
    """Read a `manifest.yaml`; raises `InputError` with file, line and field."""
    document = parse_document(read_text(path), str(path), InputError)
    try:
        return Manifest.model_validate(document.data)
    except ValidationError as error:
        at, words = complaint(error)
        raise InputError(
            words,
            where=Where(str(path), document.line(at), ".".join(map(str, at)) or None),
            remedy="a manifest says `model`, `date`, `made` and `licence`; docs/models.md has one",
        ) from None
