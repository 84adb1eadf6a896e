"""Patches: focused edits of a parent policy, and what they make of it.

A patch is one edit or a few that belong together (a new rule and the narrowing of the rule that it
would clash with). Each edit takes rules out and puts rules in:

========= ======= =======
operation targets rules
========= ======= =======
add       0       1
delete    1       0
rewrite   1       1
split     1       2 or more
merge     2 or more 1
========= ======= =======
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from vepa.errors import PolicyError, Where
from vepa.policy.feedback import Feedback
from vepa.policy.policy import Policy
from vepa.policy.reading import rules_from_data
from vepa.policy.rule import Rule
from vepa.policy.schema import Schema
from vepa.policy.verifier import Verification, verify

__all__ = ["OPERATIONS", "Edit", "Operation", "Patch", "apply", "check_patch", "edit_size"]

Operation = Literal["add", "delete", "rewrite", "split", "merge"]

#: Operation -> least and most number of targets, least and most number of rules.
OPERATIONS: dict[Operation, tuple[int, int, int, int]] = {
    "add": (0, 0, 1, 1),
    "delete": (1, 1, 0, 0),
    "rewrite": (1, 1, 1, 1),
    "split": (1, 1, 2, 64),
    "merge": (2, 64, 1, 1),
}


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit.

    Attributes
    ----------
    operation
        One of `OPERATIONS`.
    targets
        Ids of the parent's rules that go.
    rules
        Rules that come.
    """

    operation: Operation
    targets: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The edit as JSON data."""
        return {
            "operation": self.operation,
            "targets": list(self.targets),
            "rules": [rule.to_dict() for rule in self.rules],
        }


@dataclass(frozen=True, slots=True)
class Patch:
    """Edits of one parent policy, applied together, in order.

    Attributes
    ----------
    edits
        At least one.
    rationale
        Why, in a sentence.
    """

    edits: tuple[Edit, ...]
    rationale: str = ""

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The operations of the edits."""
        return tuple(edit.operation for edit in self.edits)

    def to_dict(self) -> dict[str, Any]:
        """The patch as JSON data."""
        return {"edits": [edit.to_dict() for edit in self.edits], "rationale": self.rationale}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], schema: Schema) -> Patch:
        """The inverse of `to_dict`.

        Raises
        ------
        PolicyError
            When the data is no patch over this schema.
        """
        try:
            edits = [_edit(edit, schema) for edit in data["edits"]]
            return cls(tuple(edits), str(data.get("rationale", "")))
        except (KeyError, TypeError, AttributeError) as error:
            raise PolicyError(
                f"not a patch: {error!r}",
                where=Where(field="edits"),
                remedy="a patch holds `edits: [{operation, targets, rules}]`",
            ) from None


def apply(parent: Policy, patch: Patch) -> Policy:
    """The candidate that a patch makes of its parent; not verified.

    New rules stand where their first target stood, added ones at the end.

    Raises
    ------
    PolicyError
        When an edit has the wrong number of targets or rules, or targets a rule that is not there.
    """
    rules = list(parent.rules)
    for edit in patch.edits:
        _check_arity(edit)
        position = {rule.id: at for at, rule in enumerate(rules)}
        missing = [target for target in edit.targets if target not in position]
        if missing or len(set(edit.targets)) != len(edit.targets):
            raise PolicyError(
                f"{edit.operation}: no such rule {missing[0]!r}"
                if missing
                else f"{edit.operation}: a target is named twice",
                where=Where(field="targets"),
                remedy=f"the parent's rules: {', '.join(position) or 'none'}",
            )
        first = min((position[target] for target in edit.targets), default=len(rules))
        gone = set(edit.targets)
        head = [rule for rule in rules[:first] if rule.id not in gone]
        tail = [rule for rule in rules[first:] if rule.id not in gone]
        rules = [*head, *edit.rules, *tail]
    return parent.with_rules(rules)


def check_patch(parent: Policy, patch: Patch) -> Verification:
    """Apply a patch and verify the candidate; a patch that cannot be applied is a finding."""
    try:
        candidate = apply(parent, patch)
    except PolicyError as error:
        code: Literal["unknown_id", "malformed"] = (
            "unknown_id" if "no such rule" in error.message else "malformed"
        )
        finding = Feedback(code, error.message, field=error.where.field, remedy=error.remedy)
        return Verification(None, (finding,))
    return verify(candidate)


def edit_size(parent: Policy, candidate: Policy) -> int:
    """How much a candidate changes its parent.

    One for each rule that only one of the two has (by what it does, not by its id), and one for
    each of its predicates.
    """
    before = {rule.key for rule in parent.rules}
    after = {rule.key for rule in candidate.rules}
    full = parent.schema.full
    return sum(
        1 + sum(mask != whole for mask, whole in zip(masks, full, strict=True))
        for _, masks in before ^ after
    )


def _check_arity(edit: Edit) -> None:
    least, most, few, many = OPERATIONS[edit.operation]
    if not (least <= len(edit.targets) <= most and few <= len(edit.rules) <= many):
        raise PolicyError(
            f"{edit.operation}: {len(edit.targets)} targets and {len(edit.rules)} rules",
            where=Where(field="edits"),
            remedy="add 0/1, delete 1/0, rewrite 1/1, split 1/2+, merge 2+/1 (targets/rules)",
        )


def _edit(data: Mapping[str, Any], schema: Schema) -> Edit:
    operation = data["operation"]
    if operation not in OPERATIONS:
        raise PolicyError(
            f"{operation!r} is no operation",
            where=Where(field="operation"),
            remedy=f"one of: {', '.join(OPERATIONS)}",
        )
    rules, found = rules_from_data(_listed(data.get("rules", [])), schema)
    if found:
        raise PolicyError(
            found[0].message, where=Where(field=found[0].field), remedy=found[0].remedy
        )
    edit = Edit(operation, tuple(map(str, _listed(data.get("targets", [])))), tuple(rules))
    _check_arity(edit)
    return edit


def _listed(value: Any) -> Sequence[Any]:
    if not isinstance(value, list):
        raise TypeError("a list is expected")
    return value
