"""Where rules come from: ancestry along patches, and each rule's life over the rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vepa.bench.report.charts import Lane
from vepa.policy.policy import Policy
from vepa.policy.rule import Provenance, Rule

__all__ = ["ancestry", "lanes", "origins"]

#: Lanes drawn at most; a longer history shows the rules that stand at the end first.
_LANES = 60
_MADE = {
    "add": "added",
    "rewrite": "rewritten",
    "split": "split off",
    "merge": "merged",
}


def origins(
    policies: Sequence[Policy], records: Sequence[Mapping[str, Any]]
) -> dict[str, Provenance]:
    """Where every rule came from that a policy or an accepted patch ever held, by its id."""
    known: dict[str, Provenance] = {}
    for policy in reversed(policies):  # a person may have rewritten a rule under its name
        for rule in policy.rules:
            known.setdefault(rule.id, rule.provenance or Provenance())
    for record in records:
        for patch in record["accepted"]:
            for edit in patch["edits"]:
                for rule in edit["rules"]:
                    born = rule.get("provenance", {})
                    parents = tuple(born.get("parents", ()))
                    made = Provenance(
                        born.get("round"), born.get("operation"), parents, born.get("source")
                    )
                    known.setdefault(rule["id"], made)
    return known


def ancestry(name: str, known: Mapping[str, Provenance]) -> list[dict[str, Any]]:
    """From the first ancestor to the rule itself, along the first parent of each."""
    steps: list[dict[str, Any]] = []
    at: str | None = name
    while at is not None and all(step["id"] != at for step in steps):
        born = known.get(at, Provenance())
        steps.append(
            {
                "id": at,
                "made": _MADE.get(born.operation or "", "written"),
                "round": born.round,
                "source": born.source,
                "others": born.parents[1:],
            }
        )
        at = born.parents[0] if born.parents else None
    return steps[::-1]


def lanes(policies: Sequence[Policy], records: Sequence[Mapping[str, Any]]) -> list[Lane]:
    """The life of every rule that stood at the end of some round, ancestors above descendants.

    Parameters
    ----------
    policies
        Policy 0 to the last.
    records
        The record of each round's update.
    """
    lives: dict[str, list[tuple[int, bool]]] = {}
    rules: dict[str, Rule] = {}
    for number, policy in enumerate(policies[1:], 1):
        for rule in policy.rules:
            rules.setdefault(rule.id, rule)
            lives.setdefault(rule.id, []).append((number, rule.active))
    final = policies[-1].by_id
    made = _made(records)
    ranked = sorted(
        lives, key=lambda name: (name not in final, -len(lives[name]), lives[name][0][0], name)
    )
    shown = set(ranked[:_LANES])
    births = {name: lives[name][0][0] for name in shown}
    parents = {name: _standing(name, made, births) for name in shown}
    order = _families(sorted(shown, key=lambda name: (births[name], name)), parents)
    place = {name: at for at, name in enumerate(order)}
    return [
        Lane(
            rule=name,
            decision=rules[name].decision,
            born=births[name],
            states=[active for _, active in lives[name]],
            alive=name in final,
            parents=[place[parent] for parent in parents[name]],
            note=f"{name}: {rules[name].describe()}",
        )
        for name in order
    ]


def _made(records: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Rule -> the rules that its accepted edit took out."""
    made: dict[str, tuple[str, ...]] = {}
    for record in records:
        for patch in record["accepted"]:
            for edit in patch["edits"]:
                for rule in edit["rules"]:
                    made.setdefault(rule["id"], tuple(edit["targets"]))
    return made


def _standing(
    name: str, made: Mapping[str, tuple[str, ...]], births: Mapping[str, int]
) -> list[str]:
    """The nearest older ancestors with a lane; rules made and replaced in one round have none."""
    found: list[str] = []
    waiting, seen = list(made.get(name, ())), {name}
    while waiting:
        parent = waiting.pop(0)
        if parent in seen:
            continue
        seen.add(parent)
        if births.get(parent, births[name]) < births[name]:
            found.append(parent)
        else:
            waiting += made.get(parent, ())
    return found


def _families(ids: Sequence[str], parents: Mapping[str, Sequence[str]]) -> list[str]:
    """Depth first: each rule below the first rule that it came from."""
    children: dict[str, list[str]] = {}
    for name in ids:
        if parents[name]:
            children.setdefault(parents[name][0], []).append(name)
    order: list[str] = []
    waiting = [name for name in reversed(ids) if not parents[name]]
    while waiting:
        name = waiting.pop()
        order.append(name)
        waiting += reversed(children.get(name, []))
    return order
