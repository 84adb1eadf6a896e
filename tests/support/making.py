"""Random schemas, rules, policies and events: hypothesis strategies, and a seeded generator."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import strategies as st

from vepa.policy import Evidence, Policy, Predicate, Provenance, Rule, Schema
from vepa.policy.verifier import verify

LETTERS = "abcd"


@st.composite
def schemas(draw: Any, max_fields: int = 3, max_values: int = 3) -> Schema:
    """A schema small enough to try every event."""
    sizes = draw(st.lists(st.integers(1, max_values), min_size=1, max_size=max_fields))
    return Schema(1, {f"f{at}": list(LETTERS[:size]) for at, size in enumerate(sizes)})


@st.composite
def predicates(draw: Any, field: Any) -> Predicate:
    """A predicate of any spelling; it may be unsatisfiable or vacuous."""
    values = draw(st.lists(st.sampled_from(field.values), max_size=len(field.values)))
    return Predicate(draw(st.sampled_from(["in", "not_in"])), tuple(values))


@st.composite
def loose_rules(draw: Any, schema: Schema, id: str) -> Rule:
    """A rule that may be malformed."""
    names = draw(st.lists(st.sampled_from(schema.names), unique=True, max_size=len(schema)))
    when = {name: draw(predicates(schema[name])) for name in names}
    return Rule.build(schema, id, draw(st.sampled_from(["allow", "refuse"])), when)


@st.composite
def rules(draw: Any, schema: Schema, id: str) -> Rule:
    """A well-formed rule."""
    names = draw(
        st.lists(st.sampled_from(schema.names), unique=True, min_size=1, max_size=len(schema))
    )
    when: dict[str, Predicate] = {}
    for name in names:
        field = schema[name]
        mask = draw(st.integers(1, field.full - 1))
        if draw(st.booleans()):
            when[name] = Predicate("in", field.spell(mask))
        else:
            when[name] = Predicate("not_in", field.spell(field.full & ~mask))
    known: dict[str, Any] = {"status": draw(st.sampled_from(["active", "inactive"]))}
    if draw(st.booleans()):
        known["evidence"] = Evidence(draw(st.integers(0, 99)), draw(st.integers(0, 9)))
    if draw(st.booleans()):
        known["provenance"] = Provenance(draw(st.integers(0, 9)), "add", ("p1", "p2"))
    if draw(st.booleans()):
        known["rationale"] = draw(st.text(st.characters(codec="utf-8"), max_size=20))
    return Rule.build(schema, id, draw(st.sampled_from(["allow", "refuse"])), when, **known)


@st.composite
def policies(draw: Any, schema: Schema | None = None, max_rules: int = 6) -> Policy:
    """A verified policy: what of the drawn rules is in conflict with earlier ones is left out."""
    schema = schema or draw(schemas())
    kept: list[Rule] = []
    for at in range(draw(st.integers(0, max_rules))):
        rule = draw(rules(schema, f"r{at}"))
        if verify(Policy(schema, (*kept, rule))).ok:
            kept.append(rule)
    return Policy(schema, tuple(kept), draw(st.sampled_from(["trajectory", "step", "call"])))


class Maker:
    """A seeded generator of rules and policies over any schema, the real one included."""

    def __init__(self, schema: Schema, seed: int):
        self.schema = schema
        self.random = Random(seed)
        self.count = 0

    def name(self) -> str:
        """An id that was not given before."""
        self.count += 1
        return f"n{self.count}"

    def mask(self, full: int) -> int:
        """A set of values that is neither empty nor whole."""
        return self.random.randrange(1, full)

    def masks(self, fields: int) -> list[int]:
        """Admissible sets of a conjunction with predicates on so many fields."""
        masks = list(self.schema.full)
        for at in self.random.sample(range(len(masks)), min(fields, len(masks))):
            masks[at] = self.mask(self.schema.full[at])
        return masks

    def rule(self, decision: str | None = None, fields: int | None = None) -> Rule:
        """A well-formed rule."""
        chosen: Any = decision or self.random.choice(["allow", "refuse"])
        count = fields or self.random.randint(1, min(5, len(self.schema)))
        return Rule.from_masks(self.schema, self.name(), chosen, self.masks(count))

    def policy(self, size: int, *, sides: tuple[str, ...] = ("allow", "refuse")) -> Policy:
        """A conflict-free policy of `size` rules: one field divides the decisions."""
        at = self.random.randrange(len(self.schema))
        full = self.schema.full[at]
        side = {"allow": self.mask(full)}
        side["refuse"] = full & ~side["allow"]
        made = []
        for _ in range(size):
            rule = self.rule(self.random.choice(sides))
            masks = list(rule.masks)
            own = side[rule.decision]
            masks[at] = masks[at] & own or own
            status: Any = "active" if self.random.random() < 0.8 else "inactive"
            made.append(Rule.from_masks(self.schema, rule.id, rule.decision, masks, status=status))
        return Policy(self.schema, tuple(made))

    def event(self) -> dict[str, str]:
        """An event with every field spelled out."""
        return {field.name: self.random.choice(field.values) for field in self.schema.fields}
