"""What a person made of a policy, as a patch of the one that stood before.

A person may add rules, change them and take them out, and may keep a rule inactive (`held`).
Authority, evidence and provenance are not a person's to give: whoever adopts the patch works them
out. `not_kept` says what of a file that concerns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from vepa.policy.changes import paired
from vepa.policy.explain import evidence_words
from vepa.policy.patches import Edit, Patch
from vepa.policy.policy import Policy
from vepa.policy.rule import Provenance, Rule

__all__ = ["PERSON", "Remark", "is_kept", "not_kept", "patch_of"]

#: `source` in the provenance of a rule that a person wrote.
PERSON = "person"


@dataclass(frozen=True, slots=True)
class Remark:
    """What became of something that a file says about a rule.

    Attributes
    ----------
    rule
        Its id.
    about
        `status`, `held`, `evidence` or `provenance`.
    message
        One sentence for people.
    """

    rule: str
    about: str
    message: str

    def to_dict(self) -> dict[str, str]:
        """The remark as JSON data."""
        return {"rule": self.rule, "about": self.about, "message": self.message}


def is_kept(rule: Rule) -> bool:
    """Whether only a person may take the rule out: one wrote it, or keeps it inactive."""
    return rule.held or (rule.provenance is not None and rule.provenance.source == PERSON)


def patch_of(parent: Policy, edited: Policy, round: int, said: Mapping[str, object]) -> Patch:
    """The patch that makes the rules of `edited` from those of `parent`.

    Rules that behave as before keep their provenance, so their evidence goes on. All others are
    from `round` and from a person. Another order of rules or values is no edit.

    Parameters
    ----------
    parent
        The policy that was edited.
    edited
        What became of it, verified.
    round
        The round after which it was edited.
    said
        Rule id -> the status that the file says in so many words; a rule that it does not say it
        of is left out.

    Returns
    -------
    Patch
        Edits `delete`, `rewrite` and `add`, in this order; none when nothing was edited.
    """
    left, right, pairs = paired(parent, edited)
    gone = [rule.id for rule in left]
    rewritten: list[Edit] = []
    added = {rule.id: _written(None, rule, parent, round, said) for rule in right}
    for before, after in pairs:
        rule = _written(before, after, parent, round, said)
        if _same(before, rule):
            continue
        if rule.id != before.id and rule.id in parent.by_id:  # another rule went by this name
            gone.append(before.id)
            added[rule.id] = rule
        else:
            rewritten.append(Edit("rewrite", (before.id,), (rule,)))
    return Patch(
        (
            *(Edit("delete", (name,)) for name in gone),
            *rewritten,
            *(Edit("add", (), (added[rule.id],)) for rule in edited.rules if rule.id in added),
        )
    )


def not_kept(parent: Policy, edited: Policy, adopted: Policy) -> list[Remark]:
    """What a person's file says of authority, evidence and provenance, and what holds instead.

    Parameters
    ----------
    parent, edited
        As above.
    adopted
        The edited policy, its rules judged by the evidence that there is.
    """
    partners = {after.id: before for before, after in paired(parent, edited)[2]}
    return [
        remark
        for rule in edited.rules
        for remark in _remarks(partners.get(rule.id), rule, adopted.by_id[rule.id])
    ]


def _remarks(before: Rule | None, rule: Rule, now: Rule) -> Iterator[Remark]:
    found = now.evidence
    counts = evidence_words(found)
    was_held = before is not None and before.held
    if now.held and not was_held:
        message = "stays inactive until a person drops its `held: true`; no evidence changes that"
        yield Remark(rule.id, "held", message)
    elif was_held and not now.held:
        yield Remark(rule.id, "held", f"is let go; by its evidence ({counts}) it is {now.status}")
    elif rule.status != now.status:
        message = f"is not {rule.status} as the file says: by its evidence ({counts}) {now.status}"
        yield Remark(rule.id, "status", message)
    known = before.evidence if before else None
    if rule.evidence is not None and rule.evidence != known:
        yield Remark(rule.id, "evidence", f"the file's evidence is not taken over: {counts}")
    unchanged = before is not None and before.key == rule.key
    if unchanged and before is not None and rule.provenance not in (None, before.provenance):
        yield Remark(rule.id, "provenance", "keeps its provenance: it does what it did before")


def _written(
    before: Rule | None, after: Rule, parent: Policy, round: int, said: Mapping[str, object]
) -> Rule:
    """A rule as a person hands it in: without evidence, and without authority."""
    if before is not None and before.key == after.key:
        origin = before.provenance
    elif before is not None:
        origin = Provenance(round, "rewrite", (before.id,), PERSON)
    else:
        named = after.provenance.parents if after.provenance else ()
        parents = tuple(name for name in named if name in parent.by_id)
        origin = Provenance(round, "add", parents, PERSON)
    held = after.held or _put_down(before, after, said)
    return replace(after, provenance=origin, evidence=None, status="inactive", held=held)


def _put_down(before: Rule | None, after: Rule, said: Mapping[str, object]) -> bool:
    """Whether a person wrote `inactive` where something else stood, or nothing did."""
    return said.get(after.id) == "inactive" and (before is None or before.active)


def _same(before: Rule, after: Rule) -> bool:
    return (before.id, before.key, before.rationale, before.held) == (
        after.id, after.key, after.rationale, after.held,
    )  # fmt: skip
