"""Why a policy answers as it does: what fired, what nearly did, what stood in the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vepa.policy.event import Event
from vepa.policy.matching import CompiledPolicy, Verdict
from vepa.policy.rule import Evidence, Rule

__all__ = ["Explanation", "Failure", "NearMiss", "evidence_words", "explain"]

#: Near misses that are told.
NEAREST = 5


@dataclass(frozen=True, slots=True)
class Failure:
    """A predicate that an event does not satisfy.

    Attributes
    ----------
    field
        The schema field.
    value
        What the event has there.
    predicate
        The predicate as the rule spells it.
    satisfied_by
        Every value that would satisfy it.
    """

    field: str
    value: str
    predicate: dict[str, list[str]]
    satisfied_by: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The failure as JSON data."""
        return {
            "field": self.field,
            "value": self.value,
            "predicate": self.predicate,
            "satisfied_by": list(self.satisfied_by),
        }


@dataclass(frozen=True, slots=True)
class NearMiss:
    """An active rule that did not fire, with every predicate on which it failed."""

    rule: Rule
    failures: tuple[Failure, ...]

    def to_dict(self) -> dict[str, Any]:
        """The near miss as JSON data."""
        return {
            "rule": self.rule.id,
            "decision": self.rule.decision,
            "failures": [failure.to_dict() for failure in self.failures],
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """The whole answer to one event.

    Attributes
    ----------
    verdict
        What the policy answers.
    fired
        The active rules that match, which decided.
    inactive
        Inactive rules that match: they would have a say if they were active.
    nearest
        Active rules that did not fire, the fewest failing predicates first.
    event
        The event with every field spelled out.
    policy_hash
        Hash of the policy that answered.
    """

    verdict: Verdict
    fired: tuple[Rule, ...]
    inactive: tuple[Rule, ...]
    nearest: tuple[NearMiss, ...]
    event: dict[str, str]
    policy_hash: str

    def to_dict(self) -> dict[str, Any]:
        """The explanation as JSON data."""
        return {
            "verdict": self.verdict,
            "rules": [rule.id for rule in self.fired],
            "fired": [_told(rule) for rule in self.fired],
            "inactive": [_told(rule) for rule in self.inactive],
            "nearest": [miss.to_dict() for miss in self.nearest],
            "event": self.event,
            "policy_hash": self.policy_hash,
        }


def explain(compiled: CompiledPolicy, event: Event, *, nearest: int = NEAREST) -> Explanation:
    """Explain a decision.

    Parameters
    ----------
    compiled
        The policy that decides; its active rules do.
    event
        A validated event of the policy's schema and unit.
    nearest
        How many near misses to tell.

    Raises
    ------
    UnitMismatchError, EventError
        When the event is of another unit or schema.
    """
    decision = compiled.decide(event)
    policy = compiled.policy
    deciding = {rule.id for rule in compiled.rules}
    fired: list[Rule] = []
    inactive: list[Rule] = []
    misses: list[NearMiss] = []
    for rule in policy.rules:
        failures = _failures(rule, event)
        if rule.id in deciding and failures:
            misses.append(NearMiss(rule, failures))
        elif not failures:
            (fired if rule.id in deciding else inactive).append(rule)
    misses.sort(key=lambda miss: len(miss.failures))  # stable: the policy's order within
    return Explanation(
        decision.verdict,
        tuple(fired),
        tuple(inactive),
        tuple(misses[:nearest]),
        event.fields,
        decision.policy_hash,
    )


def _failures(rule: Rule, event: Event) -> tuple[Failure, ...]:
    found = []
    for name, predicate in rule.when.items():
        at = event.schema.index[name]
        field, code = event.schema.fields[at], event.codes[at]
        if not rule.masks[at] >> code & 1:
            satisfied_by = field.spell(rule.masks[at])
            found.append(Failure(name, field.values[code], predicate.to_dict(), satisfied_by))
    return tuple(found)


def evidence_words(found: Evidence | None) -> str:
    """The evidence of a rule in a few words: counts, and the probability that a run worked out.

    Examples
    --------
    >>> evidence_words(Evidence(31, 2, 0.914))
    '31 for, 2 against, precise enough with probability 0.91'
    """
    if found is None:
        return "no evidence"
    counts = f"{found.support} for, {found.contradictions} against"
    if found.probability is None:
        return counts
    return f"{counts}, precise enough with probability {found.probability:.2f}"


def _told(rule: Rule) -> dict[str, Any]:
    data = rule.to_dict()
    return {key: data[key] for key in ("id", "decision", "when", "evidence") if key in data}
