"""Who is asked by the baselines that a language model drives, and what that may take."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from vepa.llm.settings import ModelSettings

__all__ = ["AskedSettings"]


class AskedSettings(BaseModel):
    """The model behind `no_memory`, `judge`, `agrail` and `lisa`; all of them ask the same one.

    Attributes
    ----------
    model
        Any name that `open_model` takes.
    settings
        How it is asked: temperature, the length of an answer, where it is reached, its price.
    embedder
        Who turns text into vectors, for the baselines with a memory: any embedding model, or
        `hashing/N`, which is worked out here and needs none.
    embedder_settings
        How the embedder is asked. Without them as the model is, but for its price, when both are of
        one provider; else by the defaults.
    tokens, dollars
        Budget of all trials together, apart from a proposer's. When a trial has used up its share,
        the baselines have no figure: nothing stands in for the model.
    concurrency
        Questions at a time in one trial.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(min_length=1)
    settings: ModelSettings = ModelSettings()
    embedder: str | None = Field(default=None, min_length=1)
    embedder_settings: ModelSettings | None = None
    tokens: int | None = Field(default=None, ge=0)
    dollars: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    concurrency: int = Field(default=4, ge=1, le=64)

    @property
    def how_to_embed(self) -> ModelSettings:
        """The embedder's settings."""
        if self.embedder_settings is not None:
            return self.embedder_settings
        provider = (self.embedder or "").partition("/")[0]
        if provider != self.model.partition("/")[0]:
            return ModelSettings()
        return self.settings.model_copy(update={"prices": None})
