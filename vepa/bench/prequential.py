"""The prequential loop: decide a whole round, then get feedback, then update the policy.

Policy k is what stands after k rounds; policy 0 is the one that was handed in, empty by default.
Round k is decided by the active rules of policy k - 1. The update after the last round is made as
well: its policy is the product of the run, and decides no event of the stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vepa.bench import metrics
from vepa.bench.evolving import Evolve, default_evolve
from vepa.bench.streams import Stream, StreamRound
from vepa.bench.verdicts import decide
from vepa.errors import RunError, UnitMismatchError, Where
from vepa.evolution.archive import Archive
from vepa.evolution.bounding import bounded
from vepa.policy.authority import Authority
from vepa.policy.policy import Policy

if TYPE_CHECKING:
    from vepa.evolution import EvolutionSettings
    from vepa.evolution.proposers.llm.opening import Desk

__all__ = ["Evolve", "Prequential", "RoundOutcome", "Start", "start"]

Codes = npt.NDArray[np.int8]
Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class RoundOutcome:
    """What happened in one round.

    Attributes
    ----------
    round
        From 1.
    indices
        Rows of the stream's table, in the order of their arrival.
    verdicts
        What the active rules of `before` said about them.
    revealed
        For each of them whether feedback revealed its label.
    before, after
        The policy that decided the round, and the one that the update made of it.
    correct, lost
        Size of the archive of correct examples after the feedback; those among them that `before`
        decided rightly (by the true label) and `after` does not.
    failures, repaired
        Rows of this round's feedback that `before` failed on (by what feedback said), and what
        `after` says about them.
    record
        The update as data; the policy after the round can be rebuilt from it.
    """

    round: int
    indices: Indices
    verdicts: Codes
    revealed: npt.NDArray[np.bool_]
    before: Policy
    after: Policy
    correct: int
    lost: int
    failures: Indices
    repaired: Codes
    record: Mapping[str, Any]

    @property
    def rules(self) -> dict[str, int]:
        """Rules after the round: all verified ones (`archive`) and the `active` ones."""
        return {"archive": len(self.after.rules), "active": len(self.after.active)}


@dataclass(eq=False)
class Prequential:
    """A stream being worked off, round by round.

    Parameters
    ----------
    stream
        Events and feedback.
    authority
        Which rules may decide.
    settings
        Of the evolution.
    policy
        The policy to start from; empty by default.
    evolve
        Makes the next policy; `vepa.evolution.update` by default, with one proposer for all rounds.
    desk
        Where the answers of a model that proposes are kept.

    Attributes
    ----------
    archive
        All feedback so far, bounded where the settings say so.
    shown, failed
        Rows of the stream's table whose label was told, in the order of their arrival; whether the
        policy that decided each of them failed on it, by what was told.
    outcomes
        One a finished round.

    Notes
    -----
    Nothing but scoring reads a true label: the loop sees `StreamRound.observed`. An interrupted
    run is continued by handing the stored policies and records to `replay`, then `advance`.
    """

    stream: Stream
    authority: Authority
    settings: EvolutionSettings
    policy: Policy | None = None
    evolve: Evolve | None = None
    desk: Desk | None = None
    outcomes: list[RoundOutcome] = field(default_factory=list)

    def __post_init__(self) -> None:
        table = self.stream.table
        self.current = self.policy or Policy(table.schema, (), table.unit)
        if self.current.unit != table.unit:
            raise UnitMismatchError(
                f"events of unit {table.unit!r}, a policy of unit {self.current.unit!r}",
                where=Where(field="unit"),
                remedy="start from a policy that was learned on the same unit",
            )
        self.archive = Archive(table.schema, table.unit)
        self.shown: Indices = np.zeros(0, dtype=np.intp)
        self.failed: npt.NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)

    @property
    def round(self) -> int:
        """The round that comes next, from 1."""
        return len(self.outcomes) + 1

    @property
    def finished(self) -> bool:
        """True when every round was worked off."""
        return len(self.outcomes) == len(self.stream.rounds)

    def advance(self, round: int | None = None) -> RoundOutcome:
        """Work off the next round.

        Parameters
        ----------
        round
            Its number, to be sure; `RunError` when another one comes next.
        """
        part, verdicts = self._begin(round)
        self.evolve = self.evolve or default_evolve(self.settings, self.desk)
        result = self.evolve(
            self.current,
            self.archive,
            round=part.number,
            authority=self.authority,
            settings=self.settings,
            seed=self.stream.seed,
        )
        return self._end(part, verdicts, result.policy, result.to_dict())

    def replay(self, after: Policy, record: Mapping[str, Any]) -> RoundOutcome:
        """Take the next round from a stored policy instead of making the update again.

        Parameters
        ----------
        after
            The policy that stood after the round.
        record
            The stored record of its update.
        """
        part, verdicts = self._begin(None)
        return self._end(part, verdicts, after, record)

    def intervene(self, policy: Policy) -> None:
        """Go on from another policy: it decides the next round and is the parent of its update.

        Parameters
        ----------
        policy
            Verified, of the same schema and unit.
        """
        if (policy.schema, policy.unit) != (self.current.schema, self.current.unit):
            raise RunError("a policy of another schema or unit cannot go on with this stream")
        self.current = policy

    def run(self) -> list[RoundOutcome]:
        """Work off all rounds that are left; the outcomes of all."""
        while not self.finished:
            self.advance()
        return self.outcomes

    def decide(self, policy: Policy, rows: Indices) -> Codes:
        """What the active rules of a policy say about rows of the stream's table."""
        columns = np.ascontiguousarray(self.stream.table.codes[rows].T)
        return decide(policy, columns, verify=self.settings.verify)

    def _begin(self, round: int | None) -> tuple[StreamRound, Codes]:
        if self.finished or round not in (None, self.round):
            raise RunError(
                f"round {round or self.round} cannot be run: {len(self.outcomes)} of "
                f"{len(self.stream.rounds)} rounds are finished"
            )
        part = self.stream.rounds[self.round - 1]
        verdicts = self.decide(self.current, part.indices)
        said = verdicts[part.revealed]
        unlabelled = self.stream.table.take(part.indices[~part.revealed])
        self.archive.add(self.stream.shown(part), said, part.number, unlabelled)
        self.shown = np.concatenate([self.shown, part.feedback])
        self.failed = np.concatenate([self.failed, said != part.observed])
        return part, verdicts

    def _end(
        self, part: StreamRound, verdicts: Codes, after: Policy, record: Mapping[str, Any]
    ) -> RoundOutcome:
        record = self._bound(after, record)
        truth = self.stream.table.labels
        correct = self.shown[~self.failed]
        failures = part.feedback[verdicts[part.revealed] != part.observed]
        outcome = RoundOutcome(
            round=part.number,
            indices=part.indices,
            verdicts=verdicts,
            revealed=part.revealed,
            before=self.current,
            after=after,
            correct=len(correct),
            lost=metrics.losses(
                truth[correct], self.decide(self.current, correct), self.decide(after, correct)
            ),
            failures=failures,
            repaired=self.decide(after, failures),
            record=record,
        )
        self.current = after
        self.outcomes.append(outcome)
        return outcome

    def _bound(self, after: Policy, record: Mapping[str, Any]) -> Mapping[str, Any]:
        """Let the archive keep as much as the settings allow; the record with what it stores."""
        most = self.settings.archive
        if most is None:
            return record
        self.archive = bounded(self.archive, most, after, self.authority)
        stored = {"examples": len(self.archive), "context": len(self.archive.context)}
        return {**record, "stored": stored}


@dataclass(frozen=True)
class Start:
    """How far the first labels alone carry.

    Attributes
    ----------
    labels
        How many labels were given.
    coverage, f1
        Coverage and covered macro-F1 on all other events of the stream.
    policy
        What was learned.
    record
        The update as data.
    """

    labels: int
    coverage: float
    f1: float
    policy: Policy
    record: Mapping[str, Any] = field(default_factory=dict)


def start(
    stream: Stream,
    authority: Authority,
    settings: EvolutionSettings,
    *,
    labels: int = 40,
    evolve: Evolve | None = None,
) -> Start:
    """Learn from the first labels of the stream in one update, score on all other events.

    The labels are those that feedback reveals first, in the order of the stream; fewer when the
    stream reveals fewer. The events that came among them without feedback have been seen by then,
    without their labels.
    """
    table = stream.table
    rows, observed, others = _first(stream, labels)
    empty = Policy(table.schema, (), table.unit)
    archive = Archive(table.schema, table.unit)
    verify = settings.verify
    archive.add(
        table.take(rows).with_labels(observed),
        decide(empty, np.ascontiguousarray(table.codes[rows].T), verify=verify),
        1,
        table.take(others),
    )
    update = evolve or default_evolve(settings)
    result = update(
        empty, archive, round=1, authority=authority, settings=settings, seed=stream.seed
    )
    scored = np.setdiff1d(np.arange(len(table)), rows)
    said = decide(result.policy, np.ascontiguousarray(table.codes[scored].T), verify=verify)
    return Start(
        len(rows),
        metrics.coverage(said),
        metrics.covered_macro_f1(table.labels[scored], said),
        result.policy,
        result.to_dict(),
    )


def _first(stream: Stream, labels: int) -> tuple[Indices, Codes, Indices]:
    """The rows that get the first labels, these labels, and the other rows until the last one."""
    rows: list[int] = []
    observed: list[int] = []
    others: list[int] = []
    for part in stream.rounds:
        given = dict(zip(part.feedback.tolist(), part.observed.tolist(), strict=True))
        for row in part.indices.tolist():
            if len(rows) == labels:
                break
            if row in given:
                rows.append(row)
                observed.append(given[row])
            else:
                others.append(row)
    return (
        np.array(rows, dtype=np.intp),
        np.array(observed, dtype=np.int8),
        np.array(others, dtype=np.intp),
    )
