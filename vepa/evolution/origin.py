"""What a patch owes to its parent, whatever its proposer says: rounds, and what people wrote.

Some authority modes count only evidence from after a rule was proposed, so a proposer that leaves
the round out, or names an early one, must not gain by it; and a rename must not lose by it. Nor
does another name free a rule that a person keeps inactive, or an update take out what a person
wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace

from vepa.policy.by_hand import is_kept
from vepa.policy.patches import Edit, Patch
from vepa.policy.policy import Policy
from vepa.policy.rule import Provenance, Rule, RuleDecision

__all__ = ["dated", "spared"]

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


def spared(patch: Patch, parent: Policy) -> Patch:
    """The patch without that part of it that takes out rules of a person, or that a person holds.

    What it puts in stays: it has to be free of conflicts beside those rules.

    Parameters
    ----------
    patch
        A patch on the way from the parent.
    parent
        The policy before the update.
    """
    kept = {rule.id for rule in parent.rules if is_kept(rule)}
    if kept.isdisjoint(target for edit in patch.edits for target in edit.targets):
        return patch
    return replace(patch, edits=tuple(part for edit in patch.edits for part in _spared(edit, kept)))


def _spared(edit: Edit, kept: Set[str]) -> Iterator[Edit]:
    targets = tuple(target for target in edit.targets if target not in kept)
    if targets == edit.targets:
        yield edit
    elif len(targets) >= 2:
        yield replace(edit, targets=targets)
    elif targets:  # of a merge
        yield Edit("rewrite", targets, edit.rules)
    else:
        yield from (Edit("add", (), (rule,)) for rule in edit.rules)


def _dated(rule: Rule, edit: Edit, born: Born, held: Set[object], round: int) -> Rule:
    known = rule.provenance or Provenance(None, edit.operation, edit.targets)
    made = replace(known, round=born.get(rule.key, round))
    return replace(rule, provenance=made, held=rule.key in held)
