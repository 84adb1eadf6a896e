"""What changed from one release to another: records, splits, labels, figures, provenance."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from vepa.errors import InputError, Where
from vepa.files import read_text
from vepa.release.layout import PROVENANCE, Manifest, jsonl_path, read_manifest
from vepa.release.records import SPLITS, TABLES, Split

__all__ = ["Difference", "Flips", "TableDifference", "diff"]

#: What names a record of a table.
_KEYS: dict[str, tuple[str, ...]] = {
    "trajectories": ("id",),
    "steps": ("trajectory", "step"),
    "labels": ("trajectory", "step", "meta.role", "annotator"),
    "settled": ("trajectory", "step"),
    "events_step": ("id",),
    "events_call": ("id",),
}
#: Fields below these are told one by one; of others only that they changed.
_OPEN = ("meta", "meta.release", "judgement", "event", "premises")


@dataclass(frozen=True)
class TableDifference:
    """What changed in one table.

    Attributes
    ----------
    before, after
        Records of each.
    added, removed
        Names of records, sorted.
    changed
        Name -> fields that differ.
    moved
        Name -> its split before and after.
    fields
        Field -> records in which it differs.
    """

    before: int
    after: int
    added: list[str]
    removed: list[str]
    changed: dict[str, list[str]]
    moved: dict[str, tuple[str, str]]
    fields: dict[str, int]

    @property
    def empty(self) -> bool:
        """Whether nothing changed."""
        return not (self.added or self.removed or self.changed or self.moved)


@dataclass(frozen=True)
class Flips:
    """Steps of both releases about which something else stands now.

    Attributes
    ----------
    decisions
        `allow -> refuse` and its like -> steps.
    gained, lost
        Trigger -> steps that have it now and had it not, and the other way round.
    steps
        Name of each such step, sorted.
    """

    decisions: dict[str, int] = field(default_factory=dict)
    gained: dict[str, int] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Difference:
    """What changed from one release to another.

    Attributes
    ----------
    before, after
        Versions.
    same_content
        Whether their JSON Lines are the same, byte for byte.
    tables
        Table -> what changed in it.
    flips
        Of settled labels.
    figures, provenance
        Path of a value in the manifest's figures, or in the provenance -> the value before and
        after; None where there was or is none.
    """

    before: str
    after: str
    same_content: bool
    tables: dict[str, TableDifference]
    flips: Flips
    figures: dict[str, tuple[Any, Any]]
    provenance: dict[str, tuple[Any, Any]]

    @property
    def empty(self) -> bool:
        """Whether nothing changed at all."""
        tables = all(each.empty for each in self.tables.values())
        return self.same_content and tables and not (self.figures or self.provenance)

    def as_data(self) -> dict[str, Any]:
        """As JSON data."""
        return {"empty": self.empty, **asdict(self)}


def diff(before: Path, after: Path) -> Difference:
    """Compare two releases.

    Parameters
    ----------
    before, after
        Folders of releases.

    Raises
    ------
    InputError
        When one is no release, or a file of it is missing or malformed.
    """
    manifests = [read_manifest(folder) for folder in (before, after)]
    tables = {}
    flips = Flips()
    for table in TABLES:
        old, new = _Index(before, table), _Index(after, table)
        tables[table] = _table(old, new)
        if table == "settled":
            flips = _flips(old, new, tables[table])
    return Difference(
        before=manifests[0].version,
        after=manifests[1].version,
        same_content=manifests[0].content_sha256 == manifests[1].content_sha256,
        tables=tables,
        flips=flips,
        figures=_changes(*(_figures(each) for each in manifests)),
        provenance=_changes(*(_provenance(folder) for folder in (before, after))),
    )


class _Index:
    """Records of a table by name: where they stand, not what they say."""

    def __init__(self, folder: Path, table: str):
        self.folder, self.table = folder, table
        #: Name -> split, hash, place in the file.
        self.rows: dict[str, tuple[Split, bytes, int]] = {}
        for split in SPLITS:
            path = self._path(split)
            if not path.is_file():
                raise InputError(
                    "the file is missing", where=Where(str(path)), remedy="get the release again"
                )
            at = 0
            with path.open("rb") as file:
                for number, line in enumerate(file, 1):
                    name = self._name(line, Where(str(path), number))
                    self.rows[name] = (split, hashlib.sha256(line).digest(), at)
                    at += len(line)

    def read(self, name: str) -> dict[str, Any]:
        """The record of a name."""
        split, _, at = self.rows[name]
        with self._path(split).open("rb") as file:
            file.seek(at)
            record: dict[str, Any] = json.loads(file.readline())
        return record

    def _path(self, split: Split) -> Path:
        return self.folder / jsonl_path(self.table, split)

    def _name(self, line: bytes, where: Where) -> str:
        try:
            record = json.loads(line)
            found = [_at(record, path) for path in _KEYS[self.table]]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise InputError(
                f"the line is no record of the table {self.table!r}",
                where=where,
                remedy="`vepa corpus check` tells what is wrong with the release",
            ) from None
        return found[0] if len(found) == 1 else "#".join(map(str, found))


def _at(record: Any, path: str) -> Any:
    for key in path.split("."):
        record = record[key]
    return record


def _table(old: _Index, new: _Index) -> TableDifference:
    changed: dict[str, list[str]] = {}
    moved: dict[str, tuple[str, str]] = {}
    for name in sorted(old.rows.keys() & new.rows.keys()):
        (was, then, _), (is_now, now, _) = old.rows[name], new.rows[name]
        if was != is_now:
            moved[name] = (was, is_now)
        if then != now:
            changed[name] = sorted(_fields(old.read(name), new.read(name)))
    return TableDifference(
        before=len(old.rows),
        after=len(new.rows),
        added=sorted(new.rows.keys() - old.rows.keys()),
        removed=sorted(old.rows.keys() - new.rows.keys()),
        changed=changed,
        moved=moved,
        fields=_counted(Counter(each for fields in changed.values() for each in fields)),
    )


def _fields(old: Mapping[str, Any], new: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Paths of the values that differ."""
    for key in old.keys() | new.keys():
        here = f"{path}{key}"
        one, other = old.get(key), new.get(key)
        if one == other and (key in old) == (key in new):
            continue
        if here in _OPEN and isinstance(one, dict) and isinstance(other, dict):
            yield from _fields(one, other, f"{here}.")
        else:
            yield here


def _flips(old: _Index, new: _Index, difference: TableDifference) -> Flips:
    decisions: Counter[str] = Counter()
    gained: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    steps = []
    for name in difference.changed:
        then, now = old.read(name)["judgement"], new.read(name)["judgement"]
        had, has = set(then.get("triggers", [])), set(now.get("triggers", []))
        if then["decision"] == now["decision"] and had == has:
            continue
        steps.append(name)
        if then["decision"] != now["decision"]:
            decisions[f"{then['decision']} -> {now['decision']}"] += 1
        gained.update(has - had)
        lost.update(had - has)
    return Flips(_counted(decisions), _counted(gained), _counted(lost), steps)


def _counted(counts: Counter[str]) -> dict[str, int]:
    """The most frequent first."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _figures(manifest: Manifest) -> dict[str, Any]:
    return dict(_leaves(manifest.figures))


def _provenance(folder: Path) -> dict[str, Any]:
    path = folder / PROVENANCE
    try:
        return dict(_leaves(json.loads(read_text(path))))
    except (ValueError, RecursionError):
        raise InputError(
            "malformed JSON", where=Where(str(path)), remedy="get the release again"
        ) from None


def _leaves(data: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Path and value of everything that is no mapping; a list is one value."""
    if isinstance(data, dict) and data:
        for key, value in data.items():
            yield from _leaves(value, f"{path}.{key}" if path else key)
    elif isinstance(data, list) and any(isinstance(each, dict) for each in data):
        for at, value in enumerate(data):
            yield from _leaves(value, f"{path}.{at}" if path else str(at))
    else:
        yield path, data


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {
        path: (old.get(path), new.get(path))
        for path in sorted(old.keys() | new.keys())
        if old.get(path) != new.get(path)
    }
