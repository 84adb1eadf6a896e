"""A policy: rules over a schema for one unit, its file format and its hashes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import yaml

from vepa.policy.event import Unit
from vepa.policy.rule import Rule
from vepa.policy.schema import Schema

__all__ = ["FORMAT", "Policy"]

#: Version of the policy file format.
FORMAT = 1


@dataclass(frozen=True)
class Policy:
    """Rules over a schema, for events of one unit.

    The answer to an event is the common decision of the matching active rules, or `abstain`. That
    there is a common one is what `vepa.policy.verifier` checks.

    Attributes
    ----------
    schema
        The event schema.
    rules
        The rules, in the order of the file; the order never matters to a decision.
    unit
        What the events describe.
    """

    schema: Schema
    rules: tuple[Rule, ...] = ()
    unit: Unit = "trajectory"

    def __len__(self) -> int:
        return len(self.rules)

    @property
    def active(self) -> tuple[Rule, ...]:
        """The rules that decide."""
        return tuple(rule for rule in self.rules if rule.active)

    @cached_property
    def by_id(self) -> dict[str, Rule]:
        """Rules by their id."""
        return {rule.id: rule for rule in self.rules}

    def with_rules(self, rules: Iterable[Rule]) -> Policy:
        """A policy of the same schema and unit with other rules."""
        return replace(self, rules=tuple(rules))

    def activated(self) -> Policy:
        """The policy with every rule active: what all verified rules together would decide."""
        return self.with_rules(replace(rule, status="active") for rule in self.rules)

    @cached_property
    def policy_hash(self) -> str:
        """Hash of all that a decision depends on.

        Schema hash, unit, and of each rule its id, decision, status and admissible sets (`not_in`
        resolved over the domain), rules sorted. Same hash, same event: same decision.
        """
        rules = sorted(
            [rule.id, rule.decision, rule.status, self._sets(rule)] for rule in self.rules
        )
        return _sha256({"schema": self.schema.sha256, "unit": self.unit, "rules": rules})

    @cached_property
    def document_hash(self) -> str:
        """Hash of everything in the policy file, rationale, provenance and evidence included."""
        return _sha256(self.to_dict())

    def _sets(self, rule: Rule) -> list[list[Any]]:
        return sorted(
            [field.name, sorted(field.spell(mask))]
            for field, mask in zip(self.schema.fields, rule.masks, strict=True)
            if mask != field.full
        )

    def to_dict(self) -> dict[str, Any]:
        """The policy as data, as it stands in a file."""
        return {
            "policy": FORMAT,
            "schema": {"version": self.schema.version, "sha256": self.schema.sha256},
            "unit": self.unit,
            "rules": [rule.to_dict() for rule in self.rules],
        }

    def canonical(self) -> Policy:
        """The policy in canonical spelling (see `Rule.canonical`); decisions do not change."""
        return self.with_rules(rule.canonical(self.schema) for rule in self.rules)

    def to_json(self) -> str:
        """The policy as JSON, for machines."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1) + "\n"

    def to_yaml(self) -> str:
        """The policy as YAML, for people: one predicate a line, value lists in a row."""
        return yaml.dump(
            _rows(self.to_dict()),
            Dumper=_Dumper,
            sort_keys=False,
            allow_unicode=True,
            width=100,
        )


class _Row(list[Any]):
    """A list written in one row."""


class _RowMap(dict[str, Any]):
    """A mapping written in one row."""


_BaseDumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_BaseDumper):  # type: ignore[misc]
    """Plain YAML without aliases."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


_Dumper.add_representer(
    _Row,
    lambda dumper, data: dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=True),
)
_Dumper.add_representer(
    _RowMap,
    lambda dumper, data: dumper.represent_mapping("tag:yaml.org,2002:map", data, flow_style=True),
)


def _rows(document: dict[str, Any]) -> dict[str, Any]:
    rules = []
    for rule in document["rules"]:
        row = dict(rule)
        row["when"] = {
            name: _RowMap({operator: _Row(values) for operator, values in predicate.items()})
            for name, predicate in rule["when"].items()
        }
        for key in ("provenance", "evidence"):
            if key in row:
                row[key] = _RowMap(
                    {k: _Row(v) if isinstance(v, list) else v for k, v in row[key].items()}
                )
        rules.append(row)
    return {**document, "schema": _RowMap(document["schema"]), "rules": rules}


def _sha256(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
