"""Symbolic search and a model together: the model's ideas are seeds of the search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from vepa.evolution.proposers.base import Proposal, Request
from vepa.evolution.proposers.induction import Induction
from vepa.evolution.proposers.llm.asking import ModelProposer
from vepa.evolution.proposers.workbench import Piece
from vepa.policy.patches import Patch
from vepa.policy.rule import Rule

__all__ = ["Mixed", "ideas"]


class Mixed:
    """Offers what the search finds alone, what it finds from a model's ideas, and the ideas.

    Parameters
    ----------
    model
        The proposer that asks a model.
    """

    name = "induction+llm"

    def __init__(self, model: ModelProposer):
        self.model, self._search = model, Induction()

    def figures(self) -> dict[str, Any]:
        """What the model was asked; see `ModelProposer.figures`."""
        return self.model.figures()

    def propose(self, request: Request) -> Proposal:
        """The whole plans first, then the model's own patches, then the plans' steps."""
        theirs = self.model.propose(request)
        alone = self._search.propose(request)
        seeds = ideas(request, theirs.patches)
        seeded = self._search.seeded(request, seeds).patches if seeds else ()
        patches = [*alone.patches[:1], *seeded[:1], *theirs.patches]
        patches += [*alone.patches[1:], *seeded[1:]]
        note = "\n".join(note for note in (alone.note, theirs.note) if note)
        return replace(theirs, patches=tuple(patches), note=note)


def ideas(request: Request, patches: Sequence[Patch]) -> list[Piece]:
    """The rules of a model's patches, those of earlier ones on the same parent included.

    A patch that the verifier turned down may hold a good rule: the search cuts it free.
    """
    earlier = [rejection.patch for rejection in request.rejected]
    earlier += [patch for patch, _ in request.tried]
    full = request.parent.schema.full
    found = (rule.key for rule in _rules([*patches, *earlier]))
    usable = (piece for piece in found if all(piece[1]) and piece[1] != full)
    return list(dict.fromkeys(usable))


def _rules(patches: Iterable[Patch]) -> Iterator[Rule]:
    for patch in patches:
        for edit in patch.edits:
            yield from edit.rules
