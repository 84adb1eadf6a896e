"""Synthetic events: scenarios drawn one an event, labelled by the hidden policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from vepa.bench.synth.draws import Dice, Words, chance, words
from vepa.bench.synth.scenarios import SLOTS, Scenarios, draw_scenarios
from vepa.bench.synth.truth import hidden_truth
from vepa.corpus.events import EventTable
from vepa.policy.matching import REFUSE
from vepa.policy.policy import Policy
from vepa.policy.schema import Schema, bundled_schema

__all__ = ["Synthetic", "SyntheticSettings", "distinct", "make_synthetic"]

#: Version of the recipe: another one draws other events from the same settings.
RECIPE = 1
#: What draws are for; each has a random source of its own.
_POLICY, _SCENARIOS, _KIND, _WHEN, _WHICH, _LABEL, _VALUES = range(7)
#: Events drawn at once.
_CHUNK = 1 << 16
_HALF = np.uint64(32)
_LOW = np.uint64(2**32 - 1)
_BYTES = 8

Flags = npt.NDArray[np.bool_]


class SyntheticSettings(BaseModel):
    """What a synthetic stream is to be like.

    Attributes
    ----------
    events
        How many.
    rules
        Rules of the hidden policy; the decisions take turns.
    noise
        Chance that the true label of an event is not what the hidden policy says. A stream's wrong
        feedback (`StreamSettings.flip`) comes on top: there the true label is another one.
    hard
        Share of events outside all rules; their labels are drawn, by no field.
    drift
        How far the frequencies of scenarios move from the first to the last event: 0 not at all, 1
        to those of another stream.
    scenarios
        Within rules; at least one a rule.
    seed
        Of all draws.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    events: int = Field(ge=1, le=100_000_000)
    rules: int = Field(24, ge=2, le=256)
    noise: float = Field(0.02, ge=0.0, le=0.5)
    hard: float = Field(0.05, ge=0.0, le=1.0)
    drift: float = Field(0.0, ge=0.0, le=1.0)
    scenarios: int = Field(200, ge=2, le=10_000)
    seed: int = Field(0, ge=0, lt=2**32)


@dataclass(frozen=True, eq=False)
class Synthetic:
    """A synthetic stream and the truth behind it.

    Attributes
    ----------
    settings
        What it was made of.
    table
        The events with their true labels.
    policy
        The hidden policy.
    hard
        Events outside all rules, shape (events,).
    noisy
        Events whose label is not what the hidden policy says, shape (events,).
    scenario
        What each was drawn from; those of hard events are numbered by themselves, shape (events,).
    """

    settings: SyntheticSettings
    table: EventTable
    policy: Policy
    hard: Flags
    noisy: Flags
    scenario: npt.NDArray[np.int16]

    def figures(self) -> dict[str, Any]:
        """Settings, hashes and counts as JSON data."""
        rules = self.policy.rules
        return {
            "recipe": RECIPE,
            "settings": self.settings.model_dump(),
            "schema": {
                "version": self.table.schema.version,
                "sha256": self.table.schema.sha256,
            },
            "sha256": self.table.sha256,
            "policy_hash": self.policy.policy_hash,
            "events": len(self.table),
            "distinct": distinct(self.table),
            "refuse": int((self.table.labels == REFUSE).sum()),
            "hard": int(self.hard.sum()),
            "noisy": int(self.noisy.sum()),
            "rules": {
                name: sum(rule.decision == name for rule in rules) for name in ("allow", "refuse")
            },
        }


def make_synthetic(settings: SyntheticSettings, schema: Schema | None = None) -> Synthetic:
    """Draw a synthetic stream.

    An event follows from the settings and its number: without drift a longer stream begins with the
    shorter one.

    Raises
    ------
    SettingError
        When the schema has too few values for so many rules.
    """
    schema = schema or bundled_schema()
    size, seed = settings.events, settings.seed
    truth = hidden_truth(schema, settings.rules, Dice(seed, _POLICY))
    inside, outside = draw_scenarios(schema, truth, settings.scenarios, Dice(seed, _SCENARIOS))
    codes = np.empty((size, len(schema)), dtype=np.int8)
    labels, scenario = np.empty(size, dtype=np.int8), np.empty(size, dtype=np.int16)
    hard, noisy = np.empty(size, dtype=np.bool_), np.empty(size, dtype=np.bool_)
    for first in range(0, size, _CHUNK):
        rows = slice(first, min(first + _CHUNK, size))
        places = np.arange(rows.start, rows.stop, dtype=np.uint64)
        late = _share(seed, _WHEN, places, _moved(settings, places))
        hard[rows] = _share(seed, _KIND, places, chance(settings.hard))
        label = words(seed, _LABEL, places)
        wrong = (label >> _HALF) < np.uint64(chance(settings.noise))
        noisy[rows] = wrong & ~hard[rows]
        for kind, of_kind in ((inside, ~hard[rows]), (outside, hard[rows])):
            found = np.flatnonzero(of_kind)
            drawn = _scenario_of(kind, words(seed, _WHICH, places[found]), late[found])
            scenario[rows][found] = drawn
            codes[rows][found] = _values(kind, seed, places[found], drawn)
            refuse = (label[found] & np.uint64(SLOTS - 1)).astype(np.int16) < kind.refuse[drawn]
            labels[rows][found] = refuse ^ noisy[rows][found]
    table = EventTable(schema, _names(settings), codes, labels)
    return Synthetic(settings, table, truth.policy, hard, noisy, scenario)


def distinct(table: EventTable) -> int:
    """How many events differ in some field."""
    sizes = [len(field.values) for field in table.schema.fields]
    key = np.zeros(len(table), dtype=np.uint64)
    bound = 1
    for column, size in zip(table.columns, sizes, strict=True):
        bound *= size
        if bound >= 2**64:  # one number no longer tells all events apart
            return len(np.unique(table.codes, axis=0))
        key = key * np.uint64(size) + column.astype(np.uint64)
    return len(np.unique(key))


def _names(settings: SyntheticSettings) -> tuple[str, ...]:
    head = f"synth-{settings.seed}/"
    return tuple([head + str(at) for at in range(settings.events)])


def _moved(settings: SyntheticSettings, places: Words) -> Words:
    """Chances (of 2**32) that a late scenario is drawn, growing with the event's number."""
    last = np.uint64(max(settings.events - 1, 1))
    return np.uint64(chance(settings.drift)) * places // last


def _share(seed: int, purpose: int, places: Words, chances: Words | int) -> Flags:
    drawn: Flags = (words(seed, purpose, places) >> _HALF) < np.asarray(chances, dtype=np.uint64)
    return drawn


def _scenario_of(kind: Scenarios, drawn: Words, late: Flags) -> npt.NDArray[np.intp]:
    """The scenario of each event; both lists of frequencies have the same sum."""
    # A word of 32 bits times a sum of frequencies stays below 2**64 only when the sum is small.
    point = (drawn >> _HALF) * (kind.early[-1] >> np.uint64(12)) >> np.uint64(20)
    ends = np.searchsorted(kind.late, point, side="right")
    begins = np.searchsorted(kind.early, point, side="right")
    found: npt.NDArray[np.intp] = np.where(late, ends, begins)
    return found


def _values(
    kind: Scenarios, seed: int, places: Words, drawn: npt.NDArray[np.intp]
) -> npt.NDArray[np.int8]:
    """Codes of the events of these places, shape (events, fields)."""
    fields = len(kind.values)
    codes = np.empty((len(places), fields), dtype=np.int8)
    base = drawn * SLOTS
    for at in range(fields):
        if at % _BYTES == 0:
            word = words(seed, _VALUES + at // _BYTES, places)
        slot = (word >> np.uint64(8 * (at % _BYTES))) & np.uint64(SLOTS - 1)
        codes[:, at] = kind.values[at].reshape(-1)[base + slot.astype(np.intp)]
    return codes
