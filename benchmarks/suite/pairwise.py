"""Conflicts pair by pair: in plain Python, and with z3."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from time import perf_counter, process_time
from typing import Any

import z3

from benchmarks.suite.peers import admitted_values
from vepa.policy import Policy, Rule, Schema

__all__ = ["Found", "plain", "z3_checks", "z3_one_solver"]

#: (allow rule, refuse rule) pairs that can match one event; pairs looked at; processor time.
Found = tuple[set[tuple[str, str]], int, float]


def plain(policy: Policy, limit: float) -> Found:
    """Sets compared field by field."""
    sets = {rule.id: admitted_values(rule, policy.schema) for rule in policy.rules}

    def clash(one: Rule, other: Rule) -> bool:
        others = sets[other.id]
        for field, values in sets[one.id].items():
            if field in others and values.isdisjoint(others[field]):
                return False
        return True

    return _all_pairs(policy, clash, limit)


def z3_checks(policy: Policy, limit: float) -> Found:
    """The conditions of both rules pushed, checked and popped."""
    conditions = _conditions(policy)
    solver = z3.Solver()

    def clash(one: Rule, other: Rule) -> bool:
        solver.push()
        solver.add(conditions[one.id], conditions[other.id])
        met = bool(solver.check() == z3.sat)
        solver.pop()
        return met

    return _all_pairs(policy, clash, limit)


def z3_one_solver(policy: Policy, limit: float) -> Found:
    """All conditions asserted once behind literals; a pair is a check under two assumptions."""
    solver = z3.Solver()
    chosen = {}
    for name, condition in _conditions(policy).items():
        chosen[name] = z3.Bool(f"rule {name}")
        solver.add(z3.Implies(chosen[name], condition))

    def clash(one: Rule, other: Rule) -> bool:
        return bool(solver.check(chosen[one.id], chosen[other.id]) == z3.sat)

    return _all_pairs(policy, clash, limit)


def _all_pairs(policy: Policy, clash: Callable[[Rule, Rule], bool], limit: float) -> Found:
    refusing = [rule for rule in policy.rules if rule.decision == "refuse"]
    found: set[tuple[str, str]] = set()
    done = 0
    deadline = perf_counter() + limit
    start = process_time()
    for one in policy.rules:
        if one.decision != "allow":
            continue
        for other in refusing:
            if clash(one, other):
                found.add((one.id, other.id))
        done += len(refusing)
        if perf_counter() > deadline:
            break
    return found, done, process_time() - start


def _conditions(policy: Policy) -> dict[str, Any]:
    fields = _constants(policy.schema)
    return {
        rule.id: z3.And(
            [
                z3.Or([fields[name][0] == fields[name][1][value] for value in sorted(values)])
                for name, values in admitted_values(rule, policy.schema).items()
            ]
        )
        for rule in policy.rules
    }


@lru_cache(maxsize=8)  # z3 refuses to declare an enumeration twice
def _constants(schema: Schema) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Field -> its constant in an enumeration sort, and the values of the sort."""
    constants = {}
    for field in schema.fields:
        names = [f"{field.name}.{value}" for value in field.values]
        sort, values = z3.EnumSort(f"{schema.sha256}.{field.name}", names)
        constants[field.name] = (
            z3.Const(field.name, sort),
            dict(zip(field.values, values, strict=True)),
        )
    return constants
