"""The search of one update: candidates, the patches that were tried, the feasible front."""

from __future__ import annotations

import json
import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from vepa.errors import PolicyError
from vepa.evolution.archive import Archive
from vepa.evolution.origin import dated, spared
from vepa.evolution.proposers import Proposer, Request, proposer
from vepa.evolution.proposers.base import Malformed, Rejection
from vepa.evolution.scoring import BelievedScorer, Score, Scorer, outcome
from vepa.evolution.settings import EvolutionSettings
from vepa.policy.authority import Authority
from vepa.policy.feedback import Feedback
from vepa.policy.patches import Patch, apply, check_patch, edit_size
from vepa.policy.policy import Policy
from vepa.policy.rule import Rule
from vepa.policy.schema import bits
from vepa.policy.verifier import Verification

__all__ = ["Attempt", "Candidate", "Search"]


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
        On the archives, with the rules that the settings name (`scored`).
    """

    number: int
    policy: Policy
    chain: tuple[Patch, ...]
    score: Score
    size: int
    rejected: list[Rejection] = field(default_factory=list)
    tried: list[tuple[Patch, Score]] = field(default_factory=list)
    exhausted: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """One patch that was tried: on which candidate, what the verifier said, what it scored.

    `written` is set, and the patch empty, where what was offered is no patch at all.
    """

    number: int
    base: int
    patch: Patch
    feedback: tuple[Feedback, ...]
    score: Score | None
    written: str = ""

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
            **({"written": self.written} if self.written else {}),
        }


class Search:
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
        self.archive, self.round, self.authority = archive.searched(authority), round, authority
        self.settings = settings
        self.source = source or proposer(settings.proposer, settings.llm)
        # A string seed is hashed with SHA-512, so it is the same in every process.
        self.rng = random.Random(f"{seed}/{round}")
        clash: Literal["abstain", "refuse"] = "refuse" if settings.verify == "refuse" else "abstain"
        self.scorer = (
            BelievedScorer(self.archive, clash=clash)
            if authority.corrects
            else Scorer(self.archive.whole, settings.preservation, clash)
        )
        self.standing = self.archive.standing(authority)
        self._support: dict[Any, bool] = {}
        root = Candidate(0, parent, (), self._score(parent), 0)
        self.front: list[Candidate] = [root]
        self.root = root
        self.attempts: list[Attempt] = []
        self.notes: list[str] = []
        self.turn = self.asked = 0
        self.ended = False
        self.known: set[Hashable] = {tuple(sorted((rule.id, rule.key) for rule in parent.rules))}
        self.behaviours = {self._behaviour(parent)}

    def run(self) -> None:
        """Try patches until the budget is spent or nobody has another idea."""
        while len(self.attempts) < self.settings.patches:
            base = self._choose()
            if base is None:
                return
            self.turn += 1
            proposal = self.source.propose(self._request(base))
            self.asked += proposal.asked
            self.ended |= proposal.ended
            self.notes += [n for n in proposal.note.splitlines() if n and n not in self.notes]
            fresh = [self._try(base, patch) for patch in proposal.patches]
            fresh += [self._turn_down(base, found) for found in proposal.malformed]
            # A rejection is news as well: the proposer is asked again, so that it hears of it.
            base.exhausted = not any(fresh)

    def pick(self) -> Candidate:
        """The best of the front by J; ties: smaller edit, fewer predicates, hash.

        The parent stands for election even when the front has left it behind: nothing better,
        nothing changes.
        """
        return min(
            [self.root, *self.front],
            key=lambda found: (
                -round_(found.score.objective),
                found.size,
                sum(len(rule.when) for rule in found.policy.rules),
                found.policy.policy_hash,
            ),
        )

    def _score(self, policy: Policy) -> Score:
        return self.scorer.score(self._counted(policy))

    def _counted(self, policy: Policy) -> Sequence[Rule]:
        """The rules that a candidate is scored with, and by which its packets are told apart."""
        if self.settings.scored == "all":
            return policy.rules
        return [rule for rule in policy.rules if self._supported(rule)]

    def _supported(self, rule: Rule) -> bool:
        """Whether all that is known would do for authority, whatever the mode lets count."""
        known = self._support.get(rule.key)
        if known is None:
            evidence = self.standing.of(rule.decision, rule.masks)
            known = self.authority.active(rule.decision, evidence)
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
        index, clash = self.archive.index, self.scorer.clash
        decided = outcome(index, self._counted(base.policy), clash)
        right = decided.right(self.archive.allow, self.archive.refuse)
        return Request(
            base.policy,
            self.archive,
            self._packet(index.all & ~right),
            self._packet(right),
            self.authority,
            tuple(base.rejected),
            self.round,
            self._left(),
            self.rng,
            tuple(base.tried),
            self.turn,
        )

    def _packet(self, members: int) -> tuple[int, ...]:
        rows = bits(members)
        if len(rows) > self.settings.packet:
            rows = sorted(self.rng.sample(rows, self.settings.packet))
        return tuple(rows)

    def _try(self, base: Candidate, patch: Patch) -> bool:
        """Try one patch; False when it repeats an earlier one, or when the budget is spent."""
        patch = dated(spared(patch, self.root.policy), self.root.policy, self.round)
        mark = self._mark(base, patch)
        if mark in self.known or not self._left():
            return False
        self.known.add(mark)
        number = len(self.attempts) + 1
        verification = self._verify(base.policy, patch)
        policy = verification.policy
        if policy is None:
            self.attempts.append(Attempt(number, base.number, patch, verification.feedback, None))
            base.rejected.append(Rejection(patch, verification.feedback))
            return True
        score = self._score(policy)
        self.attempts.append(Attempt(number, base.number, patch, (), score))
        base.tried.append((patch, score))
        if self._behaviour(policy) in self.behaviours:
            return True  # other names for what is there already
        self.behaviours.add(self._behaviour(policy))
        size = edit_size(self.root.policy, policy)
        self._keep(Candidate(number, policy, (*base.chain, patch), score, size))
        return True

    def _turn_down(self, base: Candidate, found: Malformed) -> bool:
        """Count what is no patch; False when it repeats an earlier one, or nothing is left."""
        mark = (base.number, "malformed", found.written)
        if mark in self.known or not self._left():
            return False
        self.known.add(mark)
        number, none = len(self.attempts) + 1, Patch(())
        self.attempts.append(
            Attempt(number, base.number, none, found.feedback, None, found.written)
        )
        base.rejected.append(Rejection(none, found.feedback, found.written))
        return True

    def _mark(self, base: Candidate, patch: Patch) -> Hashable:
        """What two patches have in common when the second one only repeats the first."""
        try:
            rules = apply(base.policy, patch).rules
            return tuple(sorted((rule.id, rule.key) for rule in rules))
        except PolicyError:
            return base.number, json.dumps(patch.to_dict()["edits"])

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
    def _behaviour(policy: Policy) -> frozenset[Any]:
        return frozenset(rule.key for rule in policy.rules)


def round_(value: float) -> float:
    """Scores that differ by rounding alone are ties."""
    return float(f"{value:.12g}")
