"""Settings of an update; every choice that the source leaves open is one of them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from vepa.evolution.proposers.llm.settings import LLMSettings
from vepa.policy.authority import Authority, Threshold, authority

__all__ = ["EvolutionSettings", "GateSettings", "Gates"]

#: A prior worth more examples than this is a mistake, and beyond what floats can work out.
MAX_PRIOR = 1_000_000.0
#: The fewest examples that an archive may be bounded to.
LEAST_ARCHIVE = 100


class GateSettings(BaseModel):
    """What a rule of one decision must show before it may decide.

    Attributes
    ----------
    target
        Precision that the rule should have.
    confidence
        Posterior probability of it that suffices.
    prior_support, prior_contradictions
        Beta prior over the precision.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    target: float = Field(default=0.95, gt=0.0, lt=1.0)
    confidence: float = Field(default=0.5, gt=0.0, lt=1.0)
    prior_support: float = Field(default=1.0, gt=0.0, le=MAX_PRIOR)
    prior_contradictions: float = Field(default=1.0, gt=0.0, le=MAX_PRIOR)

    def threshold(self) -> Threshold:
        """The same as the policy core wants it."""
        prior = (self.prior_support, self.prior_contradictions)
        return Threshold(self.target, self.confidence, prior)


class Gates(BaseModel):
    """The gates of the two decisions; a stricter one for `allow` lets fewer harms through."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    allow: GateSettings = GateSettings()
    refuse: GateSettings = GateSettings()

    def authority(self, mode: str) -> Authority:
        """The authority of a mode with these gates; raises `SettingError` for an unknown mode."""
        return authority(mode, {"allow": self.allow.threshold(), "refuse": self.refuse.threshold()})


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
        Where patches come from: `induction`, `llm`, or `induction+llm`.
    llm
        The model, for the proposers that ask one.
    packet
        Examples of each kind shown to a proposer, at most; scoring uses all.
    archive
        Labelled examples, and events without a label, that are kept from round to round, at most;
        all when None (docs/scale.md).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    patches: int = Field(default=30, ge=0, le=1000)
    preservation: float = Field(default=1.0, ge=0.0)
    selection: Literal["pareto", "greedy"] = "pareto"
    verify: Literal["on", "abstain", "refuse"] = "on"
    scored: Literal["supported", "all"] = "supported"
    proposer: str = "induction"
    packet: int = Field(default=400, ge=1)
    archive: int | None = Field(default=None, ge=LEAST_ARCHIVE)
    llm: LLMSettings | None = None

    @property
    def asks_a_model(self) -> bool:
        """Whether the proposer needs a language model."""
        return "llm" in self.proposer.split("+")

    @model_validator(mode="after")
    def _model_where_one_is_asked(self) -> EvolutionSettings:
        if self.asks_a_model and self.llm is None:
            raise ValueError(
                f"the proposer {self.proposer!r} asks a language model, and none is named: give "
                "`llm: {model: PROVIDER/NAME}` (docs/proposers.md)"
            )
        if self.llm is not None and not self.asks_a_model:
            raise ValueError(
                f"`llm` names a language model, and the proposer {self.proposer!r} asks none: "
                "choose `llm` or `induction+llm`, or leave the model out"
            )
        return self
