"""What became of each rule between two policies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from vepa.policy.policy import Policy
from vepa.policy.rule import Rule

__all__ = ["RuleChange", "paired", "rule_changes"]


@dataclass(frozen=True, slots=True)
class RuleChange:
    """What became of a rule.

    Attributes
    ----------
    kind
        `added`, `removed`, `changed` (same id, other behaviour), `renamed` (same behaviour, other
        id) or `status`.
    before, after
        The rule in either policy.
    """

    kind: str
    before: Rule | None
    after: Rule | None

    def to_dict(self) -> dict[str, Any]:
        """The change as JSON data."""
        return {
            "kind": self.kind,
            "before": self.before.to_dict() if self.before else None,
            "after": self.after.to_dict() if self.after else None,
        }


def paired(before: Policy, after: Policy) -> tuple[list[Rule], list[Rule], list[tuple[Rule, Rule]]]:
    """Pair the rules of two policies: by id and behaviour, then by behaviour, then by id.

    Returns
    -------
    removed, added, pairs
        Rules that only one of them has, and the others.
    """
    left = list(before.rules)
    right = list(after.rules)
    pairs: list[tuple[Rule, Rule]] = []
    keys: tuple[Callable[[Rule], object], ...] = (
        lambda rule: (rule.id, rule.key),
        lambda rule: rule.key,
        lambda rule: rule.id,
    )
    for key in keys:
        waiting: dict[object, list[Rule]] = {}
        for rule in right:
            waiting.setdefault(key(rule), []).append(rule)
        unpaired = []
        for rule in left:
            partners = waiting.get(key(rule))
            if partners:
                pairs.append((rule, partners.pop(0)))
            else:
                unpaired.append(rule)
        left = unpaired
        taken = {id(other) for _, other in pairs}
        right = [rule for rule in right if id(rule) not in taken]
    return left, right, pairs


def rule_changes(before: Policy, after: Policy) -> Iterator[RuleChange]:
    """What became of each rule (see `paired`)."""
    left, right, pairs = paired(before, after)
    yield from (RuleChange("removed", rule, None) for rule in left)
    yield from (RuleChange("added", None, rule) for rule in right)
    for one, other in pairs:
        if one.key != other.key:
            yield RuleChange("changed", one, other)
        elif one.id != other.id:
            yield RuleChange("renamed", one, other)
        if one.status != other.status:
            yield RuleChange("status", one, other)
