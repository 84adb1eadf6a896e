"""The deterministic verifier: well-formed, and free of conflicts over the whole event space.

Two conjunctions can match one event exactly when for every field their admissible sets intersect:
a field occurs once in a rule, domains are closed and hold `unknown`, so the fields are independent
and one common value a field makes a common event. `conflicts` therefore needs no search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from vepa.errors import VerificationError
from vepa.policy.bitsets import RuleIndex
from vepa.policy.feedback import Feedback
from vepa.policy.policy import Policy
from vepa.policy.rule import Rule
from vepa.policy.schema import Schema, bits

__all__ = ["MAX_ID", "MAX_RATIONALE", "MAX_RULES", "Verification", "conflicts", "verify", "witness"]

MAX_RULES = 100_000
MAX_ID = 128
MAX_RATIONALE = 4_000
#: Conflicts listed one by one; the rest is counted.
MAX_LISTED = 200


@dataclass(frozen=True)
class Verification:
    """The verifier's answer.

    Attributes
    ----------
    policy
        The policy, when nothing rejects it.
    feedback
        All findings, rejecting ones first.
    """

    policy: Policy | None
    feedback: tuple[Feedback, ...] = ()

    @property
    def ok(self) -> bool:
        """True when the policy is admitted."""
        return self.policy is not None

    def unwrap(self, file: str | None = None) -> Policy:
        """The policy.

        Raises
        ------
        VerificationError
            When the policy was rejected.
        """
        if self.policy is None:
            raise VerificationError(self.feedback, file=file)
        return self.policy


def verify(policy: Policy, lines: dict[str, int] | None = None) -> Verification:
    """Check a policy: well-formed and conflict-free, active and inactive rules together.

    Parameters
    ----------
    policy
        The policy, of any origin.
    lines
        Rule id -> line in its file, for messages.
    """
    found = [*_malformed(policy), *conflicts(policy.schema, policy.rules)]
    if lines:
        found = [_with_line(item, lines) for item in found]
    return Verification(None if found else policy, tuple(found))


def conflicts(
    schema: Schema, rules: Sequence[Rule], index: RuleIndex | None = None
) -> Iterator[Feedback]:
    """Every pair of an `allow` and a `refuse` rule that can match the same event."""
    index = index or RuleIndex(schema, rules)
    listed = count = 0
    fewer, other = (index.allow, index.refuse)
    if fewer.bit_count() > other.bit_count():
        fewer, other = other, fewer
    for at in bits(fewer):
        rule = index.rules[at]
        clashing = index.overlapping(rule.masks) & other
        count += clashing.bit_count()
        if listed == MAX_LISTED:
            continue
        for rival in bits(clashing)[: MAX_LISTED - listed]:
            listed += 1
            yield _conflict(schema, *sorted((rule, index.rules[rival]), key=lambda r: r.decision))
    if count > listed:
        yield Feedback("more_conflicts", f"{count - listed} more pairs of rules conflict")


def witness(schema: Schema, *conjunctions: Sequence[int]) -> dict[str, str] | None:
    """An event that all the conjunctions match, or None when there is none.

    Fields that may be `unknown` are left out.
    """
    event: dict[str, str] = {}
    for at, field in enumerate(schema.fields):
        common = field.full
        for masks in conjunctions:
            common &= masks[at]
        if not common:
            return None
        if not common & 1:
            event[field.name] = field.values[(common & -common).bit_length() - 1]
    return event


def _conflict(schema: Schema, allow: Rule, refuse: Rule) -> Feedback:
    shared = sorted(set(allow.when) | set(refuse.when), key=schema.index.__getitem__)
    return Feedback(
        "conflict",
        f"rule {allow.id!r} allows and rule {refuse.id!r} refuses the same event",
        rules=(allow.id, refuse.id),
        witness=witness(schema, allow.masks, refuse.masks),
        remedy=f"make them disjoint on one field (one of: {', '.join(shared)})",
    )


def _malformed(policy: Policy) -> Iterator[Feedback]:
    schema = policy.schema
    if len(policy.rules) > MAX_RULES:
        yield Feedback(
            "too_large", f"{len(policy.rules)} rules; at most {MAX_RULES}", remedy="merge rules"
        )
    seen: set[str] = set()
    for rule in policy.rules:
        if rule.id in seen:
            yield Feedback(
                "duplicate_id",
                f"the rule id {rule.id!r} occurs twice",
                rules=(rule.id,),
                remedy="give each rule an id of its own",
            )
        seen.add(rule.id)
        if not rule.id or len(rule.id) > MAX_ID or len(rule.rationale) > MAX_RATIONALE:
            yield Feedback(
                "too_large",
                f"an id has 1 to {MAX_ID} characters, a rationale at most {MAX_RATIONALE}",
                rules=(rule.id,),
                remedy="shorten it",
            )
        if not rule.when:
            yield Feedback(
                "empty_conjunction",
                f"rule {rule.id!r} has no predicate, so it would match everything",
                rules=(rule.id,),
                remedy="add a predicate, or delete the rule",
            )
        for name in rule.when:
            yield from _predicate(schema, rule, name)


def _predicate(schema: Schema, rule: Rule, name: str) -> Iterable[Feedback]:
    at = schema.index[name]
    if rule.masks[at] == 0:
        yield Feedback(
            "unsatisfiable_predicate",
            f"no value of {name!r} satisfies rule {rule.id!r}",
            rules=(rule.id,),
            field=name,
            remedy="admit at least one value",
        )
    elif rule.masks[at] == schema.full[at]:
        yield Feedback(
            "vacuous_predicate",
            f"every value of {name!r} satisfies rule {rule.id!r}",
            rules=(rule.id,),
            field=name,
            remedy="drop the predicate",
        )


def _with_line(item: Feedback, lines: dict[str, int]) -> Feedback:
    known = [lines[rule] for rule in item.rules if rule in lines]
    return replace(item, line=max(known)) if known and item.line is None else item
