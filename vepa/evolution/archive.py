"""The example archives: everything that feedback has ever shown, whole."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vepa.corpus.events import EventTable
from vepa.evolution.standing import Standing
from vepa.files import sha256_of
from vepa.policy.authority import Authority
from vepa.policy.bitsets import ExampleIndex, pack, unpack
from vepa.policy.event import Unit
from vepa.policy.matching import ABSTAIN, ALLOW, REFUSE
from vepa.policy.policy import Policy
from vepa.policy.rule import Evidence, Rule
from vepa.policy.schema import Schema

__all__ = ["Archive"]


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
    """

    def __init__(self, schema: Schema, unit: Unit = "trajectory"):
        self.table = EventTable.empty(schema, unit)
        self.context = EventTable.empty(schema, unit)
        self.rounds = np.zeros(0, dtype=np.int32)
        self.failed = np.zeros(0, dtype=np.bool_)
        self._index: ExampleIndex | None = None
        self._held_out: int | None = None
        self._searched: Archive | None = None

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
            self.context = EventTable.concat([self.context, hidden])
        self.table = EventTable.concat([self.table, examples])
        self.rounds = np.concatenate([self.rounds, np.full(len(examples), round, dtype=np.int32)])
        self.failed = np.concatenate([self.failed, verdicts != examples.labels])
        self._index = self._held_out = self._searched = None

    @property
    def index(self) -> ExampleIndex:
        """Bit sets over all examples."""
        if self._index is None:
            self._index = ExampleIndex(self.table.schema, self.table.codes)
        return self._index

    @property
    def allow(self) -> int:
        """Bit set of the examples labelled `allow`."""
        return pack(self.table.labels == ALLOW)

    @property
    def refuse(self) -> int:
        """Bit set of the examples labelled `refuse`."""
        return pack(self.table.labels == REFUSE)

    @property
    def failures(self) -> int:
        """Bit set of the failures."""
        return pack(self.failed)

    @property
    def held_out(self) -> int:
        """Bit set of the half that only authority may look at under `held-out`, by the ids' hash.

        An example is on one side for good, whatever came before or after it.
        """
        if self._held_out is None:
            sides = [sha256_of(name.encode())[-1] in "13579bdf" for name in self.table.ids]
            self._held_out = pack(np.array(sides, dtype=np.bool_))
        return self._held_out

    def counted(self, authority: Authority, born: int) -> int:
        """Bit set of the examples that count for a rule which was proposed in round `born`."""
        members = 0
        for number in np.unique(self.rounds):
            if authority.counts(int(number), born):
                members |= pack(self.rounds == number)
        return members & self.held_out if authority.parts else members

    def searched(self, authority: Authority) -> Archive:
        """The archive as a search for rules may see it; this one, but for `held-out`.

        There the examples that are kept for authority lose their labels.
        """
        if not authority.parts:
            return self
        if self._searched is None:
            self._searched = self._without_held_out()
        return self._searched

    def _without_held_out(self) -> Archive:
        shown = ~unpack(self.held_out, len(self))
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
        return found

    def standing(self, authority: Authority) -> Standing:
        """What rules may do under an authority, by all that is known."""
        return Standing(self, authority)

    def evidence(self, rule: Rule, authority: Authority) -> Evidence:
        """What counts for and against a rule."""
        return self.standing(authority).evidence(rule)

    def judged(self, policy: Policy, authority: Authority) -> Policy:
        """The policy with evidence and standing of every rule brought up to date."""
        return self.standing(authority).judged(policy)
