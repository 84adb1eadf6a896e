"""The peers: the same policy in Cedar, and in the straightforward Python that one would write."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cedarpy import Decision as CedarDecision
from cedarpy import Entities, PolicySet, is_authorized, is_authorized_batch

from vepa.policy import ABSTAIN, ALLOW, REFUSE, CompiledPolicy, Policy, Rule, Schema

__all__ = ["Answer", "CedarPeer", "PlainLoop", "admitted_values", "check_equal"]

#: Verdict, ids of the rules that fired, hash of the policy.
Answer = tuple[str, tuple[str, ...], str]
CODES = {"allow": ALLOW, "refuse": REFUSE, "abstain": ABSTAIN}


class PlainLoop:
    """A loop over the rules, each a list of (field, set of admitted values)."""

    def __init__(self, policy: Policy):
        self.policy_hash = policy.policy_hash
        self.rules = [
            (rule.id, rule.decision, list(admitted_values(rule, policy.schema).items()))
            for rule in policy.active
        ]

    def decide(self, event: Mapping[str, str]) -> Answer:
        """The answer to an event with all fields spelled out."""
        verdict = "abstain"
        ids = []
        for name, decision, predicates in self.rules:
            for field, values in predicates:
                if event[field] not in values:
                    break
            else:
                ids.append(name)
                verdict = decision
        return verdict, tuple(ids), self.policy_hash

    def code(self, event: Mapping[str, str]) -> int:
        """The decision alone, as a batch needs it: the first rule that fires settles it."""
        for _, decision, predicates in self.rules:
            for field, values in predicates:
                if event[field] not in values:
                    break
            else:
                return CODES[decision]
        return ABSTAIN


class CedarPeer:
    """One Cedar policy a rule: `allow` permits, `refuse` forbids; parsed once, handles reused.

    Cedar denies when a `forbid` fires and when nothing does; the reasons tell the two apart, so a
    policy without conflicts gives the same three answers.
    """

    def __init__(self, policy: Policy):
        self.policy_hash = policy.policy_hash
        self.policies = PolicySet.from_str(cedar_text(policy))
        self.entities = Entities.from_json_str("[]")

    @staticmethod
    def request(event: Mapping[str, str], *, ready: bool = True) -> dict[str, Any]:
        """A request; `ready` also spells the context as the text that the engine takes."""
        return {
            "principal": 'Agent::"a"',
            "action": 'Action::"act"',
            "resource": 'Resource::"r"',
            "context": json.dumps(event) if ready else dict(event),
        }

    def decide(self, request: dict[str, Any]) -> Answer:
        """The answer to one request."""
        return self._answer(is_authorized(request, self.policies, self.entities))

    def codes(self, requests: list[dict[str, Any]]) -> list[int]:
        """Decisions of a batch."""
        found = is_authorized_batch(requests, self.policies, self.entities)
        return [CODES[self._answer(result)[0]] for result in found]

    def _answer(self, result: Any) -> Answer:
        fired = tuple(result.diagnostics.id_annotations_by_reason.values())
        if result.decision is CedarDecision.Allow:
            return "allow", fired, self.policy_hash
        return ("refuse" if fired else "abstain"), fired, self.policy_hash


def cedar_text(policy: Policy) -> str:
    """The active rules of a policy as Cedar policies."""
    return "\n".join(_cedar_rule(rule) for rule in policy.active)


def _cedar_rule(rule: Rule) -> str:
    effect = "permit" if rule.decision == "allow" else "forbid"
    conditions = " && ".join(
        _cedar_predicate(name, predicate.operator, predicate.values)
        for name, predicate in rule.when.items()
    )
    return f'@id("{rule.id}")\n{effect}(principal, action, resource) when {{ {conditions} }};'


def _cedar_predicate(name: str, operator: str, values: Sequence[str]) -> str:
    if len(values) == 1:
        sign = "==" if operator == "in" else "!="
        return f'context.{name} {sign} "{values[0]}"'
    listed = ", ".join(f'"{value}"' for value in values)
    test = f"[{listed}].contains(context.{name})"
    return test if operator == "in" else f"!({test})"


def admitted_values(rule: Rule, schema: Schema) -> dict[str, frozenset[str]]:
    return {
        name: frozenset(schema[name].spell(rule.masks[schema.index[name]])) for name in rule.when
    }


def check_equal(
    compiled: CompiledPolicy, plain: PlainLoop, cedar: CedarPeer | None, events: Iterable[Any]
) -> int:
    """Hold the engines against each other on validated events; the number that was compared.

    Raises
    ------
    AssertionError
        When a verdict, a list of rules or the hash differs.
    """
    compared = 0
    for event in events:
        fields = event.fields
        ours = tuple(compiled.decide(event))
        assert ours == tuple(compiled.decide_fields(fields)), (fields, ours)
        assert ours == plain.decide(fields), (fields, ours, plain.decide(fields))
        assert plain.code(fields) == CODES[ours[0]], (fields, ours)
        if cedar is not None:
            theirs = cedar.decide(cedar.request(fields))
            theirs = (theirs[0], tuple(sorted(theirs[1])), theirs[2])
            assert theirs == (ours[0], tuple(sorted(ours[1])), ours[2]), (fields, ours, theirs)
        compared += 1
    return compared
