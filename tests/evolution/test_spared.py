"""Rules that a person wrote or holds: no patch takes them out, and the search plans around them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from evolving import WORLD, archive_of, drawn
from evolving import rule as of_colours

from vepa.evolution import update
from vepa.evolution.origin import dated, spared
from vepa.policy import Edit, Patch, Policy, Rule, apply, authority, bundled_schema
from vepa.policy.rule import Provenance

SCHEMA = bundled_schema()


def rule(name: str, value: str = "none", **known: Any) -> Rule:
    return Rule.build(SCHEMA, name, "refuse", {"recipient": {"in": [value]}}, **known)


MINE = rule("mine", "public", provenance=Provenance(2, "add", (), "person"))
HELD = rule("held", "external", held=True, status="inactive")
PARENT = Policy(SCHEMA, (rule("a", "none"), MINE, rule("b", "self"), HELD))
NEW, OTHER = rule("n", "internal"), rule("o", "internal")


@pytest.mark.parametrize(
    ("edit", "left"),
    [
        (Edit("delete", ("mine",)), []),
        (Edit("delete", ("held",)), []),
        (Edit("delete", ("a",)), [Edit("delete", ("a",))]),
        (Edit("rewrite", ("mine",), (NEW,)), [Edit("add", (), (NEW,))]),
        (
            Edit("split", ("held",), (NEW, OTHER)),
            [Edit("add", (), (NEW,)), Edit("add", (), (OTHER,))],
        ),
        (Edit("merge", ("a", "mine"), (NEW,)), [Edit("rewrite", ("a",), (NEW,))]),
        (Edit("merge", ("a", "mine", "b"), (NEW,)), [Edit("merge", ("a", "b"), (NEW,))]),
        (Edit("merge", ("held", "mine"), (NEW,)), [Edit("add", (), (NEW,))]),
    ],
    ids=lambda given: given.operation if isinstance(given, Edit) else "",
)
def test_what_takes_out_a_persons_rule_is_left_out_of_a_patch(edit: Edit, left: list[Edit]) -> None:
    patch = spared(Patch((edit,), "why"), PARENT)
    assert patch == Patch(tuple(left), "why")
    assert {"mine", "held"} <= set(apply(PARENT, patch).by_id)


def test_a_held_rule_is_not_freed_by_another_name() -> None:
    twin = replace(HELD, id="twin", held=False, status="active")
    free = replace(NEW, held=True)
    patch = Patch((Edit("add", (), (twin,)), Edit("add", (), (free,))))
    made = apply(PARENT, dated(patch, PARENT, 5)).by_id
    assert made["twin"].held
    assert not made["n"].held, "only a person holds a rule"


@pytest.mark.parametrize("mode", ["paper", "default"])
def test_the_search_plans_around_what_a_person_wrote(mode: str) -> None:
    """A person refuses where the examples say allow: the rest is learned all the same."""

    def law(event: Any) -> Any:
        return "refuse" if event["colour"] == "red" else "allow"

    person = Provenance(1, "add", (), "person")
    mine = replace(of_colours("mine", "refuse", colour=["blue"], size=["large"]), provenance=person)
    parent = Policy(WORLD, (mine,))
    found = update(
        parent, archive_of(drawn(400, law, seed=5), parent), round=2, authority=authority(mode)
    )
    assert found.attempts
    assert all(not attempt.feedback for attempt in found.attempts), "no plan was in vain"
    assert found.policy.by_id["mine"].key == mine.key
    decided = {rule.decision for rule in found.policy.active}
    assert decided == {"allow", "refuse"}
    assert not found.policy.by_id["mine"].active
