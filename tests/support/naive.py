"""An interpreter of policies that shares nothing with the one under test: words, sets and loops.

It works on the data of a policy file, never on codes, masks or bit sets.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

Data = Mapping[str, Any]


def domains(schema: Any) -> dict[str, list[str]]:
    """Field -> values, `unknown` among them."""
    return {field.name: list(field.values) for field in schema.fields}


def all_events(schema: Any) -> Iterator[dict[str, str]]:
    """Every event of a small schema, spelled out."""
    spelled = domains(schema)
    for values in itertools.product(*spelled.values()):
        yield dict(zip(spelled, values, strict=True))


def admitted(predicate: Data, domain: list[str]) -> frozenset[str]:
    """The values that satisfy `{in: [...]}` or `{not_in: [...]}`."""
    if "in" in predicate:
        return frozenset(domain) & frozenset(predicate["in"])
    return frozenset(domain) - frozenset(predicate["not_in"])


def matches(rule: Data, event: Data) -> bool:
    """Whether a rule in file form matches an event; fields that are left out are `unknown`."""
    for name, predicate in rule["when"].items():
        value = event.get(name, "unknown")
        if "in" in predicate and value not in predicate["in"]:
            return False
        if "not_in" in predicate and value in predicate["not_in"]:
            return False
    return True


def decide(policy: Data, event: Data, *, all_rules: bool = False) -> tuple[str, list[str]]:
    """Verdict and ids of the rules that decide; a conflict is an error of the oracle's caller."""
    hits = [
        rule
        for rule in policy["rules"]
        if (all_rules or rule["status"] == "active") and matches(rule, event)
    ]
    verdicts = {rule["decision"] for rule in hits}
    assert len(verdicts) <= 1, f"conflict on {event}: {[rule['id'] for rule in hits]}"
    return (verdicts.pop() if verdicts else "abstain"), [rule["id"] for rule in hits]


def disjoint(one: Data, other: Data, spelled: Mapping[str, list[str]]) -> bool:
    """Whether no event satisfies both rules, by the admitted words of the fields they share."""
    shared = one["when"].keys() & other["when"].keys()
    return any(
        not admitted(one["when"][name], spelled[name])
        & admitted(other["when"][name], spelled[name])
        for name in shared
    )


def fault(policy: Data, spelled: Mapping[str, list[str]]) -> str | None:
    """What is wrong with a policy: malformed or in conflict; None when nothing is."""
    seen: set[str] = set()
    for rule in policy["rules"]:
        if rule["id"] in seen:
            return "duplicate id"
        seen.add(rule["id"])
        if not rule["when"]:
            return "empty conjunction"
        for name, predicate in rule["when"].items():
            admits = admitted(predicate, spelled[name])
            if not admits:
                return "unsatisfiable"
            if admits == frozenset(spelled[name]):
                return "vacuous"
    allow = [rule for rule in policy["rules"] if rule["decision"] == "allow"]
    refuse = [rule for rule in policy["rules"] if rule["decision"] == "refuse"]
    for one in allow:
        for other in refuse:
            if not disjoint(one, other, spelled):
                return "conflict"
    return None
