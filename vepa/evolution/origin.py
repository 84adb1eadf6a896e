"""The round that a proposed rule is from, and whether it is held, whatever its proposer says.

Some authority modes count only evidence from after a rule was proposed, so a proposer that leaves
the round out, or names an early one, must not gain by it; and a rename must not lose by it. Nor
does another name free a rule that a person keeps inactive.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from vepa.policy.patches import Edit, Patch
from vepa.policy.policy import Policy
from vepa.policy.rule import Provenance, Rule, RuleDecision

__all__ = ["dated"]

Born = dict[tuple[RuleDecision, tuple[int, ...]], int | None]


def dated(patch: Patch, parent: Policy, round: int) -> Patch:
    """The patch with the round of every rule set.

    Parameters
    ----------
    patch
        A patch on the way from the parent.
    parent
        The policy before the update; a rule that does what one of its rules does is as old.
    round
        The round of every other rule.
    """
    born: Born = {
        rule.key: rule.provenance.round if rule.provenance else None for rule in parent.rules
    }
    held = {rule.key for rule in parent.rules if rule.held}
    edits = (
        replace(edit, rules=tuple(_dated(rule, edit, born, held, round) for rule in edit.rules))
        for edit in patch.edits
    )
    return replace(patch, edits=tuple(edits))


def _dated(rule: Rule, edit: Edit, born: Born, held: Set[object], round: int) -> Rule:
    known = rule.provenance or Provenance(None, edit.operation, edit.targets)
    made = replace(known, round=born.get(rule.key, round))
    return replace(rule, provenance=made, held=rule.key in held)
