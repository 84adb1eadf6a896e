"""The one way to a language model, real or not."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from pathlib import Path

from vepa.errors import BudgetError, ModelError, SettingError, Where
from vepa.llm.budget import Budget
from vepa.llm.cache import AnswerCache, CachedModel
from vepa.llm.ledger import Ledger
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
    ledger: Ledger | None = None,
    cache: AnswerCache | None = None,
    script: Script | None = None,
    recorded: Path | None = None,
    otherwise: str | None = None,
) -> Model:
    """Open a model by its name.

    Parameters
    ----------
    name
        Any name that litellm knows (`openai/…`, `anthropic/…`, `ollama/…`), `scripted/NAME`, or
        `recorded/NAME`.
    settings
        How it is asked; the defaults without them.
    budget
        What it may take; share one between models, or give each a `child` of one.
    ledger
        Where every question is written down.
    cache
        Keeps answers of providers; scripted and recorded ones need none.
    script
        Of a scripted model.
    recorded
        Folder of the recordings; the project's `data/recorded` without it.
    otherwise
        Model that answers what `recorded/NAME` does not know; its answers are marked as its own.

    Raises
    ------
    SettingError
        When the name leads nowhere, what it needs is missing, or a budget of dollars meets a
        model without a known price.
    MissingExtraError
        When the package for it is not installed.
    """
    settings = settings or ModelSettings()
    kind = name.partition("/")[0]
    if otherwise is not None and kind != "recorded":
        raise SettingError(
            f"{name}: `otherwise` is for recorded/NAME only",
            where=Where(field="otherwise"),
            remedy="leave it out; no other model falls back to one",
        )
    backend = _backend(name, settings, budget, cache, script)
    if backend is None:
        from vepa.llm.recorded import RecordedModel, folder_of
        from vepa.llm.recording import Recording

        recording = Recording(folder_of(name, recorded))
        fallback = (
            _backend(otherwise, settings, budget, cache, script) if otherwise is not None else None
        )
        if otherwise is not None and fallback is None:
            raise SettingError(
                f"{name}: `otherwise` names another recording",
                where=Where(field="otherwise"),
                remedy="name a real or a scripted model",
            )
        backend = RecordedModel(name, recording, fallback)
    return _Opened(backend, budget, ledger)


def _backend(
    name: str,
    settings: ModelSettings,
    budget: Budget | None,
    cache: AnswerCache | None,
    script: Script | None,
) -> Backend | None:
    """What stands behind a name; None for a recording."""
    kind, _, rest = name.partition("/")
    if kind in ("scripted", "recorded") and not rest:
        raise SettingError(f"{name!r} names no model", remedy=f"write {kind}/NAME")
    if kind == "recorded":
        return None
    if kind == "scripted":
        if script is None:
            raise SettingError(
                f"{name}: a scripted model needs its script",
                where=Where(field="script"),
                remedy="scripts belong to the parts that use them, such as the collection of "
                "episodes; elsewhere name a real or a recorded model",
            )
        return ScriptedModel(name, script)
    from vepa.llm.prices import check_price
    from vepa.llm.provider import ProviderModel

    check_price(name, settings, budget)
    model = ProviderModel(name, settings, budget)
    return model if cache is None else CachedModel(model, settings, cache)


class _Opened:
    """A model as callers hold it: its budget's time and its ledger around it."""

    def __init__(
        self,
        backend: Backend,
        budget: Budget | None,
        ledger: Ledger | None,
    ):
        self._backend, self._budget, self._ledger = backend, budget, ledger

    @property
    def name(self) -> str:
        """As it was asked for."""
        return self._backend.name

    def ask(self, request: ModelRequest) -> ModelReply:
        """See `Model.ask`."""
        if self._budget is not None:
            self._budget.check()
        began, tally = time.monotonic(), Tally()
        try:
            reply = self._backend.answer(request, tally)
        except (ModelError, BudgetError) as error:
            outcome = error.kind if isinstance(error, ModelError) else f"budget_{error.budget}"
            self._note(request, tally, outcome, time.monotonic() - began)
            raise
        reply = replace(reply, seconds=time.monotonic() - began)
        self._note(request, tally, reply.finish, reply.seconds)
        return reply

    def _note(self, request: ModelRequest, tally: Tally, outcome: str, seconds: float) -> None:
        if self._ledger is not None:
            self._ledger.write(
                model=self.name,
                request=request.content_hash,
                seconds=round(seconds, 4),
                outcome=outcome,
                **asdict(tally),
            )
