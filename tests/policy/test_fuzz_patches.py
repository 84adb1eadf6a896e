"""Any sequence of accepted patches and any removal of rules keeps a policy well-formed and free
of conflicts: a long random walk, judged by an interpreter that shares nothing with the verifier."""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from making import Maker
from naive import all_events, decide, disjoint, domains, fault

from vepa.policy import Edit, Patch, Policy, Rule, Schema, bundled_schema, check_patch, verify

SMALL = Schema(1, {"f0": list("abc"), "f1": list("abcd"), "f2": list("ab")})
MOST = 24


class Walk:
    """A random walk over policies; `counts` says what happened."""

    def __init__(self, schema: Schema, seed: int):
        self.maker = Maker(schema, seed)
        self.random = self.maker.random
        self.schema = schema
        self.spelled = domains(schema)
        self.small = len(schema) <= 3
        self.policy = Policy(schema)
        self.counts: Counter[str] = Counter()
        # Most allow and refuse rules are kept apart on one field, so that patches are accepted
        # often enough; one in four is not, so that they are rejected often enough.
        self.pivot = self.random.randrange(len(schema))
        half = self.maker.mask(schema.full[self.pivot])
        self.side = {"allow": half, "refuse": schema.full[self.pivot] & ~half}

    def masks(self, decision: str) -> list[int]:
        masks = self.maker.masks(self.random.randint(1, min(4, len(self.schema))))
        if self.random.random() < 0.75:
            own = self.side[decision]
            masks[self.pivot] = masks[self.pivot] & own or own
        return masks

    def rule(self, decision: Any, masks: list[int]) -> Rule:
        return Rule.from_masks(self.schema, self.maker.name(), decision, masks)

    def edit(self, rules: list[Rule]) -> Edit:
        operations = ["add", "delete", "rewrite", "split", "merge"]
        weights = [4, 1, 3, 2, 2] if len(rules) < MOST else [1, 4, 2, 1, 4]
        operation: Any = self.random.choices(operations, weights)[0]
        if operation == "add" or not rules:
            decision = self.random.choice(["allow", "refuse"])
            return Edit("add", (), (self.rule(decision, self.masks(decision)),))
        target = self.random.choice(rules)
        if operation == "delete":
            return Edit("delete", (target.id,))
        if operation == "rewrite":
            masks = list(target.masks)
            at = self.random.randrange(len(masks))
            masks[at] = self.random.choice([self.maker.mask(self.schema.full[at]), masks[at]])
            new = self.rule(target.decision, masks)
            return Edit("rewrite", (target.id,), (replace(new, id=target.id),))
        if operation == "split":
            at = self.random.randrange(len(self.schema))
            part = self.maker.mask(self.schema.full[at])
            halves = []
            for side in (part, self.schema.full[at] & ~part):
                masks = list(target.masks)
                masks[at] &= side
                halves.append(self.rule(target.decision, masks))
            return Edit("split", (target.id,), tuple(halves))
        same = [rule for rule in rules if rule.decision == target.decision]
        chosen = self.random.sample(same, min(len(same), self.random.randint(2, 3)))
        hull = [0] * len(self.schema)
        for rule in chosen:
            hull = [a | b for a, b in zip(hull, rule.masks, strict=True)]
        return Edit("merge", tuple(rule.id for rule in chosen), (self.rule(target.decision, hull),))

    def patch(self) -> Patch:
        edits = [self.edit(list(self.policy.rules))]
        if self.random.random() < 0.2:
            gone = set(edits[0].targets)
            rest = [rule for rule in self.policy.rules if rule.id not in gone]
            edits.append(self.edit([*rest, *edits[0].rules]))
        if self.random.random() < 0.01:  # nonsense must not pass
            edits.append(Edit("delete", ("no such rule",)))
        return Patch(tuple(edits))

    def step(self) -> None:
        """One accepted change; what is rejected on the way is looked at, too."""
        while True:
            if self.random.random() < 0.05 and self.policy.rules:
                kept = [rule for rule in self.policy.rules if self.random.random() < 0.8]
                found = verify(self.policy.with_rules(kept))
                assert found.ok, f"removal broke the policy: {found.feedback}"
                self.counts["removal"] += 1
                incoming: list[Rule] = []
            else:
                patch = self.patch()
                found = check_patch(self.policy, patch)
                if not found.ok:
                    self.counts["rejected"] += 1
                    if self.counts["rejected"] % 50 == 0:
                        self.rightly_rejected(patch)
                    continue
                self.counts.update(patch.operations)
                self.counts["patches"] += 1
                incoming = [rule for edit in patch.edits for rule in edit.rules]
            assert found.policy is not None
            before, self.policy = self.policy, found.policy
            self.counts["accepted"] += 1
            self.check_step(before, incoming)
            return

    def check_step(self, before: Policy, incoming: list[Rule]) -> None:
        """The new rules against all others, by words; now and then everything."""
        there = {rule.id for rule in self.policy.rules}
        rivals = {rule.id: rule.to_dict() for rule in self.policy.rules} if incoming else {}
        for rule in incoming:
            if rule.id in there:
                own = rivals[rule.id]
                for other in rivals.values():
                    assert other["decision"] == own["decision"] or disjoint(
                        own, other, self.spelled
                    ), f"{own} and {other} overlap"
        if self.counts["accepted"] % 100 == 0:
            data = self.policy.to_dict()
            assert fault(data, self.spelled) is None
            events = (
                all_events(self.schema) if self.small else (self.maker.event() for _ in range(20))
            )
            for event in events:
                decide(data, event, all_rules=True)  # asserts that there is one decision at most

    def rightly_rejected(self, patch: Patch) -> None:
        ids = [rule.id for rule in self.policy.rules]
        rules = {rule.id: rule for rule in self.policy.rules}
        for edit in patch.edits:
            if any(target not in rules for target in edit.targets):
                self.counts["rejected: no such rule"] += 1
                return
            if len(edit.targets) != len(set(edit.targets)) or (
                edit.operation == "merge" and len(edit.targets) < 2
            ):
                self.counts["rejected: arity"] += 1
                return
            for target in edit.targets:
                del rules[target]
            for rule in edit.rules:
                if rule.id in rules:
                    self.counts["rejected: duplicate id"] += 1
                    return
                rules[rule.id] = rule
        candidate = self.policy.with_rules(rules.values()).to_dict()
        wrong = fault(candidate, self.spelled)
        assert wrong is not None, f"rejected without reason: {patch} on {ids}"
        self.counts[f"rejected: {wrong}"] += 1


def run(steps: int, seed: int) -> Counter[str]:
    """Half of the steps on every event of a small schema, half on the real one."""
    counts: Counter[str] = Counter()
    for part, schema in enumerate((SMALL, bundled_schema())):
        done = 0
        while done < steps // 2:
            walk = Walk(schema, seed * 1_000_003 + part * 1_000 + done)
            for _ in range(min(5_000, steps // 2 - done)):
                walk.step()
                done += 1
            counts += walk.counts
    return counts


def check(steps: int) -> None:
    seed = int(os.environ.get("VEPA_FUZZ_SEED") or secrets.randbelow(10**6))
    sys.stdout.write(f"VEPA_FUZZ_SEED={seed}\n")
    started = time.perf_counter()
    counts = run(steps, seed)
    sys.stdout.write(f"{time.perf_counter() - started:.0f} s: {dict(sorted(counts.items()))}\n")
    assert counts["accepted"] == steps
    for operation in ("add", "delete", "rewrite", "split", "merge", "removal", "rejected"):
        assert counts[operation] > steps // 100, f"{operation} hardly occurred"


@pytest.mark.property
def test_ten_thousand_accepted_patches_and_removals_keep_both_invariants() -> None:
    check(10_000)


@pytest.mark.slow
def test_a_million_accepted_patches_and_removals_keep_both_invariants() -> None:
    check(1_000_000)
