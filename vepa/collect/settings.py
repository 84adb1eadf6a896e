"""Settings of a collection: who plays, how far, how often."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator

from vepa.collect.episode import Limits, Sampling
from vepa.collect.parts import Part
from vepa.files import canonical_json, sha256_of
from vepa.llm.settings import ModelSettings

__all__ = ["CollectSettings"]


class CollectSettings(Part):
    """How episodes are collected; a block of a profile, and what `vepa collect` sets.

    Attributes
    ----------
    models
        Agents: names of models; `scripted` stands for every temperament that a task has a plan
        for, `scripted/NAME` for one.
    user
        Who plays the user: `scripted/user`, or a model.
    seeds
        Episodes of a task and model, numbered from 0; scripts are deterministic and play one.
    temperature, max_tokens
        Of the agent's model.
    turns, calls, seconds
        Where an episode stops.
    retries
        How often an episode is played again when a service fails.
    offices
        Side by side.
    tokens, dollars, minutes
        Budget of the whole run, for models; None is no limit.
    episode_tokens
        Budget of one episode.
    model_settings
        How a model is asked, by its name.
    """

    models: list[str] = Field(default=["scripted"], min_length=1)
    user: str = "scripted/user"
    seeds: int = Field(default=1, ge=1, le=1000)
    temperature: float | None = Field(default=None, ge=0, le=2, strict=False)
    max_tokens: int = Field(default=4096, ge=16)
    turns: int = Field(default=40, ge=1, le=500)
    calls: int = Field(default=60, ge=1, le=1000)
    seconds: float = Field(default=900.0, gt=0, strict=False)
    retries: int = Field(default=2, ge=0, le=10)
    offices: int = Field(default=2, ge=1, le=64)
    tokens: int | None = Field(default=None, ge=0)
    dollars: float | None = Field(default=None, ge=0, strict=False)
    minutes: float | None = Field(default=None, gt=0, strict=False)
    episode_tokens: int | None = Field(default=None, ge=0)
    model_settings: dict[str, ModelSettings] = {}

    @field_validator("models")
    @classmethod
    def _each_once(cls, names: list[str]) -> list[str]:
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"{twice!r} is listed twice")
        if "scripted" in names and any(name.startswith("scripted/") for name in names):
            raise ValueError("`scripted` stands for all temperaments; name it, or some of them")
        return names

    @property
    def limits(self) -> Limits:
        """Bounds of an episode."""
        return Limits(self.turns, self.calls, self.seconds)

    def sampling(self, seed: int) -> Sampling:
        """What is asked of the agent's model."""
        return Sampling(self.temperature, self.max_tokens, seed)

    def settings_of(self, model: str) -> ModelSettings:
        """How a model is asked."""
        return self.model_settings.get(model, ModelSettings())

    def told_apart(self, model: str) -> str:
        """What beside its name and the requests tells one model from another: a hash."""
        telling = {"api_base", "temperature", "max_tokens", "structured"}
        asked = self.settings_of(model).model_dump(mode="json", include=telling)
        return sha256_of(canonical_json(asked))

    def about(self, model: str) -> dict[str, Any]:
        """What of the settings an episode of this model depends on."""
        asked = self.settings_of(model)
        player = {} if self.user.startswith("scripted/") else {"asked": self.told_apart(self.user)}
        return {
            "user": self.user,
            **player,
            "temperature": asked.temperature if self.temperature is None else self.temperature,
            "max_tokens": self.max_tokens,
            "limits": [self.turns, self.calls, self.seconds, self.episode_tokens],
            "api_base": asked.api_base,
            "structured": asked.structured,
        }
