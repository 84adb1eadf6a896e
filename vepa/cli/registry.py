"""Which YAML file of a project is held against which model.

A later kind of file is one entry in `ENTRIES`: a name for people, patterns of paths relative to the
project, and a function that raises `InputError` or lists problems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from vepa.errors import InputError
from vepa.files import read_text
from vepa.policy.document import parse_document
from vepa.policy.feedback import Feedback
from vepa.policy.reading import read_policy
from vepa.policy.schema import Schema, bundled_schema
from vepa.policy.testing import load_tests
from vepa.policy.translation import load_mapping
from vepa.project import KINDS, Project

__all__ = ["ENTRIES", "Entry", "Problem", "project_files"]

#: Schemas that policies of a project may be written for, by their hash.
Schemas = Mapping[str, Schema]


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a file."""

    message: str
    line: int | None = None
    field: str | None = None
    remedy: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The problem as JSON data."""
        return {
            "message": self.message,
            "line": self.line,
            "field": self.field,
            "remedy": self.remedy,
        }


@dataclass(frozen=True, slots=True)
class Entry:
    """A kind of file.

    Attributes
    ----------
    kind
        Its name, for people.
    patterns
        Paths relative to the project; `*` also stands for several folders.
    check
        Raises `InputError`, or returns the findings that reject the file.
    """

    kind: str
    patterns: tuple[str, ...]
    check: Callable[[Path, Schemas], list[Feedback]]

    def problems(self, file: Path, schemas: Schemas) -> list[Problem]:
        """All that is wrong with a file."""
        try:
            found = self.check(file, schemas)
        except InputError as error:
            where = error.where
            return [Problem(error.message, where.line, where.field, error.remedy)]
        return [Problem(item.message, item.line, item.field, item.remedy) for item in found]


def _schema(file: Path, _schemas: Schemas) -> list[Feedback]:
    Schema.parse(read_text(file), str(file))
    return []


def _schema_of(file: Path, text: str, schemas: Schemas) -> Schema:
    """The schema that a policy names, where the project has it; the bundled one otherwise."""
    data = parse_document(text, str(file)).data
    named = data.get("schema") if isinstance(data, dict) else None
    sha256 = named.get("sha256") if isinstance(named, dict) else None
    return schemas.get(str(sha256), bundled_schema())


def _policy(file: Path, schemas: Schemas) -> list[Feedback]:
    text = read_text(file)
    return list(read_policy(text, str(file), _schema_of(file, text, schemas)).feedback)


def _tests(file: Path, schemas: Schemas) -> list[Feedback]:
    beside = file.with_name(file.name.removesuffix(".tests.yaml") + ".yaml")
    try:
        schema = _schema_of(beside, read_text(beside), schemas)
    except InputError:
        schema = bundled_schema()  # what is wrong with the policy, its own check says
    load_tests(read_text(file), str(file), schema)
    return []


def _mapping(file: Path, _schemas: Schemas) -> list[Feedback]:
    load_mapping(read_text(file), str(file))
    return []


def _profile(file: Path, _schemas: Schemas) -> list[Feedback]:
    from vepa.bench.profile import load_profile

    load_profile(file)
    return []


#: The first entry with a matching pattern checks a file.
ENTRIES = (
    Entry("profile", ("flows/profiles/*.yaml",), _profile),
    Entry("policy tests", ("*.tests.yaml",), _tests),
    Entry("schema mapping", ("*.mapping.yaml",), _mapping),
    Entry("event schema", ("*event_schema.yaml", "*.schema.yaml", "schemas/*.yaml"), _schema),
    Entry("policy", ("*.policy.yaml", "policy.yaml", "policies/*.yaml"), _policy),
)

#: Folders of a project beside those of `vepa.project.KINDS`, where users keep what they write.
_FOLDERS = ("examples", "policies", "schemas")
#: Products of runs; what made them has checked them.
_PRODUCTS = "artifacts"


def project_files(project: Project) -> Iterator[tuple[Path, Entry | None, Schemas]]:
    """Every YAML file of a project with its entry; None where no entry knows it."""
    files = _yaml_files(project)
    entries = {name: _entry(name) for name in files}
    schemas = {bundled_schema().sha256: bundled_schema()}
    for name, entry in entries.items():
        if entry is not None and entry.check is _schema:
            try:
                schema = Schema.parse(read_text(files[name]))
            except InputError:
                continue  # its own check says so
            schemas[schema.sha256] = schema
    for name in sorted(files):
        yield files[name], entries[name], schemas


def _entry(name: str) -> Entry | None:
    for entry in ENTRIES:
        if any(fnmatchcase(name, pattern) for pattern in entry.patterns):
            return entry
    return None


def _yaml_files(project: Project) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for kind in KINDS:
        if kind == _PRODUCTS:
            continue
        for suffix in ("yaml", "yml"):
            for path in project.all(kind, f"**/*.{suffix}"):
                found[_name(path, project)] = path
    root = project.candidates[0]
    for folder in _FOLDERS:
        for path in _both(root / folder, "**/"):
            found[path.relative_to(root).as_posix()] = path
    for path in _both(root, ""):
        found[path.name] = path
    return found


def _both(folder: Path, under: str) -> Iterator[Path]:
    for suffix in ("yaml", "yml"):
        for path in folder.glob(f"{under}*.{suffix}"):
            if not any(part.startswith(".") for part in path.relative_to(folder).parts):
                yield path


def _name(path: Path, project: Project) -> str:
    """A path relative to the place where the project found it."""
    root = next(root for root in project.candidates if path.is_relative_to(root))
    return path.relative_to(root).as_posix()
