"""Proposers: where patches come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vepa.errors import SettingError, Where
from vepa.evolution.proposers.base import Counted, Malformed, Proposal, Proposer, Request

if TYPE_CHECKING:  # pragma: no cover
    from collections.abc import Callable

    from vepa.evolution.proposers.llm.asking import ModelProposer
    from vepa.evolution.proposers.llm.opening import Desk
    from vepa.evolution.proposers.llm.settings import LLMSettings

__all__ = [
    "PROPOSERS", "Counted", "Malformed", "Proposal", "Proposer", "Request", "check_proposer",
    "proposer",
]  # fmt: skip


def _induction(llm: LLMSettings | None, desk: Desk | None) -> Proposer:
    from vepa.evolution.proposers.induction import Induction

    del llm, desk  # it asks nobody
    return Induction()


def _model(llm: LLMSettings | None, desk: Desk | None) -> ModelProposer:
    from vepa.evolution.proposers.llm.opening import open_model_proposer

    if llm is None:
        raise SettingError(
            "no language model is named for the proposer",
            where=Where(field="llm.model"),
            remedy="name one, such as openai/… or anthropic/… (docs/proposers.md)",
        )
    return open_model_proposer(llm, desk)


def _mixed(llm: LLMSettings | None, desk: Desk | None) -> Proposer:
    from vepa.evolution.proposers.mixed import Mixed

    return Mixed(_model(llm, desk))


#: Name -> how to make the proposer, of a model and where its answers are kept.
PROPOSERS: dict[str, Callable[[LLMSettings | None, Desk | None], Proposer]] = {
    "induction": _induction,
    "llm": _model,
    "induction+llm": _mixed,
}


def check_proposer(name: str) -> None:
    """Make sure that there is a proposer of this name; none is made.

    Raises
    ------
    SettingError
        When there is none.
    """
    if name not in PROPOSERS:
        raise SettingError(
            f"{name!r} is no proposer",
            where=Where(field="proposer"),
            remedy=f"one of: {', '.join(PROPOSERS)}",
        )


def proposer(name: str, llm: LLMSettings | None = None, desk: Desk | None = None) -> Proposer:
    """The proposer of a name.

    Parameters
    ----------
    name
        One of `PROPOSERS`.
    llm
        The model, where one is asked.
    desk
        Where the model's answers and what they took are kept; nowhere when left out.

    Raises
    ------
    SettingError
        When there is none of this name, or no model for one that asks it.
    MissingExtraError
        When a package for the model is not installed.
    """
    check_proposer(name)
    return PROPOSERS[name](llm, desk)
