"""One update at the end of a round: propose, verify, keep the front, pick, judge authority."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vepa.errors import PolicyError, Where
from vepa.evolution.archive import Archive
from vepa.evolution.front import Attempt, Search
from vepa.evolution.proposers import Proposer
from vepa.evolution.scoring import Score
from vepa.evolution.settings import EvolutionSettings
from vepa.policy.authority import Authority
from vepa.policy.patches import Patch, apply
from vepa.policy.policy import Policy
from vepa.policy.rule import Evidence

__all__ = ["Update", "rebuild", "update"]


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
        Of the picked candidate: with the rules that the settings name (`scored`), and with the
        active ones alone.
    notes
        What the proposer said beside its patches.
    wrong_feedback
        Share of wrong feedback that the authority estimates; None where it estimates none.
    questions, ended
        Asked of a language model; whether it was asked no more because its budget was used up.
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
    questions: int = 0
    ended: bool = False
    wrong_feedback: float | None = None

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
            "questions": self.questions,
            "model_ended": self.ended,
            "wrong_feedback": self.wrong_feedback,
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
    search = Search(parent, archive, round, authority, settings, seed, source)
    search.run()
    best = search.pick()
    standing = archive.standing(authority)
    policy = standing.judged(best.policy)
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
        search.asked,
        search.ended,
        standing.wrong_feedback,
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
        rule.with_status(standing["status"], Evidence.from_dict(standing))
        for rule, standing in ((rule, record["standing"][rule.id]) for rule in policy.rules)
    )
