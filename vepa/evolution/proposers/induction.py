"""Symbolic induction: patches by search over the archive, without a model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence

from vepa.evolution.proposers.base import Proposal, Request
from vepa.evolution.proposers.plan import Move, moves
from vepa.evolution.proposers.workbench import Piece, Workbench
from vepa.policy.matching import ALLOW, REFUSE
from vepa.policy.patches import Edit, Patch
from vepa.policy.rule import Provenance, Rule

__all__ = ["Induction", "Plan", "indistinct"]


class Induction:
    """Proposes what leads from the parent to the rules that a search finds most useful.

    The search covers the archive anew, rule by rule, and stops where no rule adds as much as the
    gate asks of one. The difference to the parent, in the five operations, is the plan. Offering
    more (extending the parent's rules, other costs of error) fits the archive better and the next
    round worse: see docs/decisions.
    """

    name = "induction"

    def propose(self, request: Request) -> Proposal:
        """The whole plan first, then each of its steps alone."""
        return self.seeded(request, ())

    def seeded(self, request: Request, seeds: Sequence[Piece]) -> Proposal:
        """The same by a search that somebody else's ideas are laid before."""
        bench = Workbench(request.archive, request.authority, seeds)
        # Where evidence begins anew with a rule, one that stays is worth more than a better one.
        stays = not request.authority.retrospective
        known = [rule.key for rule in request.parent.rules] if stays else []
        plan = Plan(bench, request.parent.rules, bench.grown(known), request.round)
        patches = [plan.patch(), *plan.steps()] if plan.moves else []
        return Proposal(tuple(patches), indistinct(request))


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
        self.rules = [rule for rule in rules if rule.key not in wanted]
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
