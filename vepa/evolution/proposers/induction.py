"""Symbolic induction: patches by search, without a model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from vepa.evolution.proposers.base import Proposal, Request
from vepa.evolution.archive import Archive
from vepa.evolution.proposers.committee import guess
from vepa.evolution.proposers.search import (
    PREDICATE_COST,
    Aim,
    Masks,
    Weights,
    beam,
    constrained,
    overlaps,
    repaired,
)
from vepa.policy.bitsets import ExampleIndex, pack
from vepa.policy.patches import Edit, Operation, Patch
from vepa.policy.rule import Evidence, Provenance, Rule, RuleDecision

__all__ = ["Induction"]

#: Costs of a wrong example that are tried; high ones give few, precise rules.
COSTS = (4.0, 10.0, 25.0)
RULE_COST = 1.0
LEAST_GAIN = 2.0
#: Weight of a seen event without feedback, and the steps that its guessed label is rounded to.
GUESS_WEIGHT = 0.5
GUESS_STEPS = 4
PATCHES_A_CALL = 4
DECISIONS: tuple[RuleDecision, RuleDecision] = ("allow", "refuse")


class Induction:
    """Proposes the patches that a search over the archive finds most useful."""

    name = "induction"

    def __init__(self, costs: Sequence[float] = COSTS):
        self.costs = tuple(costs)

    def propose(self, request: Request) -> Proposal:
        """Patches of all five operations, by the utility that each adds to the parent."""
        cost = request.rng.choice(self.costs)
        work = _Workbench(request, cost)
        ideas = sorted(work.ideas(), key=lambda idea: (-idea[0], idea[1].rationale))
        chosen: list[Patch] = []
        for gain, patch in ideas:
            if gain > 1e-9 and len(chosen) < PATCHES_A_CALL:
                chosen.append(patch)
        return Proposal(tuple(chosen))


class _Workbench:
    """One parent policy on one archive, seen with one cost of wrong examples."""

    def __init__(self, request: Request, cost: float):
        self.request = request
        self.cost = cost
        self.schema = request.parent.schema
        view = _view(request.archive)
        self.index, self.weights = view.index, view.weights
        self.labelled = {"allow": request.archive.allow, "refuse": request.archive.refuse}
        self.rules = request.parent.rules
        self.cover = {rule.id: self.index.covered(rule.masks) for rule in self.rules}
        self.covered_by = {
            decision: self._union(rule for rule in self.rules if rule.decision == decision)
            for decision in DECISIONS
        }
        self.worth = {rule.id: self._worth(rule.masks, rule.decision) for rule in self.rules}

    def _union(self, rules: Iterator[Rule]) -> int:
        union = 0
        for rule in rules:
            union |= self.cover[rule.id]
        return union

    # ---- measures -------------------------------------------------------------------------------

    def _evidence(self, covered: int, decision: RuleDecision) -> Evidence:
        support = (covered & self.labelled[decision]).bit_count()
        against = (covered & self.labelled[_opposite(decision)]).bit_count()
        return Evidence(support, against)

    def _gated(self, covered: int, decision: RuleDecision) -> bool:
        return self.request.authority.active(decision, self._evidence(covered, decision))

    def _aim(self, decision: RuleDecision, without: Sequence[str] = ()) -> Aim:
        """Examples that rules of a decision still have to reach, those of some rules included."""
        rest = 0
        for rule in self.rules:
            if rule.id not in without:
                rest |= self.cover[rule.id]
        return self._whole(decision).within(~rest)

    def _whole(self, decision: RuleDecision) -> Aim:
        """All examples, whoever decides them now."""
        return Aim(self.weights[decision], self.weights[_opposite(decision)], self.cost)

    def _worth(self, masks: Masks, decision: RuleDecision) -> float:
        covered = self.index.covered(masks)
        return self._whole(decision).utility(covered, len(constrained(self.index, masks))) - RULE_COST

    def _rivals(self, decision: RuleDecision, without: Sequence[str] = ()) -> list[Masks]:
        return [
            rule.masks
            for rule in self.rules
            if rule.decision != decision and rule.id not in without
        ]

    def _marginal(self, masks: Masks, decision: RuleDecision, without: Sequence[str] = ()) -> float:
        """What a conjunction adds to the rules other than those in `without`."""
        aim = self._aim(decision, without)
        return aim.utility(self.index.covered(masks), len(constrained(self.index, masks)))

    def _reworked(
        self, masks: Masks, decision: RuleDecision, without: Sequence[str] = ()
    ) -> Masks | None:
        """Free of conflicts, generalised, and good enough for authority; None otherwise."""
        cut = repaired(self.index, masks, self._rivals(decision, without), self._aim(decision, without))
        if cut is None or not self._gated(self.index.covered(cut), decision):
            return None
        return self._generalised(cut, decision, without)

    def _generalised(
        self, masks: Masks, decision: RuleDecision, without: Sequence[str] = ()
    ) -> Masks:
        """Drop predicates and admit values while utility holds and no conflict arises."""
        rivals = self._rivals(decision, without)
        # Examples of other rules count too: a wider rule must be right there as well.
        whole = self._whole(decision)

        def value(candidate: Masks) -> float:
            covered = self.index.covered(candidate)
            predicates = len(constrained(self.index, candidate))
            return whole.utility(covered, predicates)

        best = value(masks)
        improved = True
        while improved:
            improved = False
            for candidate in self._wider(masks):
                if not constrained(self.index, candidate):
                    continue
                if any(overlaps(candidate, rival) for rival in rivals):
                    continue
                found = value(candidate)
                if found > best + 1e-9 and self._gated(self.index.covered(candidate), decision):
                    masks, best, improved = candidate, found, True
                    break
        return masks

    def _wider(self, masks: Masks) -> Iterator[Masks]:
        for at in constrained(self.index, masks):
            full = self.schema.full[at]
            yield (*masks[:at], full, *masks[at + 1 :])
        for at in constrained(self.index, masks):
            for code in range(len(self.schema.fields[at].values)):
                if not masks[at] >> code & 1:
                    yield (*masks[:at], masks[at] | 1 << code, *masks[at + 1 :])

    # ---- ideas ----------------------------------------------------------------------------------

    def ideas(self) -> Iterator[tuple[float, Patch]]:
        """Patches with the utility that each adds."""
        yield from self._adds()
        yield from self._rewrites()
        yield from self._splits()
        yield from self._merges()
        yield from self._deletes()

    def _adds(self) -> Iterator[tuple[float, Patch]]:
        for decision in DECISIONS:
            aim = self._aim(decision)
            if aim.wanted.of(self.index.all) < LEAST_GAIN:
                continue
            best: tuple[float, Masks] | None = None
            for found in beam(self.index, aim):
                if found.utility < LEAST_GAIN or (best and found.utility < best[0]):
                    break
                cut = repaired(self.index, found.masks, self._rivals(decision), aim)
                if cut is None or not self._gated(self.index.covered(cut), decision):
                    continue
                gain = self._marginal(cut, decision)
                if gain >= LEAST_GAIN and (best is None or gain > best[0]):
                    best = (gain, cut)
            if best:
                masks = self._generalised(best[1], decision)
                gain = self._marginal(masks, decision) - RULE_COST
                yield gain, self._patch("add", (), [(decision, masks)])

    def _rewrites(self) -> Iterator[tuple[float, Patch]]:
        for rule in self.rules:
            without = (rule.id,)
            aim = self._aim(rule.decision, without)
            now = self._value(rule.masks, rule.decision, without)
            options = [rule.masks, *(found.masks for found in beam(self.index, aim, rule.masks, depth=2)[:3])]
            for masks in options:
                reworked = self._reworked(masks, rule.decision, without)
                if reworked is None or reworked == rule.masks:
                    continue
                gain = self._value(reworked, rule.decision, without) - now
                yield gain, self._patch("rewrite", (rule,), [(rule.decision, reworked)])

    def _value(self, masks: Masks, decision: RuleDecision, without: Sequence[str]) -> float:
        """Marginal utility of a conjunction, nothing but its costs when it has no authority."""
        if not self._gated(self.index.covered(masks), decision):
            return -PREDICATE_COST * len(constrained(self.index, masks))
        return self._marginal(masks, decision, without)

    def _splits(self) -> Iterator[tuple[float, Patch]]:
        for rule in self.rules:
            without = (rule.id,)
            wrong = self.cover[rule.id] & self.labelled[_opposite(rule.decision)]
            if not wrong:
                continue
            now = self._value(rule.masks, rule.decision, without)
            aim = self._aim(rule.decision, without)
            for found in beam(self.index, aim, rule.masks, depth=2)[:3]:
                first = self._reworked(found.masks, rule.decision, without)
                if first is None:
                    continue
                covered = self.index.covered(first)
                rest = aim.within(~covered)
                for second in beam(self.index, rest, rule.masks, depth=2)[:3]:
                    other = repaired(
                        self.index, second.masks, self._rivals(rule.decision, without), rest
                    )
                    if other is None or not self._gated(self.index.covered(other), rule.decision):
                        continue
                    gain = (
                        self._value(first, rule.decision, without)
                        + rest.utility(self.index.covered(other), len(constrained(self.index, other)))
                        - RULE_COST
                        - now
                    )
                    yield gain, self._patch(
                        "split", (rule,), [(rule.decision, first), (rule.decision, other)]
                    )
                    break

    def _merges(self) -> Iterator[tuple[float, Patch]]:
        for i, one in enumerate(self.rules):
            for two in self.rules[i + 1 :]:
                if one.decision != two.decision:
                    continue
                without = (one.id, two.id)
                hull = tuple(a | b for a, b in zip(one.masks, two.masks, strict=True))
                if not constrained(self.index, hull):
                    continue
                masks = self._reworked(hull, one.decision, without)
                if masks is None:
                    continue
                both = self.cover[one.id] | self.cover[two.id]
                aim = self._aim(one.decision, without)
                now = aim.utility(both, len(one.when) + len(two.when)) - RULE_COST
                gain = self._value(masks, one.decision, without) - now
                yield gain, self._patch("merge", (one, two), [(one.decision, masks)])

    def _deletes(self) -> Iterator[tuple[float, Patch]]:
        for rule in self.rules:
            gain = RULE_COST - self._value(rule.masks, rule.decision, (rule.id,))
            yield gain, self._patch("delete", (rule,), [])

    def _patch(
        self,
        operation: Operation,
        targets: Sequence[Rule],
        made: Sequence[tuple[RuleDecision, Masks]],
    ) -> Patch:
        parents = tuple(rule.id for rule in targets)
        rules = tuple(
            Rule.from_masks(
                self.schema,
                self._id(masks, decision),
                decision,
                masks,
                rationale=self._rationale(operation, masks, decision),
                provenance=Provenance(self.request.round, operation, parents),
                status="inactive",
            )
            for decision, masks in made
        )
        names = ", ".join(parents)
        return Patch((Edit(operation, parents, rules),), f"{operation} {names}".strip())

    def _id(self, masks: Masks, decision: RuleDecision) -> str:
        text = json.dumps([decision, list(masks)])
        return f"r{self.request.round}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"

    def _rationale(self, operation: str, masks: Masks, decision: RuleDecision) -> str:
        found = self._evidence(self.index.covered(masks), decision)
        return f"{operation} in round {self.request.round}: {found.support} for, {found.contradictions} against"


@dataclass(frozen=True)
class _View:
    """Labelled examples and seen context under one index, weighted for each decision."""

    index: ExampleIndex
    weights: dict[RuleDecision, Weights]


@lru_cache(maxsize=4)
def _view_of(archive: Archive, _size: int) -> _View:
    table, context = archive.table, archive.context
    index = ExampleIndex(table.schema, np.concatenate([table.codes, context.codes]))
    doubt = guess(table.codes, table.labels, context.codes)
    steps = np.rint(doubt * GUESS_STEPS).astype(np.int64)
    # A guess of one half says nothing either way.
    steps_allow = GUESS_STEPS - steps
    weights: dict[RuleDecision, Weights] = {
        "allow": _planes(archive.allow, steps_allow, len(table)),
        "refuse": _planes(archive.refuse, steps, len(table)),
    }
    return _View(index, weights)


def _view(archive: Archive) -> _View:
    return _view_of(archive, len(archive))


def _planes(labelled: int, steps: npt.NDArray[np.int64], offset: int) -> Weights:
    planes = [(1.0, labelled)]
    for power in range(GUESS_STEPS.bit_length()):
        members = pack((steps >> power & 1).astype(np.bool_)) << offset
        if members:
            planes.append((GUESS_WEIGHT * 2.0**power / GUESS_STEPS, members))
    return Weights(tuple(planes))


def _opposite(decision: RuleDecision) -> RuleDecision:
    return "refuse" if decision == "allow" else "allow"
