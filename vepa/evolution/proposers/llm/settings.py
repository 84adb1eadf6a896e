"""How a model is asked for patches: the block `evolution.llm` of a profile."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from vepa.llm.settings import ModelSettings

__all__ = ["ANSWER_PATCHES", "LLMSettings"]

#: Patches that are read of one answer, at most.
ANSWER_PATCHES = 8


class LLMSettings(BaseModel):
    """The model behind a proposer, and what it may take.

    Attributes
    ----------
    model
        Any name that `open_model` takes.
    settings
        How it is asked: temperature, the length of an answer, where it is reached, its price.
    otherwise
        Who answers what `recorded/NAME` does not know.
    questions
        Questions in one update, at most; an answer holds several patches.
    packet_tokens
        Tokens of what changes from question to question: rules, examples, what was tried.
    tokens, dollars
        Budget of the whole run. When it is used up, the run goes on without the model and says so.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(min_length=1)
    settings: ModelSettings = ModelSettings()
    otherwise: str | None = None
    questions: int = Field(default=8, ge=1, le=100)
    packet_tokens: int = Field(default=8_000, ge=2_000, le=200_000)
    tokens: int | None = Field(default=None, ge=0)
    dollars: float | None = Field(default=None, ge=0, allow_inf_nan=False)
