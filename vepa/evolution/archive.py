"""The example archives: everything that feedback has ever shown, whole."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from vepa.corpus.events import EventTable
from vepa.policy.authority import Authority
from vepa.policy.bitsets import ExampleIndex, pack
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
        self._index = None

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

    def evidence(self, rule: Rule, authority: Authority) -> Evidence:
        """Support and contradictions of a rule over the examples that count for it."""
        return self.evidence_of([rule], authority)[0]

    def evidence_of(self, rules: Sequence[Rule], authority: Authority) -> list[Evidence]:
        """The evidence of several rules (see `evidence`)."""
        by_round = {int(number): pack(self.rounds == number) for number in np.unique(self.rounds)}
        right = {"allow": self.allow, "refuse": self.refuse}
        found = []
        for rule in rules:
            born = rule.provenance.round if rule.provenance and rule.provenance.round else 0
            counted = 0
            for number, members in by_round.items():
                if authority.counts(number, born):
                    counted |= members
            covered = self.index.covered(rule.masks) & counted
            support = (covered & right[rule.decision]).bit_count()
            found.append(Evidence(support, covered.bit_count() - support))
        return found

    def judged(self, policy: Policy, authority: Authority) -> Policy:
        """The policy with evidence and standing of every rule brought up to date."""
        evidence = self.evidence_of(policy.rules, authority)
        return policy.with_rules(
            authority.judge(rule, known) for rule, known in zip(policy.rules, evidence, strict=True)
        )
