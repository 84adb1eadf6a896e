"""Settings of an update; every choice that the source leaves open is one of them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["EvolutionSettings"]


class EvolutionSettings(BaseModel):
    """How the policy is updated at the end of a round.

    Attributes
    ----------
    patches
        Patches tried in one update, at most (K).
    preservation
        Weight of lost correct examples in the final pick (lambda).
    selection
        `pareto` searches from the whole front, `greedy` (an ablation) from the single best.
    verify
        `on`; or, as ablations, admit conflicting policies and answer an event that both decisions
        match with `abstain` or with `refuse`.
    scored
        Rules that a candidate is scored with: those that the evidence supports, or all of them.
    proposer
        Where patches come from.
    packet
        Examples of each kind shown to a proposer, at most; scoring uses all.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    patches: int = Field(default=30, ge=0, le=1000)
    preservation: float = Field(default=1.0, ge=0.0)
    selection: Literal["pareto", "greedy"] = "pareto"
    verify: Literal["on", "abstain", "refuse"] = "on"
    scored: Literal["supported", "all"] = "supported"
    proposer: str = "induction"
    packet: int = Field(default=400, ge=1)
