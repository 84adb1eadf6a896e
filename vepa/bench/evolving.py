"""What makes the next policy at the end of a round."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from vepa.evolution.archive import Archive
from vepa.policy.authority import Authority
from vepa.policy.policy import Policy

if TYPE_CHECKING:
    from vepa.evolution import EvolutionSettings
    from vepa.evolution.proposers.llm.opening import Desk

__all__ = ["Evolve", "default_evolve"]


class Evolve(Protocol):
    """What makes the next policy: `vepa.evolution.update`, or a stand-in for it."""

    def __call__(
        self,
        parent: Policy,
        archive: Archive,
        *,
        round: int,
        authority: Authority,
        settings: EvolutionSettings,
        seed: int,
    ) -> Any:
        """An object with the new `policy` and with `to_dict()`, the record of the update."""
        ...


def default_evolve(settings: EvolutionSettings, desk: Desk | None = None) -> Evolve:
    """`vepa.evolution.update`; a model's budget spans all that one such function is asked."""
    from vepa.evolution import proposer, update

    if not settings.asks_a_model:
        chosen: Evolve = update
        return chosen
    return partial(update, source=proposer(settings.proposer, settings.llm, desk))
