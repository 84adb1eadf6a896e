"""What a proposer is asked, and what it answers."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from vepa.evolution.archive import Archive
from vepa.evolution.scoring import Score
from vepa.policy.authority import Authority
from vepa.policy.feedback import Feedback
from vepa.policy.patches import Patch
from vepa.policy.policy import Policy

__all__ = ["Counted", "Malformed", "Proposal", "Proposer", "Rejection", "Request"]


@dataclass(frozen=True, slots=True)
class Rejection:
    """An earlier patch on the same parent, and what the verifier said of it.

    `written` is set, and the patch empty, where there was no patch to be read in it.
    """

    patch: Patch
    feedback: tuple[Feedback, ...]
    written: str = ""


@dataclass(frozen=True, slots=True)
class Malformed:
    """What was offered as a patch and cannot be read as one.

    Attributes
    ----------
    written
        As it was written, shortened.
    feedback
        Why it is none; at least one finding.
    """

    written: str
    feedback: tuple[Feedback, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """What a proposer gets.

    Attributes
    ----------
    parent
        The policy to patch.
    archive
        The examples; a proposer that shows them to a model takes the packets.
    repair, keep
        Packets: rows of failures to repair and of correct examples to keep, subsampled.
    authority
        The gate that rules will have to pass.
    rejected
        Earlier patches of this parent that the verifier turned down.
    round
        Number of the round, from 1.
    limit
        Patches that may still be tried.
    rng
        Seeded; the only source of randomness.
    tried
        Earlier patches of this parent that were verified, and what they scored.
    turn
        How often the proposer has been asked in this update, this time included.
    """

    parent: Policy
    archive: Archive
    repair: tuple[int, ...]
    keep: tuple[int, ...]
    authority: Authority
    rejected: tuple[Rejection, ...]
    round: int
    limit: int
    rng: random.Random
    tried: tuple[tuple[Patch, Score], ...] = ()
    turn: int = 1


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a proposer answers.

    Attributes
    ----------
    patches
        Focused patches of the parent, best first; empty when it has none to offer.
    note
        Where the typed fields cannot tell repair from keep, the explanation; one a line.
    malformed
        What was offered and is no patch; each counts as one that was tried.
    asked
        Questions to a language model that the answer took.
    ended
        Whether a model would have been asked, but its budget is used up.
    """

    patches: tuple[Patch, ...]
    note: str = ""
    malformed: tuple[Malformed, ...] = ()
    asked: int = 0
    ended: bool = False


class Proposer(Protocol):
    """Anything that proposes patches."""

    name: str

    def propose(self, request: Request) -> Proposal:
        """Patches for the request's parent."""
        ...


@runtime_checkable
class Counted(Protocol):
    """A proposer that asks a model, and counts what that takes."""

    def figures(self) -> dict[str, Any]:
        """Questions and what they took; see `ModelProposer.figures`."""
        ...
