"""The packets of a request as groups of equal events: to repair, to keep, and what clashes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vepa.corpus.events import EventTable
from vepa.evolution.proposers.base import Request
from vepa.policy.matching import ALLOW, REFUSE

__all__ = ["WORDS", "Clash", "Group", "Packets", "packets_of"]

#: Code of a label -> its word.
WORDS = {ALLOW: "allow", REFUSE: "refuse"}


@dataclass(frozen=True, slots=True)
class Group:
    """Examples that agree in every field and in their label.

    Attributes
    ----------
    codes
        The event, one code a field.
    label
        As feedback gave it: `allow` or `refuse`.
    rows
        Rows of the archive's table, ascending.
    """

    codes: tuple[int, ...]
    label: str
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Clash:
    """Examples that agree in every field and carry both labels."""

    codes: tuple[int, ...]
    rows: dict[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Packets:
    """What a model is shown of the examples, the most telling first."""

    repair: tuple[Group, ...]
    keep: tuple[Group, ...]
    clashes: tuple[Clash, ...]


def packets_of(request: Request) -> Packets:
    """Group the packets of a request.

    Repairs stand by their number. Of what is to be kept, every other group stands by its number,
    and the rest by how near it lies to a repair of the other label: that is what a new rule would
    break.
    """
    table = request.archive.table
    repair, keep = _groups(table, request.repair), _groups(table, request.keep)
    both = _clashes([*repair, *keep])
    clashing = {clash.codes for clash in both}
    repair = [group for group in repair if group.codes not in clashing]
    keep = [group for group in keep if group.codes not in clashing]
    return Packets(tuple(_by_number(repair)), tuple(_telling(keep, repair)), tuple(both))


def _groups(table: EventTable, rows: Sequence[int]) -> list[Group]:
    members: dict[tuple[tuple[int, ...], int], list[int]] = {}
    for row in rows:
        codes = tuple(table.codes[row].tolist())
        members.setdefault((codes, int(table.labels[row])), []).append(row)
    return [
        Group(codes, WORDS[label], tuple(sorted(found)))
        for (codes, label), found in members.items()
    ]


def _clashes(groups: Sequence[Group]) -> list[Clash]:
    rows: dict[tuple[int, ...], dict[str, set[int]]] = {}
    for group in groups:
        rows.setdefault(group.codes, {}).setdefault(group.label, set()).update(group.rows)
    found = [
        Clash(codes, {label: tuple(sorted(labelled[label])) for label in sorted(labelled)})
        for codes, labelled in rows.items()
        if len(labelled) > 1
    ]
    return sorted(found, key=lambda clash: (-sum(map(len, clash.rows.values())), clash.codes))


def _by_number(groups: Sequence[Group]) -> list[Group]:
    return sorted(groups, key=lambda group: (-len(group.rows), group.codes, group.label))


def _telling(keep: Sequence[Group], repair: Sequence[Group]) -> list[Group]:
    numerous = _by_number(keep)
    distance = {group: _distance(group, repair) for group in numerous}
    near = sorted(numerous, key=distance.__getitem__)
    mixed = [group for pair in zip(numerous, near, strict=True) for group in pair]
    return list(dict.fromkeys(mixed))


def _distance(group: Group, repair: Sequence[Group]) -> int:
    """Fields in which a group differs from the nearest repair of the other label."""
    others = [other.codes for other in repair if other.label != group.label]
    if not others:
        return len(group.codes)
    return int((np.array(others) != np.array(group.codes)).sum(axis=1).min())
