"""Bring a policy from one schema to another so that decisions on old events do not change.

An old event becomes a new one by a translation, field by field: a field or a value that both
schemas have stays what it is; a renamed one gets its new name; a removed field is left out; a
removed value becomes `unknown`. What a rule admits follows the translation, and values that only
the new schema has are not admitted where the rule has a predicate (so a `not_in` becomes the set
that it admitted before).

That is exact unless the translation makes alike what a rule tells apart (a field that it uses is
removed, or one of two values that are merged is admitted and the other is not). Then migration is
refused, or, when it is told to go on, the rule is narrowed to what can still be told apart: it
never decides an event that it did not decide before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vepa.errors import PolicyError, Where
from vepa.policy.policy import Policy
from vepa.policy.rule import Predicate, Rule, masks_of
from vepa.policy.schema import Schema
from vepa.policy.translation import MappingFile, Translation
from vepa.policy.verifier import verify

__all__ = ["Loss", "Migration", "migrate"]


@dataclass(frozen=True, slots=True)
class Loss:
    """A distinction that a rule makes and the new schema cannot.

    Attributes
    ----------
    rule
        Id of the rule.
    field
        The old field.
    values
        Old values, admitted and not, that become alike; none for a removed field.
    dropped
        Whether nothing is left of the rule.
    """

    rule: str
    field: str
    values: tuple[str, ...]
    dropped: bool

    def to_dict(self) -> dict[str, Any]:
        """The loss as JSON data."""
        return {
            "rule": self.rule,
            "field": self.field,
            "values": list(self.values),
            "dropped": self.dropped,
        }

    def __str__(self) -> str:
        what = f"{', '.join(map(repr, self.values))} of" if self.values else "the removed field"
        alike = " become alike" if self.values else ""
        return f"rule {self.rule!r} depends on {what} {self.field!r}{alike}"


@dataclass(frozen=True, slots=True)
class Migration:
    """A migrated policy.

    Attributes
    ----------
    policy
        The policy over the new schema, verified.
    rewritten
        Ids of the rules whose spelling changed.
    losses
        Distinctions that were given up; none when every decision on old events is the same.
    """

    policy: Policy
    rewritten: tuple[str, ...]
    losses: tuple[Loss, ...]

    def to_dict(self) -> dict[str, Any]:
        """The migration as JSON data."""
        return {
            "policy_hash": self.policy.policy_hash,
            "rewritten": list(self.rewritten),
            "losses": [loss.to_dict() for loss in self.losses],
            "policy": self.policy.to_dict(),
        }


def migrate(
    policy: Policy, new: Schema, mapping: MappingFile | None = None, *, lossy: bool = False
) -> Migration:
    """Migrate a verified policy to another schema, and verify it again.

    Parameters
    ----------
    policy
        The policy over the old schema.
    new
        The new schema.
    mapping
        What became of fields and values that the new schema lacks.
    lossy
        Narrow a rule where the new schema cannot tell apart what it tells apart, instead of
        refusing. A narrowed rule has no evidence any more and is inactive, if it had evidence.

    Raises
    ------
    SchemaError
        When the mapping does not settle everything.
    PolicyError
        When decisions would change and `lossy` is not set.
    """
    translation = Translation.build(policy.schema, new, mapping or MappingFile())
    rules: list[Rule] = []
    losses: list[Loss] = []
    rewritten: list[str] = []
    for rule in policy.rules:
        moved, lost = _moved(rule, translation)
        losses += lost
        if moved is not None:
            rules.append(moved)
            if moved.when != rule.when:
                rewritten.append(rule.id)
    if losses and not lossy:
        more = f" (and {len(losses) - 1} more)" if len(losses) > 1 else ""
        raise PolicyError(
            f"decisions on old events would change: {losses[0]}{more}",
            where=Where(field=losses[0].field),
            remedy="change the rule first, map to something that keeps the distinction, or pass "
            "--lossy: such rules then decide less, never otherwise",
        )
    moved_policy = Policy(new, tuple(rules), policy.unit)
    return Migration(verify(moved_policy).unwrap(), tuple(rewritten), tuple(losses))


def _moved(rule: Rule, translation: Translation) -> tuple[Rule | None, list[Loss]]:
    old, new = translation.old, translation.new
    masks = list(new.full)
    lost: list[tuple[str, tuple[str, ...]]] = []
    for name in rule.when:
        at = old.index[name]
        mask = rule.masks[at]
        to = translation.fields[at]
        if to is None:
            lost.append((name, ()))
            masks = [0] * len(masks)
            continue
        inside = translation.image(at, mask)
        outside = translation.image(at, old.full[at] & ~mask)
        blurred = inside & outside
        if blurred:
            codes = translation.codes[at]
            alike = sum(1 << code for code, image in enumerate(codes) if blurred >> image & 1)
            lost.append((name, old.fields[at].spell(alike)))
        masks[to] &= inside & ~outside
    dropped = not all(masks)
    losses = [Loss(rule.id, name, values, dropped) for name, values in lost]
    if dropped:
        return None, losses
    moved = Rule.from_masks(
        new,
        rule.id,
        rule.decision,
        masks,
        rationale=rule.rationale,
        provenance=rule.provenance,
        evidence=rule.evidence,
        status=rule.status,
        held=rule.held,
    )
    if _means(new, rule.when, masks):
        moved = replace(moved, when=rule.when)  # no need to spell it anew
    if lost and rule.evidence is not None:  # the counts were of what it matched before
        moved = replace(moved, evidence=None, status="inactive")
    return moved, losses


def _means(schema: Schema, when: Mapping[str, Predicate], masks: Sequence[int]) -> bool:
    try:
        return masks_of(schema, when) == tuple(masks)
    except KeyError:
        return False
