"""Rules worth having: the measures and the covering search of the symbolic proposer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vepa.evolution.archive import Archive
from vepa.evolution.ground import Aim, Found, Masks, constrained, overlaps
from vepa.evolution.weights import DECISIONS, weigh
from vepa.policy.authority import Authority
from vepa.policy.rule import Evidence, RuleDecision
from vepa.policy.schema import Schema

__all__ = ["PLAIN", "Piece", "Taste", "Workbench"]

#: A rule in the making: what it decides, and where.
Piece = tuple[RuleDecision, Masks]

#: What one more rule must be worth.
RULE_COST = 1.0
MOST_RULES = 24
MOST_SUPPORT = 1000


@dataclass(frozen=True, slots=True)
class Taste:
    """What a search thinks a rule is worth.

    Attributes
    ----------
    cost
        Right examples that one wrong example outweighs (lambda), by the decision of the rule.
    least
        Utility that a new rule must add where no rule decides yet; None: the support that the gate
        asks of a spotless rule.
    widening
        Utility that widening a rule by a value or a field must add.
    first
        Decision of the first rule; whichever adds most when None. What one decision takes first
        may leave the other too little evidence for any rule.
    """

    cost: Mapping[RuleDecision, float]
    least: float | None = None
    widening: float = 0.0
    first: RuleDecision | None = None


#: Labels as feedback gave them: a harm that is allowed costs twice as much as a harmless act that
#: is refused, and a rule earns its place by as much as its authority will take.
PLAIN = Taste({"allow": 8.0, "refuse": 4.0}, widening=0.3)


class Workbench:
    """One archive, and what rules are worth on it.

    Parameters
    ----------
    archive
        The examples.
    authority
        The gate that rules will have to pass.
    seeds
        Rules that somebody thinks worth having; the search looks at them, and starts from them too.
    fixed
        Rules that stay whatever is found, and that nothing may clash with.

    Attributes
    ----------
    least
        Utility that a new rule must add where no rule decides yet: the support that the gate asks
        of a spotless rule, by decision.
    """

    def __init__(
        self,
        archive: Archive,
        authority: Authority,
        seeds: Sequence[Piece] = (),
        taste: Taste = PLAIN,
        fixed: Sequence[Piece] = (),
    ):
        self.authority, self.taste = authority, taste
        self.schema: Schema = archive.table.schema
        weighed = weigh(archive.table, archive.context, authority.corrects)
        self.ground = weighed.ground
        self.whole = {
            "allow": Aim(weighed.allow, weighed.refuse, taste.cost["allow"]),
            "refuse": Aim(weighed.refuse, weighed.allow, taste.cost["refuse"]),
        }
        self.asked = {decision: _support_needed(authority, decision) for decision in DECISIONS}
        self.least = {
            decision: self.asked[decision] if taste.least is None else taste.least
            for decision in DECISIONS
        }
        self.seeds = tuple(dict.fromkeys(seeds))
        self.fixed = tuple(fixed)
        self._standing = archive.standing(authority)

    def evidence(self, piece: Piece) -> Evidence:
        """Labelled examples for and against, whenever they came."""
        return self._standing.of(*piece)

    def gated(self, piece: Piece) -> bool:
        """Whether the evidence would do for authority."""
        return self.authority.active(piece[0], self.evidence(piece))

    def aim(self, decision: RuleDecision, beside: Sequence[Piece]) -> Aim:
        """The examples that none of the pieces `beside` decides."""
        free = np.ones(self.ground.size, dtype=np.bool_)
        for _, masks in beside:
            free &= ~self.ground.members(masks)
        return self.whole[decision].within(free)

    def value(self, piece: Piece, beside: Sequence[Piece]) -> float:
        """What a piece adds to those beside it; nothing when it could have no authority."""
        if not self.gated(piece):
            return 0.0
        return self.ground.utility(piece[1], self.aim(piece[0], beside)) - RULE_COST

    def grown(self, known: Sequence[Piece] = ()) -> list[Piece]:
        """Rules that cover the archive, one by one whatever adds most.

        A rule that is `known` already is taken unless the best new one is worth more by the support
        that it would have to gather first.
        """
        grown: list[Piece] = []
        while len(grown) < MOST_RULES:
            offers = self.additions(grown)
            if not grown and self.taste.first:
                offers = (item for item in offers if item[1][0] == self.taste.first)
            best = max(offers, default=None)
            if best is None:
                break
            stays = max(self._staying(known, grown), default=None)
            piece = best[1]
            if stays and stays[0] >= best[0] - self.asked[piece[0]]:
                piece = stays[1]
            grown.append(piece)
        return _without_shadowed(grown)

    def _staying(
        self, known: Sequence[Piece], grown: Sequence[Piece]
    ) -> Iterator[tuple[float, Piece]]:
        """The known rules that fit beside the grown ones and add something, with what they add."""
        for decision, masks in known:
            beside = (*grown, *self.fixed)
            if any(other != decision and overlaps(masks, rival) for other, rival in beside):
                continue
            value = self.value((decision, masks), grown)
            if value > 0.0:
                yield value, (decision, masks)

    def additions(self, beside: Sequence[Piece]) -> Iterator[tuple[float, Piece]]:
        """The best new rule of each decision, with what it adds."""
        for decision in DECISIONS:
            aim = self.aim(decision, beside)
            rivals = [masks for other, masks in (*beside, *self.fixed) if other != decision]
            best: tuple[float, Masks] | None = None
            for found in self._candidates(decision, aim):
                if found.utility < self.least[decision] or (best and found.utility < best[0]):
                    break
                cut = self.ground.repaired(found.masks, rivals, aim)
                if cut in (None, self.schema.full) or not self.gated((decision, cut)):
                    continue
                gain = self.ground.utility(cut, aim)
                if gain >= self.least[decision] and (best is None or gain > best[0]):
                    best = (gain, cut)
            if best:
                piece = (decision, self.widened((decision, best[1]), rivals))
                yield self.value(piece, beside), piece

    def _candidates(self, decision: RuleDecision, aim: Aim) -> list[Found]:
        """What the search finds from nothing and from the seeds, best first."""
        found = self.ground.beam(aim) or [self._all_of_it(aim)]
        seeds = [masks for wanted, masks in self.seeds if wanted == decision]
        for masks in seeds:
            found.append(Found(masks, self.ground.utility(masks, aim)))
            found += self.ground.beam(aim, masks, depth=2)
        return sorted(found, key=lambda item: (-item.utility, item.masks)) if seeds else found

    def _all_of_it(self, aim: Aim) -> Found:
        """What is left when no refinement sheds anything: all of it, to be cut free of rivals."""
        return Found(self.schema.full, self.ground.utility(self.schema.full, aim))

    def widened(self, piece: Piece, rivals: Sequence[Masks]) -> Masks:
        """Drop predicates and admit values while utility rises and no conflict arises.

        Examples of other rules count too: a wider rule must be right there as well.
        """
        decision, masks = piece
        aim = self.whole[decision]
        best = self.ground.utility(masks, aim)
        improved = True
        while improved:
            improved = False
            for candidate in self._wider(masks):
                if any(overlaps(candidate, rival) for rival in rivals):
                    continue
                found = self.ground.utility(candidate, aim)
                if found > best + self.taste.widening and self.gated((decision, candidate)):
                    masks, best, improved = candidate, found, True
                    break
        return masks

    def _wider(self, masks: Masks) -> Iterator[Masks]:
        fields = constrained(self.schema, masks)
        if len(fields) > 1:
            for at in fields:
                yield (*masks[:at], self.schema.full[at], *masks[at + 1 :])
        for at in fields:
            for code in range(len(self.schema.fields[at].values)):
                wider = masks[at] | 1 << code
                if wider != masks[at] and (len(fields) > 1 or wider != self.schema.full[at]):
                    yield (*masks[:at], wider, *masks[at + 1 :])


def _without_shadowed(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces that are not part of a later, wider one of the same decision."""
    return [
        (decision, masks)
        for at, (decision, masks) in enumerate(pieces)
        if not any(
            decision == other and all(a & b == a for a, b in zip(masks, wider, strict=True))
            for other, wider in pieces[at + 1 :]
        )
    ]


def _support_needed(authority: Authority, decision: RuleDecision) -> float:
    """The support at which a rule without contradictions gets authority (bounded search)."""
    for support in range(MOST_SUPPORT):
        if authority.active(decision, Evidence(support, 0)):
            return float(support)
    return float(MOST_SUPPORT)
