"""Why a policy answers as it does, rule by rule: what terminal and page both show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vepa.policy.explain import Explanation, Failure, evidence_words
from vepa.policy.rule import Rule

__all__ = ["Part", "Reason", "reasons_of"]


@dataclass(frozen=True, slots=True)
class Part:
    """One predicate of a rule, held against an event.

    Attributes
    ----------
    field
        The field.
    wanted
        The predicate in words: `in {a, b}`.
    value
        What the event has there.
    holds
        Whether that satisfies it.
    """

    field: str
    wanted: str
    value: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Reason:
    """One rule, and what it has to do with the answer.

    Attributes
    ----------
    told
        In words.
    rule
        Its id; empty for the answer that no rule gave.
    decision
        What it decides.
    decides
        Whether the answer is its.
    parts
        Its predicates; of a near miss those that failed.
    """

    told: str
    rule: str
    decision: str
    decides: bool
    parts: tuple[Part, ...]


def reasons_of(why: Explanation | None) -> Iterator[Reason]:
    """Fired rules, then inactive ones that match, then the nearest misses."""
    if why is None:
        return
    if not why.fired:
        yield Reason(f"policy: {why.verdict}, no rule fired", "", why.verdict, True, ())
    for rule in why.fired:
        told = f"policy: {why.verdict}, fired {rule.id}{_evidence(rule)}"
        yield Reason(told, rule.id, rule.decision, True, _parts(rule, why))
    for rule in why.inactive:
        told = f"matches but is inactive: {rule.id} ({rule.decision}){_evidence(rule)}"
        yield Reason(told, rule.id, rule.decision, False, _parts(rule, why))
    for miss in why.nearest:
        parts = tuple(_failed(each) for each in miss.failures)
        told = f"did not fire: {miss.rule.id} ({miss.rule.decision}), for want of"
        yield Reason(told, miss.rule.id, miss.rule.decision, False, parts)


def _parts(rule: Rule, why: Explanation) -> tuple[Part, ...]:
    return tuple(
        Part(name, _spelled(predicate.operator, predicate.values), why.event[name], True)
        for name, predicate in rule.when.items()
    )


def _failed(failure: Failure) -> Part:
    ((operator, values),) = failure.predicate.items()
    return Part(failure.field, _spelled(operator, values), failure.value, False)


def _spelled(operator: str, values: tuple[str, ...] | list[str]) -> str:
    return f"{operator.replace('_', ' ')} {{{', '.join(values)}}}"


def _evidence(rule: Rule) -> str:
    return "" if rule.evidence is None else f" [{evidence_words(rule.evidence)}]"
