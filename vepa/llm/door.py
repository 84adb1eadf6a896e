"""The one way to a language model, real or not."""

from __future__ import annotations

import time

from vepa.errors import SettingError, Where
from vepa.llm.budget import Budget
from vepa.llm.messages import Model, ModelReply, ModelRequest
from vepa.llm.scripted import Script, ScriptedModel
from vepa.llm.settings import ModelSettings
from vepa.llm.tally import Backend, Tally

__all__ = ["open_model"]


def open_model(
    name: str,
    *,
    settings: ModelSettings | None = None,
    budget: Budget | None = None,
    script: Script | None = None,
) -> Model:
    """Open a model by its name.

    Parameters
    ----------
    name
        Any name that litellm knows (`openai/…`, `anthropic/…`, `ollama/…`), or `scripted/NAME`.
    settings
        How it is asked; the defaults without them.
    budget
        What it may take.
    script
        Of a scripted model.

    Raises
    ------
    SettingError
        When the name leads nowhere, what it needs is missing, or a budget of dollars meets a
        model without a known price.
    MissingExtraError
        When the package for it is not installed.
    """
    settings = settings or ModelSettings()
    kind, _, rest = name.partition("/")
    backend: Backend
    if kind == "scripted" and rest:
        if script is None:
            raise SettingError(f"{name}: a scripted model needs its script")
        backend = ScriptedModel(name, script)
    else:
        from vepa.llm.prices import price_known
        from vepa.llm.provider import ProviderModel

        if budget is not None and budget.counts_dollars and not price_known(name, settings):
            raise SettingError(
                f"{name}: a budget of dollars is set, and the price of this model is not known",
                where=Where(field="prices"),
                remedy="give `prices: {prompt: …, completion: …}` (US dollars a million tokens, 0 "
                "for a model of your own) in the model's settings, or budget tokens instead",
            )
        backend = ProviderModel(name, settings, budget)
    return _Opened(backend, budget)


class _Opened:
    """A model as callers hold it."""

    def __init__(self, backend: Backend, budget: Budget | None):
        self._backend = backend
        self._budget = budget

    @property
    def name(self) -> str:
        """As it was asked for."""
        return self._backend.name

    def ask(self, request: ModelRequest) -> ModelReply:
        """See `Model.ask`."""
        from dataclasses import replace

        if self._budget is not None:
            self._budget.check()
        began = time.monotonic()
        tally = Tally()
        reply = self._backend.answer(request, tally)
        return replace(reply, seconds=time.monotonic() - began)
