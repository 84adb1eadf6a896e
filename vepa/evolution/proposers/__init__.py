"""Proposers: where patches come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vepa.errors import SettingError, Where
from vepa.evolution.proposers.base import Proposal, Proposer, Request

if TYPE_CHECKING:  # pragma: no cover
    from collections.abc import Callable

__all__ = ["PROPOSERS", "Proposal", "Proposer", "Request", "proposer"]


def _induction() -> Proposer:
    from vepa.evolution.proposers.induction import Induction

    return Induction()


#: Name -> how to make the proposer.
PROPOSERS: dict[str, Callable[[], Proposer]] = {"induction": _induction}


def proposer(name: str) -> Proposer:
    """The proposer of a name.

    Raises
    ------
    SettingError
        When there is none of this name.
    """
    make = PROPOSERS.get(name)
    if make is None:
        raise SettingError(
            f"{name!r} is no proposer",
            where=Where(field="proposer"),
            remedy=f"one of: {', '.join(PROPOSERS)}",
        )
    return make()
