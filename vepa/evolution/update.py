"""One update at the end of a round: propose, verify, keep the front, pick, judge authority."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from vepa.errors import PolicyError, Where
from vepa.evolution.archive import Archive
from vepa.evolution.origin import dated
from vepa.evolution.proposers import Proposer, Request, proposer
from vepa.evolution.proposers.base import Rejection
from vepa.evolution.scoring import Score, Scorer
from vepa.evolution.settings import EvolutionSettings
from vepa.policy.authority import Authority
from vepa.policy.feedback import Feedback
from vepa.policy.patches import Patch, apply, check_patch, edit_size
from vepa.policy.policy import Policy
from vepa.policy.rule import Evidence, Rule
from vepa.policy.schema import bits
from vepa.policy.verifier import Verification

__all__ = ["Attempt", "Candidate", "Update", "rebuild", "update"]


@dataclass(eq=False)
class Candidate:
    """A feasible policy on the way from the parent.

    Attributes
    ----------
    number
        0 for the parent itself, else the number of the attempt that made it.
    policy
        The candidate; rules carry the standing they had.
    chain
        Patches that lead here from the parent.
    score
        On the archives, with all rules.
    """

    number: int
    policy: Policy
    chain: tuple[Patch, ...]
    score: Score
    size: int
    rejected: list[Rejection] = field(default_factory=list)
    exhausted: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """One patch that was tried: on which candidate, what the verifier said, what it scored."""

    number: int
    base: int
    patch: Patch
    feedback: tuple[Feedback, ...]
    score: Score | None

    def to_dict(self) -> dict[str, Any]:
        """The attempt as JSON data."""
        return {
            "number": self.number,
            "base": self.base,
            "operations": list(self.patch.operations),
            "patch": self.patch.to_dict(),
            "verified": self.score is not None,
            "feedback": [item.to_dict() for item in self.feedback],
            "score": self.score.to_dict() if self.score else None,
        }


@dataclass(frozen=True)
class Update:
    """The result of an update.

    Attributes
    ----------
    round
        Number of the round, from 1.
    parent, policy
        Before and after; `policy` has the evidence and standing of every rule up to date.
    accepted
        The patches that lead from the parent to the policy's rules.
    attempts
        All patches that were tried, in order.
    front
        Numbers of the candidates that nothing dominates, and their scores.
    picked
        Number of the candidate that was picked; 0 when nothing was better than the parent.
    parent_score
        Of the parent, on the same archives.
    score, active_score
        Of the picked candidate: with all rules, and with the active ones alone.
    notes
        What the proposer said beside its patches.
    """

    round: int
    parent: Policy
    policy: Policy
    accepted: tuple[Patch, ...]
    attempts: tuple[Attempt, ...]
    front: tuple[tuple[int, Score], ...]
    picked: int
    parent_score: Score
    score: Score
    active_score: Score
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The record of the round as JSON data; `rebuild` reads it."""
        return {
            "round": self.round,
            "parent": self.parent.policy_hash,
            "policy": self.policy.policy_hash,
            "document": self.policy.document_hash,
            "picked": self.picked,
            "parent_score": self.parent_score.to_dict(),
            "score": self.score.to_dict(),
            "active_score": self.active_score.to_dict(),
            "accepted": [patch.to_dict() for patch in self.accepted],
            "standing": {
                rule.id: {
                    "status": rule.status,
                    **(rule.evidence.to_dict() if rule.evidence else {}),
                }
                for rule in self.policy.rules
            },
            "front": [{"candidate": at, **score.to_dict()} for at, score in self.front],
            "attempts": [attempt.to_dict() for attempt in self.attempts],
            "notes": list(self.notes),
        }


def update(
    parent: Policy,
    archive: Archive,
    *,
    round: int,
    authority: Authority,
    settings: EvolutionSettings | None = None,
    seed: int = 0,
    source: Proposer | None = None,
) -> Update:
    """Update a policy from the archives.

    Parameters
    ----------
    parent
        The verified policy before the update.
    archive
        All examples, those of this round included.
    round
        Number of the round, from 1.
    authority
        Which rules may decide.
    settings
        See `EvolutionSettings`.
    seed
        Of the run; the same arguments give the same update.
    source
        The proposer, when it is not the one that the settings name.
    """
    settings = settings or EvolutionSettings()
    search = _Search(parent, archive, round, authority, settings, seed, source)
    search.run()
    best = search.pick()
    policy = archive.judged(best.policy, authority)
    scorer = search.scorer
    return Update(
        round,
        parent,
        policy,
        best.chain,
        tuple(search.attempts),
        tuple((candidate.number, candidate.score) for candidate in search.front),
        best.number,
        search.root.score,
        best.score,
        scorer.score(policy.active),
        tuple(search.notes),
    )


def rebuild(parent: Policy, record: Mapping[str, Any]) -> Policy:
    """Policy k + 1 from policy k and the stored record of its update.

    Raises
    ------
    PolicyError
        When the record does not fit the parent.
    """
    if record["parent"] != parent.policy_hash:
        raise PolicyError(
            f"the record is of an update of policy {record['parent'][:12]}…, "
            f"not of {parent.policy_hash[:12]}…",
            where=Where(field="parent"),
            remedy="rebuild round by round, each from the policy of the round before",
        )
    policy = parent
    for patch in record["accepted"]:
        policy = apply(policy, Patch.from_dict(patch, parent.schema))
    return policy.with_rules(
        rule.with_status(
            standing["status"], Evidence(standing["support"], standing["contradictions"])
        )
        for rule, standing in ((rule, record["standing"][rule.id]) for rule in policy.rules)
    )


class _Search:
    """The search of one update over the feasible archive."""

    def __init__(
        self,
        parent: Policy,
        archive: Archive,
        round: int,
        authority: Authority,
        settings: EvolutionSettings,
        seed: int,
        source: Proposer | None,
    ):
        self.archive, self.round, self.authority = archive, round, authority
        self.settings = settings
        self.source = source or proposer(settings.proposer)
        # A string seed is hashed with SHA-512, so it is the same in every process.
        self.rng = random.Random(f"{seed}/{round}")
        clash: Literal["abstain", "refuse"] = "refuse" if settings.verify == "refuse" else "abstain"
        self.scorer = Scorer(archive, settings.preservation, clash)
        self._support: dict[Any, bool] = {}
        root = Candidate(0, parent, (), self._score(parent), 0)
        self.front: list[Candidate] = [root]
        self.root = root
        self.attempts: list[Attempt] = []
        self.notes: list[str] = []
        self.known = {self._key(parent)}

    def run(self) -> None:
        """Try patches until the budget is spent or nobody has another idea."""
        while len(self.attempts) < self.settings.patches:
            base = self._choose()
            if base is None:
                return
            proposal = self.source.propose(self._request(base))
            if proposal.note and proposal.note not in self.notes:
                self.notes.append(proposal.note)
            heard = len(base.rejected)
            fresh = [self._try(base, patch) for patch in proposal.patches[: self._left()]]
            # The proposer is asked again after a rejection, so that it hears of it.
            if not any(fresh) and len(base.rejected) == heard:
                base.exhausted = True

    def pick(self) -> Candidate:
        """The best of the front by J; ties: smaller edit, fewer predicates, hash."""
        return min(
            self.front,
            key=lambda found: (
                -round_(found.score.objective),
                found.size,
                sum(len(rule.when) for rule in found.policy.rules),
                found.policy.policy_hash,
            ),
        )

    def _score(self, policy: Policy) -> Score:
        rules = policy.rules
        if self.settings.scored == "supported":
            rules = tuple([rule for rule in rules if self._supported(rule)])
        return self.scorer.score(rules)

    def _supported(self, rule: Rule) -> bool:
        """Whether all that is known would do for authority, whatever the mode lets count."""
        known = self._support.get(rule.key)
        if known is None:
            covered = self.scorer.index.covered(rule.masks)
            allow = (covered & self.scorer.allow).bit_count()
            refuse = (covered & self.scorer.refuse).bit_count()
            right, wrong = (allow, refuse) if rule.decision == "allow" else (refuse, allow)
            known = self.authority.active(rule.decision, Evidence(right, wrong))
            self._support[rule.key] = known
        return known

    def _left(self) -> int:
        return self.settings.patches - len(self.attempts)

    def _choose(self) -> Candidate | None:
        open_ = [candidate for candidate in self.front if not candidate.exhausted]
        if self.settings.selection == "greedy":
            best = self.pick()
            return None if best.exhausted else best
        if not open_:
            return None
        # Half of the picks go on from the best so far, half explore the rest of the front.
        if self.rng.random() < 0.5:
            return max(open_, key=lambda found: (found.score.objective, -found.number))
        return self.rng.choice(open_)

    def _request(self, base: Candidate) -> Request:
        right = self.scorer.outcome(base.policy.rules).right(self.scorer.allow, self.scorer.refuse)
        return Request(
            base.policy,
            self.archive,
            self._packet(self.scorer.index.all & ~right),
            self._packet(right),
            self.authority,
            tuple(base.rejected),
            self.round,
            self._left(),
            self.rng,
        )

    def _packet(self, members: int) -> tuple[int, ...]:
        rows = bits(members)
        if len(rows) > self.settings.packet:
            rows = sorted(self.rng.sample(rows, self.settings.packet))
        return tuple(rows)

    def _try(self, base: Candidate, patch: Patch) -> bool:
        """Try one patch; True when it gave a new feasible candidate."""
        number = len(self.attempts) + 1
        patch = dated(patch, self.root.policy, self.round)
        verification = self._verify(base.policy, patch)
        if verification.policy is None:
            self.attempts.append(Attempt(number, base.number, patch, verification.feedback, None))
            if all(known.patch != patch for known in base.rejected):
                base.rejected.append(Rejection(patch, verification.feedback))
            return False
        policy = verification.policy
        score = self._score(policy)
        self.attempts.append(Attempt(number, base.number, patch, (), score))
        key = self._key(policy)
        if key in self.known:
            return False
        self.known.add(key)
        size = edit_size(self.root.policy, policy)
        self._keep(Candidate(number, policy, (*base.chain, patch), score, size))
        return True

    def _verify(self, parent: Policy, patch: Patch) -> Verification:
        found = check_patch(parent, patch)
        if self.settings.verify != "on":
            harmless = {"conflict", "more_conflicts"}
            if all(item.code in harmless for item in found.feedback):
                return Verification(apply(parent, patch))
        return found

    def _keep(self, candidate: Candidate) -> None:
        if any(known.score.dominates(candidate.score) for known in self.front):
            return
        self.front = [known for known in self.front if not candidate.score.dominates(known.score)]
        self.front.append(candidate)

    @staticmethod
    def _key(policy: Policy) -> frozenset[Any]:
        return frozenset(rule.key for rule in policy.rules)


def round_(value: float) -> float:
    """Scores that differ by rounding alone are ties."""
    return float(f"{value:.12g}")
