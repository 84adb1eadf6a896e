"""A rule: a conjunction of categorical predicates with a decision, and what is known about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from vepa.policy.schema import Schema

__all__ = ["Evidence", "Predicate", "Provenance", "Rule", "RuleDecision", "Status"]

RuleDecision = Literal["allow", "refuse"]
Status = Literal["active", "inactive"]


@dataclass(frozen=True, slots=True)
class Predicate:
    """`field in values`, or `field not_in values`.

    `not_in` is satisfied by any value outside its set, so by `unknown` unless the set lists it.
    """

    operator: Literal["in", "not_in"]
    values: tuple[str, ...]

    def to_dict(self) -> dict[str, list[str]]:
        """The predicate as it stands in a policy file."""
        return {self.operator: list(self.values)}


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a rule comes from: the round and the operation that made it, and from which rules.

    `source` is `person` where a person wrote it, and left out where an update did.
    """

    round: int | None = None
    operation: str | None = None
    parents: tuple[str, ...] = ()
    source: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The provenance as it stands in a policy file."""
        data: dict[str, Any] = {}
        if self.round is not None:
            data["round"] = self.round
        if self.operation is not None:
            data["operation"] = self.operation
        data["parents"] = list(self.parents)
        if self.source is not None:
            data["source"] = self.source
        return data


@dataclass(frozen=True, slots=True)
class Evidence:
    """Labelled examples that a rule covers: those that agree with it, and those that contradict.

    Attributes
    ----------
    support, contradictions
        Counts.
    probability
        That the rule is as precise as its gate asks, where an authority mode knows more than the
        counts tell (`noise-aware`); None where it follows from them.
    """

    support: int = 0
    contradictions: int = 0
    probability: float | None = None

    def to_dict(self) -> dict[str, int | float]:
        """The evidence as it stands in a policy file."""
        data: dict[str, int | float] = {
            "support": self.support,
            "contradictions": self.contradictions,
        }
        if self.probability is not None:
            data["probability"] = self.probability
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Evidence:
        """The evidence from what `to_dict` gave; other keys are left alone."""
        return cls(data["support"], data["contradictions"], data.get("probability"))


@dataclass(frozen=True, slots=True)
class Rule:
    """One conjunctive rule over a schema.

    Attributes
    ----------
    id
        Unique in its policy.
    decision
        `allow` or `refuse`.
    when
        Field -> predicate; a field that is left out admits every value.
    masks
        One bit set of admitted codes a schema field: the rule's meaning, whatever its spelling.
    rationale, provenance, evidence
        What people and the evolution know about the rule; never part of a decision.
    status
        Only active rules decide.
    held
        Kept inactive by a person: no evidence makes it active.
    """

    id: str
    decision: RuleDecision
    when: Mapping[str, Predicate]
    masks: tuple[int, ...] = field(repr=False)
    rationale: str = ""
    provenance: Provenance | None = None
    evidence: Evidence | None = None
    status: Status = "active"
    held: bool = False

    @classmethod
    def build(
        cls,
        schema: Schema,
        id: str,
        decision: RuleDecision,
        when: Mapping[str, Predicate | Mapping[str, Sequence[str]]],
        **known: Any,
    ) -> Rule:
        """A rule from predicates (or their file form, `{"in": [...]}`).

        Raises
        ------
        KeyError
            For a field or a value that the schema does not have.
        """
        predicates = {
            name: predicate if isinstance(predicate, Predicate) else _predicate(predicate)
            for name, predicate in when.items()
        }
        return cls(id, decision, predicates, masks_of(schema, predicates), **known)

    @classmethod
    def from_masks(
        cls, schema: Schema, id: str, decision: RuleDecision, masks: Sequence[int], **known: Any
    ) -> Rule:
        """A rule from bit sets, spelled in canonical form (see `canonical_when`)."""
        masks = tuple(masks)
        return cls(id, decision, canonical_when(schema, masks), masks, **known)

    @property
    def active(self) -> bool:
        """True when the rule may decide."""
        return self.status == "active"

    @property
    def key(self) -> tuple[RuleDecision, tuple[int, ...]]:
        """What the rule does: two rules with one key behave alike on every event."""
        return self.decision, self.masks

    def with_status(self, status: Status, evidence: Evidence | None = None) -> Rule:
        """The same rule with another standing."""
        return replace(self, status=status, evidence=evidence or self.evidence)

    def canonical(self, schema: Schema) -> Rule:
        """The same rule, its fields and values in the schema's order; operators stay as written."""
        when = {}
        for field_ in schema.fields:
            predicate = self.when.get(field_.name)
            if predicate is not None:
                values = field_.spell(field_.mask(predicate.values))
                when[field_.name] = Predicate(predicate.operator, values)
        return replace(self, when=when)

    def describe(self) -> str:
        """The rule as one line of text."""
        parts = [
            f"{name} {predicate.operator.replace('_', ' ')} {{{', '.join(predicate.values)}}}"
            for name, predicate in self.when.items()
        ]
        return f"{self.decision} when {' and '.join(parts) or 'always'}"

    def to_dict(self) -> dict[str, Any]:
        """The rule as it stands in a policy file."""
        data: dict[str, Any] = {"id": self.id, "decision": self.decision}
        data["when"] = {name: predicate.to_dict() for name, predicate in self.when.items()}
        if self.rationale:
            data["rationale"] = self.rationale
        if self.provenance is not None:
            data["provenance"] = self.provenance.to_dict()
        if self.evidence is not None:
            data["evidence"] = self.evidence.to_dict()
        data["status"] = self.status
        if self.held:  # a file without it keeps its hash
            data["held"] = True
        return data


def masks_of(schema: Schema, when: Mapping[str, Predicate]) -> tuple[int, ...]:
    """One bit set of admitted codes a field; raises `KeyError` for an unknown field or value."""
    masks = list(schema.full)
    for name, predicate in when.items():
        at = schema.index[name]
        mask = schema.fields[at].mask(predicate.values)
        masks[at] = mask if predicate.operator == "in" else schema.full[at] & ~mask
    return tuple(masks)


def canonical_when(schema: Schema, masks: Sequence[int]) -> dict[str, Predicate]:
    """How admissible sets are spelled where nobody wrote them down.

    Fields and values in the schema's order, `unknown` last; `in`, unless `not_in` lists fewer
    values and names `unknown` among them: no rule admits `unknown` without saying so.
    """
    when: dict[str, Predicate] = {}
    for field_, mask in zip(schema.fields, masks, strict=True):
        if mask == field_.full:
            continue
        outside = field_.full & ~mask
        if outside & 1 and outside.bit_count() < mask.bit_count():
            when[field_.name] = Predicate("not_in", field_.spell(outside))
        else:
            when[field_.name] = Predicate("in", field_.spell(mask))
    return when


def _predicate(data: Mapping[str, Sequence[str]]) -> Predicate:
    ((operator, values),) = data.items()
    if operator not in ("in", "not_in"):
        raise KeyError(operator)
    return Predicate("in" if operator == "in" else "not_in", tuple(values))
