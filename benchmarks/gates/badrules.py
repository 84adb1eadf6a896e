"""Rules that should have no authority: random ones, and ones over planted regions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.gates.store import Spec, stream_of
from vepa.bench.streams import Stream
from vepa.corpus import EventTable
from vepa.evolution.archive import Archive
from vepa.evolution.standing import Standing
from vepa.policy.authority import authority
from vepa.policy.bitsets import ExampleIndex, unpack
from vepa.policy.matching import ABSTAIN, ALLOW, REFUSE
from vepa.policy.rule import RuleDecision
from vepa.policy.schema import Schema

__all__ = ["BANDS", "GATES", "planted_regions", "random_rules"]

#: Bands of true precision, by their upper ends.
BANDS = {"< .85": 0.85, ".85-.90": 0.90, ".90-.95": 0.95, ".95-.97": 0.97, "> .97": 1.01}
GATES = ("paper", "noise-aware")
#: Labelled examples that a rule must cover, predicates it has at most.
LEAST, FIELDS = 7, 3
#: A planted region: the share of its events that one label has at least, and how much of the
#: stream it takes at most.
ONE_SIDED, LARGEST = 0.95, 0.2
#: A rule over a planted region counts when its true precision is below this.
WRONG = 0.7

Masks = tuple[int, ...]
Bools = npt.NDArray[np.bool_]
DECISIONS: tuple[RuleDecision, RuleDecision] = ("allow", "refuse")


def random_rules(spec: Spec) -> dict[str, Any]:
    """Random rules after all feedback of a stream: how many become active, by true precision.

    `events` takes a rule's true precision over all events of the stream, `examples` over those
    alone whose label was told (by their true labels). `band -> [rules, active under each gate]`.
    """
    stream = stream_of(spec)
    table = stream.table
    archive, rows = _archive(stream, table.labels, _flipped(stream))
    standings = [archive.standing(authority(mode)) for mode in GATES]
    index = ExampleIndex(table.schema, table.codes)
    rng = np.random.default_rng([3, spec["seed"]])
    found = {how: {band: [0, 0, 0] for band in BANDS} for how in ("events", "examples")}
    seen: set[tuple[str, Masks]] = set()
    while len(seen) < spec["rules"]:
        masks, decision = _conjunction(table.schema, rng), DECISIONS[rng.integers(2)]
        inside = unpack(index.covered(masks), len(table))
        if inside[rows].sum() < LEAST or (decision, masks) in seen:
            continue
        seen.add((decision, masks))
        active = [_active(standing, decision, masks) for standing in standings]
        right = table.labels == (ALLOW if decision == "allow" else REFUSE)
        told = inside & np.isin(np.arange(len(table)), rows)
        for how, members in (("events", inside), ("examples", told)):
            counts = found[how][_band(float(right[members].mean()))]
            for at, more in enumerate((True, *active)):
                counts[at] += more
    return found


def planted_regions(spec: Spec) -> dict[str, Any]:
    """Regions whose labels are turned round, truth and feedback alike, and rules that ignore it.

    A region is a random conjunction whose events nearly all have one label. Rules that decide that
    label on the region, or on something wider, are then wrong there. `right` are the rules that
    decide the new label on the region itself: the exceptions that one would like to have.
    """
    stream = stream_of(spec)
    table, flipped = stream.table, _flipped(stream)
    index = ExampleIndex(table.schema, table.codes)
    rng = np.random.default_rng([5, spec["seed"]])
    found: dict[str, Any] = {"regions": 0, "wrong": [0, 0, 0], "right": [0, 0, 0]}
    while found["regions"] < spec["regions"]:
        masks = _conjunction(table.schema, rng)
        inside = unpack(index.covered(masks), len(table))
        old = _one_sided(table, inside)
        if old is None:
            continue
        truth = np.where(inside, 1 - table.labels, table.labels).astype(np.int8)
        archive, rows = _archive(stream, truth, flipped)
        if inside[rows].sum() < LEAST:
            continue
        found["regions"] += 1
        standings = [archive.standing(authority(mode)) for mode in GATES]
        new: RuleDecision = "refuse" if old == "allow" else "allow"
        _count(found["right"], standings, new, masks)
        for wider in (masks, *_wider(table.schema, masks, rng)):
            members = unpack(index.covered(wider), len(table))
            if (truth[members] == (ALLOW if old == "allow" else REFUSE)).mean() < WRONG:
                _count(found["wrong"], standings, old, wider)
    return found


def _active(standing: Standing, decision: RuleDecision, masks: Masks) -> bool:
    evidence = standing.of(decision, masks, standing.archive.index.all)
    return standing.authority.active(decision, evidence)


def _count(
    counts: list[int], standings: list[Standing], decision: RuleDecision, masks: Masks
) -> None:
    counts[0] += 1
    for at, standing in enumerate(standings, 1):
        counts[at] += _active(standing, decision, masks)


def _one_sided(table: EventTable, inside: Bools) -> RuleDecision | None:
    """The label that nearly all events of a region have; None where there is none, or too many."""
    if not LEAST <= inside.sum() <= LARGEST * len(table):
        return None
    refused = float((table.labels[inside] == REFUSE).mean())
    if max(refused, 1.0 - refused) < ONE_SIDED:
        return None
    return "refuse" if refused > 0.5 else "allow"


def _conjunction(schema: Schema, rng: np.random.Generator) -> Masks:
    """One to three fields, each with a random part of its values."""
    masks = list(schema.full)
    for at in rng.permutation(len(masks))[: rng.integers(1, FIELDS + 1)]:
        masks[at] = int(rng.integers(1, schema.full[at]))
    return tuple(masks)


def _wider(schema: Schema, masks: Masks, rng: np.random.Generator) -> Iterator[Masks]:
    """The region without one predicate, and with values added to one, three times each field."""
    fields = [at for at, full in enumerate(schema.full) if masks[at] != full]
    for at in fields:
        if len(fields) > 1:
            yield (*masks[:at], schema.full[at], *masks[at + 1 :])
        for _ in range(3):
            wider = masks[at] | int(rng.integers(1, schema.full[at]))
            if wider not in (masks[at], schema.full[at]):
                yield (*masks[:at], wider, *masks[at + 1 :])


def _flipped(stream: Stream) -> Bools:
    """The rows whose feedback is wrong, shape (events,)."""
    found = np.zeros(len(stream.table), dtype=np.bool_)
    for part in stream.rounds:
        found[part.feedback] = part.observed != stream.table.labels[part.feedback]
    return found


def _archive(
    stream: Stream, truth: npt.NDArray[np.int8], flipped: Bools
) -> tuple[Archive, npt.NDArray[np.intp]]:
    """All feedback of a stream, and the rows that it is about."""
    table = stream.table
    archive = Archive(table.schema, table.unit)
    said = np.where(flipped, 1 - truth, truth).astype(np.int8)
    for part in stream.rounds:
        rows = part.feedback
        examples = table.take(rows).with_labels(said[rows])
        abstained = np.full(len(rows), ABSTAIN, dtype=np.int8)
        archive.add(examples, abstained, part.number, table.take(part.indices[~part.revealed]))
    return archive, np.concatenate([part.feedback for part in stream.rounds])


def _band(precision: float) -> str:
    return next(band for band, upper in BANDS.items() if precision < upper)
