"""The round that a proposed rule is from, whatever its proposer says.

Some authority modes count only evidence from after a rule was proposed, so a proposer that leaves
the round out, or names an early one, must not gain by it; and a rename must not lose by it.
"""

from __future__ import annotations

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
    edits = (
        replace(edit, rules=tuple(_dated(rule, edit, born, round) for rule in edit.rules))
        for edit in patch.edits
    )
    return replace(patch, edits=tuple(edits))


def _dated(rule: Rule, edit: Edit, born: Born, round: int) -> Rule:
    known = rule.provenance or Provenance(None, edit.operation, edit.targets)
    return replace(rule, provenance=replace(known, round=born.get(rule.key, round)))
