"""Symbolic induction: patches by search over the archive, without a model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Iterator, Sequence

from vepa.corpus.events import EventTable
from vepa.evolution.archive import Archive
from vepa.evolution.proposers.base import Proposal, Request
from vepa.evolution.proposers.plan import Move, moves
from vepa.evolution.proposers.workbench import PLAIN, Piece, Taste, Workbench
from vepa.evolution.scoring import error_cost
from vepa.evolution.weights import DECISIONS
from vepa.policy.authority import Authority
from vepa.policy.by_hand import is_kept
from vepa.policy.matching import ALLOW, REFUSE
from vepa.policy.patches import Edit, Patch
from vepa.policy.rule import Provenance, Rule

__all__ = ["Induction", "Plan", "indistinct", "tastes"]

#: Right examples that one wrong one outweighs, times `error_cost`: one plan each.
ERROR_COSTS = (4.0, 10.0, 25.0)
#: Utility that a rule must add where labels are believed.
LEAST_UTILITY = 2.0


class Induction:
    """Proposes what leads from the parent to the rules that a search finds most useful.

    The search covers the archive anew, rule by rule, and stops where no rule adds as much as the
    gate asks of one. The difference to the parent, in the five operations, is the plan. Offering
    more (extending the parent's rules, other costs of error) fits the archive better and the next
    round worse: see docs/decisions.
    """

    name = "induction"

    def __init__(self) -> None:
        self._seen: tuple[EventTable, EventTable, Authority] | None = None
        self._targets: dict[Hashable, tuple[Workbench, list[Piece]]] = {}

    def propose(self, request: Request) -> Proposal:
        """A whole plan for each taste; where there is one taste, its steps alone as well."""
        return self.seeded(request, ())

    def seeded(self, request: Request, seeds: Sequence[Piece]) -> Proposal:
        """The same by a search that somebody else's ideas are laid before."""
        archive = request.archive
        # Where evidence begins anew with a rule, one that stays is worth more than a better one.
        stays = not request.authority.retrospective
        known = [rule.key for rule in request.parent.rules] if stays else []
        fixed = [rule.key for rule in request.parent.rules if is_kept(rule)]
        plans = []
        for taste in tastes(request.authority, len(archive)):
            bench, target = self._target(archive, request.authority, seeds, taste, known, fixed)
            plans.append(Plan(bench, request.parent.rules, target, request.round))
        wanted = [plan for plan in plans if plan.moves]
        patches = [plan.patch() for plan in wanted]
        if len(plans) == 1:  # where there are several, their steps only fit the archive better
            for plan in wanted:
                patches += plan.steps()
        return Proposal(tuple(patches), indistinct(request))

    def _target(
        self,
        archive: Archive,
        authority: Authority,
        seeds: Sequence[Piece],
        taste: Taste,
        known: Sequence[Piece],
        fixed: Sequence[Piece],
    ) -> tuple[Workbench, list[Piece]]:
        """The rules one would rather have; the same for every parent that an update tries."""
        key = (taste.cost["allow"], taste.first, tuple(seeds), tuple(known), tuple(fixed))
        if self._seen != (archive.table, archive.context, authority):
            self._seen, self._targets = (archive.table, archive.context, authority), {}
        if key not in self._targets:
            bench = Workbench(archive, authority, seeds, taste, fixed)
            self._targets[key] = bench, bench.grown(known)
        return self._targets[key]


def tastes(authority: Authority, examples: int) -> list[Taste]:
    """The tastes that plans are made by.

    Where labels are believed rather than taken there are several, from bold to careful: what a rule
    is worth depends on how dear an error is, and the front chooses among the plans. A rule need not
    earn its place by many examples there, since it is judged by seen and imagined ones as well.
    """
    if not authority.corrects:
        return [PLAIN]
    factor = error_cost(examples)
    return [
        Taste({"allow": cost * factor, "refuse": cost * factor}, LEAST_UTILITY, first=first)
        for cost in ERROR_COSTS
        for first in DECISIONS
    ]


def indistinct(request: Request) -> str:
    """What to say where the typed fields cannot tell repair from keep; empty where they can.

    Two examples that agree in every field and carry different labels cannot both be decided
    rightly, by these rules or by any others.
    """
    table = request.archive.table
    kept = {(table.codes[row].tobytes(), int(table.labels[row])) for row in request.keep}
    clashing = [
        row
        for row in request.repair
        if any(
            (table.codes[row].tobytes(), label) in kept
            for label in (ALLOW, REFUSE)
            if label != table.labels[row]
        )
    ]
    if not clashing:
        return ""
    names = ", ".join(table.ids[row] for row in clashing[:3])
    more = f" and {len(clashing) - 3} more" if len(clashing) > 3 else ""
    return (
        f"the fields cannot tell apart: {names}{more} agree in every field with examples of the "
        "other label that are decided rightly"
    )


class Plan:
    """The edits from a parent's rules to a target."""

    def __init__(
        self, bench: Workbench, rules: Sequence[Rule], target: Sequence[Piece], round: int
    ):
        self.bench, self.round = bench, round
        wanted = set(target)
        present = {rule.key for rule in rules}
        self.rules = [rule for rule in rules if rule.key not in wanted and not is_kept(rule)]
        self.pieces = [piece for piece in target if piece not in present]
        covered = bench.ground.index.covered
        self.moves = moves(
            [(rule.decision, covered(rule.masks)) for rule in self.rules],
            [(decision, covered(masks)) for decision, masks in self.pieces],
        )

    def patch(self) -> Patch:
        """All edits together."""
        return Patch(tuple(self._edit(move) for move in self.moves), "the whole plan")

    def steps(self) -> Iterator[Patch]:
        """Each edit on its own."""
        if len(self.moves) > 1:
            for move in self.moves:
                yield Patch((self._edit(move),), f"{move.operation} alone")

    def _edit(self, move: Move) -> Edit:
        parents = tuple(self.rules[at].id for at in move.old)
        return Edit(
            move.operation, parents, tuple(self._rule(move, at, parents) for at in move.new)
        )

    def _rule(self, move: Move, at: int, parents: tuple[str, ...]) -> Rule:
        decision, masks = self.pieces[at]
        found = self.bench.evidence(self.pieces[at])
        text = json.dumps([decision, list(masks)])
        return Rule.from_masks(
            self.bench.schema,
            f"r{self.round}-{hashlib.sha256(text.encode()).hexdigest()[:6]}",
            decision,
            masks,
            rationale=f"{move.operation} in round {self.round}: "
            f"{found.support} for, {found.contradictions} against",
            provenance=Provenance(self.round, move.operation, parents),
            status="inactive",
        )
