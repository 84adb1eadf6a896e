"""Which benchmarks there are: `data/benchmarks.yaml`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path, PurePosixPath
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from vepa.corpus.benchmarks.downloads import check_address
from vepa.corpus.importing.formats import FORMATS
from vepa.errors import InputError, SettingError, Where
from vepa.files import read_text
from vepa.policy.document import complaint, parse_document
from vepa.policy.schema import nearest
from vepa.project import Project

__all__ = ["FILE", "Benchmark", "BenchmarkFile", "benchmarks", "read_benchmarks"]

#: Among the project's data.
FILE = "benchmarks.yaml"


class _Listed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class BenchmarkFile(_Listed):
    """A file of a benchmark.

    Attributes
    ----------
    name
        Its path below the benchmark's address, and in the cache.
    sha256
        Its checksum; None where upstream tells none: it is then pinned when it first comes.
    bytes
        Its size, where that is known.
    """

    name: str = Field(min_length=1)
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    bytes: int | None = Field(default=None, gt=0)

    @field_validator("name")
    @classmethod
    def _stays_inside(cls, name: str) -> str:
        path = PurePosixPath(name)
        if path.is_absolute() or any(part.startswith(".") for part in path.parts):
            raise ValueError("a path below the address belongs here, without `..` or hidden parts")
        return name


class Benchmark(_Listed):
    """A benchmark whose files can be fetched.

    Attributes
    ----------
    name
        What `vepa fetch` takes.
    title
        For people.
    format
        The format of its files.
    home
        Where its makers tell about it.
    address
        Where its files are: `address` and a file's name together are its URL.
    licence
        As its makers state it.
    citation
        Whom to cite.
    records
        How many there are, where that is known.
    note
        What else to know before it is used.
    evaluation_only
        Whether its makers ask that nothing be trained on it; `vepa train data` then puts traces of
        its format into the test split alone.
    files
        At least one.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    title: str = Field(min_length=3)
    format: str
    home: str
    address: str
    licence: str = Field(min_length=2)
    citation: str = Field(min_length=10)
    records: int | None = Field(default=None, gt=0)
    note: str = ""
    evaluation_only: bool = False
    files: list[BenchmarkFile] = Field(min_length=1)

    @field_validator("format")
    @classmethod
    def _known(cls, format: str) -> str:
        if format not in FORMATS:
            raise ValueError(f"no format {format!r}; {nearest(format, [*FORMATS], 'formats')}")
        return format

    @field_validator("address")
    @classmethod
    def _leads_to_files(cls, address: str) -> str:
        if fault := check_address(address):
            raise ValueError(fault)
        if not address.endswith("/"):
            raise ValueError("an address ends with `/`")
        return address

    @model_validator(mode="after")
    def _each_once(self) -> Benchmark:
        for name, count in Counter(file.name for file in self.files).items():
            if count > 1:
                raise ValueError(f"the file {name!r} is listed twice")
        return self

    def url(self, file: BenchmarkFile) -> str:
        """Where a file is."""
        return self.address + file.name


class _List(_Listed):
    benchmarks: Literal[1]
    sets: list[Benchmark]

    @model_validator(mode="after")
    def _each_once(self) -> _List:
        for name, count in Counter(each.name for each in self.sets).items():
            if count > 1:
                raise ValueError(f"sets: {name!r} is listed twice")
        return self


def read_benchmarks(file: str | Path) -> dict[str, Benchmark]:
    """The benchmarks of a list, by name.

    Raises
    ------
    InputError
        When it is no such list, with file, line and field.
    """
    document = parse_document(read_text(file), str(file), InputError)
    try:
        found = _List.model_validate(document.data)
    except ValidationError as error:
        at, words = complaint(error)
        raise InputError(
            words,
            where=Where(str(file), document.line(at), ".".join(map(str, at)) or None),
            remedy="data/README.md says what a list of benchmarks looks like",
        ) from None
    return {each.name: each for each in found.sets}


def benchmarks(project: Project, name: str | None = None) -> dict[str, Benchmark]:
    """The benchmarks that a project knows, or the one of a name.

    Raises
    ------
    InputError
        When the list is wrong.
    SettingError
        When there is no benchmark of that name.
    """
    found = read_benchmarks(project.find("data", FILE))
    if name is None:
        return found
    if name not in found:
        raise SettingError(
            f"there is no benchmark {name!r}",
            where=Where(field="NAME"),
            remedy=nearest(name, [*found], "benchmarks"),
        )
    return {name: found[name]}
