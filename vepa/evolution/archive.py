"""The example archives: what feedback has shown, whole or as fewer examples with weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from vepa.corpus.events import EventTable
from vepa.evolution.sampling import CONTEXT, EXAMPLES, Units, numbers
from vepa.evolution.standing import Standing
from vepa.files import sha256_of
from vepa.policy.authority import Authority
from vepa.policy.bitsets import ExampleIndex, WeightIndex, pack
from vepa.policy.event import Unit
from vepa.policy.matching import ABSTAIN, ALLOW, REFUSE
from vepa.policy.policy import Policy
from vepa.policy.rule import Evidence, Rule
from vepa.policy.schema import Schema

__all__ = ["Archive"]

Flags = npt.NDArray[np.bool_]


class Archive:
    """Labelled examples: *failures* of the policy that was active when it decided, and *correct*.

    Attributes
    ----------
    table
        All examples with the labels that feedback gave, in the order of their arrival.
    rounds
        Round of each example, from 1, shape (examples,).
    failed
        True where the active policy was wrong or abstained when it decided, shape (examples,).
    context
        Events that were seen and got no feedback; a proposer may look at them, nothing counts them.
    weights
        How many arrivals each example stands for, shape (examples,); None where each is one.
    numbers
        The smallest number of the units that each example stands for (`vepa.evolution.sampling`).
    units, context_units
        What a search would look at of the examples and of the context.
    whole
        The archive that counts; another one where this is what a search looks at of it.
    places
        Where each example of a sample lies in the whole, shape (examples,).
    """

    def __init__(self, schema: Schema, unit: Unit = "trajectory"):
        self.table = EventTable.empty(schema, unit)
        self.context = EventTable.empty(schema, unit)
        self.rounds = np.zeros(0, dtype=np.int32)
        self.failed = np.zeros(0, dtype=np.bool_)
        self.weights: npt.NDArray[np.int64] | None = None
        self.numbers = np.zeros(0, dtype=np.uint64)
        self.units, self.context_units = Units.none(EXAMPLES), Units.none(CONTEXT)
        self.whole = self
        self.places = np.zeros(0, dtype=np.int64)
        self._index: ExampleIndex | None = None
        self._sides = np.zeros(0, dtype=np.bool_)
        self._bits: dict[str, int] = {}
        self._counted: dict[tuple[object, bool, int], int] = {}
        self._seen: dict[bool, Archive] = {}
        self._count: Callable[[int], int] | None = None
        self._standings: list[Standing] = []

    def __len__(self) -> int:
        return len(self.table)

    def add(
        self,
        examples: EventTable,
        verdicts: npt.NDArray[np.int8],
        round: int,
        context: EventTable | None = None,
    ) -> None:
        """Take in the feedback of a round.

        Parameters
        ----------
        examples
            Events with the labels that feedback gave.
        verdicts
            What the active policy had decided, before the feedback, shape (examples,).
        round
            Number of the round, from 1.
        context
            The events of the round that got no feedback; labels they may carry are dropped.
        """
        if context is not None:
            hidden = context.with_labels(np.full(len(context), ABSTAIN, dtype=np.int8))
            coming = np.arange(len(hidden), dtype=np.int64) + len(self.context)
            self.context = EventTable.concat([self.context, hidden])
            self.context_units = self.context_units.and_new(coming)
        size, more = len(self), len(examples)
        failed = verdicts != examples.labels
        arrivals = np.arange(more, dtype=np.int64) + self.units.arrived
        self.units = self.units.and_new(np.arange(more, dtype=np.int64) + size)
        self.numbers = np.concatenate([self.numbers, numbers(arrivals, EXAMPLES)])
        if self.weights is not None:
            self.weights = np.concatenate([self.weights, np.ones(more, dtype=np.int64)])
        self.table = EventTable.concat([self.table, examples])
        self.rounds = np.concatenate([self.rounds, np.full(more, round, dtype=np.int32)])
        self.failed = np.concatenate([self.failed, failed])
        if self._index is not None:
            self._index = self._index.grown(examples.codes)
        new = {"allow": examples.labels == ALLOW, "refuse": examples.labels == REFUSE}
        new["failed"] = failed
        self._bits = {name: old | pack(new[name]) << size for name, old in self._bits.items()}
        self._counted, self._seen, self._count, self._standings = {}, {}, None, []

    @property
    def index(self) -> ExampleIndex:
        """Bit sets over all examples."""
        if self._index is None:
            self._index = ExampleIndex(self.table.schema, self.table.codes)
        return self._index

    @property
    def allow(self) -> int:
        """Bit set of the examples labelled `allow`."""
        return self._flags("allow", lambda: self.table.labels == ALLOW)

    @property
    def refuse(self) -> int:
        """Bit set of the examples labelled `refuse`."""
        return self._flags("refuse", lambda: self.table.labels == REFUSE)

    @property
    def failures(self) -> int:
        """Bit set of the failures."""
        return self._flags("failed", lambda: self.failed)

    def _flags(self, name: str, made: Callable[[], Flags]) -> int:
        """A bit set that is packed once, and grows by what is added."""
        if name not in self._bits:
            self._bits[name] = pack(made())
        return self._bits[name]

    @property
    def count(self) -> Callable[[int], int]:
        """How many arrivals the examples in a bit set stand for."""
        if self._count is None:
            known = self.weights
            self._count = int.bit_count if known is None else WeightIndex(known).total
        return self._count

    @property
    def held_out(self) -> int:
        """Bit set of the half that only authority may look at under `held-out`, by the ids' hash.

        An example is on one side for good, whatever came before or after it.
        """
        return pack(self.sides)

    @property
    def sides(self) -> Flags:
        """The same as booleans, shape (examples,)."""
        ids = self.table.ids[len(self._sides) :]
        new = [sha256_of(name.encode())[-1] in "13579bdf" for name in ids]
        self._sides = np.concatenate([self._sides, np.array(new, dtype=np.bool_)])
        return self._sides

    def counted(self, authority: Authority, born: int) -> int:
        """Bit set of the examples that count for a rule which was proposed in round `born`."""
        key = (authority.counts, authority.parts, born)
        members = self._counted.get(key)
        if members is None:
            counting = [n for n in np.unique(self.rounds) if authority.counts(int(n), born)]
            members = pack(np.isin(self.rounds, counting))
            members = self._counted[key] = members & self.held_out if authority.parts else members
        return members

    def searched(self, authority: Authority) -> Archive:
        """The archive as a search for rules may see it; this one, where it may see it all.

        A large archive is seen as a sample: an ordinary archive, whose `whole` is this one. Under
        `held-out` the examples that are kept for authority lose their labels.
        """
        if not authority.parts:
            return self.sampled()
        if True not in self._seen:
            seen = self.sampled()
            found = seen._without_held_out()
            if seen is not self:
                found.whole = self._without_held_out()
                place = np.cumsum(~self.sides) - 1
                found.places = place[seen.places[~seen.sides]]
            self._seen[True] = found
        return self._seen[True]

    def sampled(self) -> Archive:
        """What a search looks at; this archive, where that is all of it."""
        units, others = self.units, self.context_units
        if False not in self._seen:
            small = len(units.rows) == len(self) and len(others.rows) == len(self.context)
            if self.whole is not self or (small and self.weights is None):
                return self
            found = Archive(self.table.schema, self.table.unit)
            found.table, found.context = self.table.take(units.rows), self.context.take(others.rows)
            found.rounds, found.failed = self.rounds[units.rows], self.failed[units.rows]
            found.whole, found.places = self, units.rows
            self._seen[False] = found
        return self._seen[False]

    def _without_held_out(self) -> Archive:
        shown = ~self.sides
        hidden = self.table.take(np.flatnonzero(~shown))
        found = Archive(self.table.schema, self.table.unit)
        found.context = self.context
        found.add(
            self.table.take(np.flatnonzero(shown)),
            self.table.labels[shown],
            1,
            hidden,
        )
        found.rounds, found.failed = self.rounds[shown], self.failed[shown]
        found.weights = None if self.weights is None else self.weights[shown]
        found._seen[False] = found
        return found

    @property
    def known_weights(self) -> npt.NDArray[np.int64]:
        """How many arrivals each example stands for, shape (examples,)."""
        return np.ones(len(self), dtype=np.int64) if self.weights is None else self.weights

    def reduced(
        self,
        rows: npt.NDArray[np.int64],
        weights: npt.NDArray[np.int64],
        numbers: npt.NDArray[np.uint64],
        places: npt.NDArray[np.int64],
    ) -> Archive:
        """The archive with fewer examples (`vepa.evolution.bounding`).

        Parameters
        ----------
        rows
            The examples that stay, in ascending order.
        weights, numbers
            Of these; as the attributes.
        places
            For each example which of these stands for it, as far as a search may look at it.
        """
        found = self._copy()
        found.table, found.rounds = self.table.take(rows), self.rounds[rows]
        found.failed, found._sides = (
            self.failed[rows],
            self.sides[rows] if len(self._sides) else self._sides,
        )
        found.weights, found.numbers = weights, numbers
        found.units = self.units.moved(places[self.units.rows])
        return found

    def with_units(self, units: Units) -> Archive:
        """The archive of which a search looks at other units."""
        found = self._copy()
        found.units = units
        return found

    def with_context(self, rows: npt.NDArray[np.int64], units: Units) -> Archive:
        """The archive with only the events of context in `rows`, of which `units` are looked at."""
        found = self._copy()
        found.context, found.context_units = self.context.take(rows), units
        return found

    def _copy(self) -> Archive:
        """The same without what was worked out."""
        found = Archive(self.table.schema, self.table.unit)
        found.table, found.context = self.table, self.context
        found.rounds, found.failed, found._sides = self.rounds, self.failed, self._sides
        found.weights, found.numbers = self.weights, self.numbers
        found.units, found.context_units = self.units, self.context_units
        return found

    def standing(self, authority: Authority) -> Standing:
        """What rules may do under an authority, by all that is known; worked out once."""
        for known in self._standings:
            if known.authority is authority:
                return known
        self._standings.append(Standing(self, authority))
        return self._standings[-1]

    def evidence(self, rule: Rule, authority: Authority) -> Evidence:
        """What counts for and against a rule."""
        return self.standing(authority).evidence(rule)

    def judged(self, policy: Policy, authority: Authority) -> Policy:
        """The policy with evidence and standing of every rule brought up to date."""
        return self.standing(authority).judged(policy)
