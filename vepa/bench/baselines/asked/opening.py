"""From settings to what the model-driven baselines ask: model, embedder, budget, kept answers."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from vepa.bench.baselines.asked.settings import AskedSettings
from vepa.bench.verdicts import Verify
from vepa.evolution.proposers.llm.opening import Desk, recordings_of, spent_by
from vepa.guard.fallback import ModelJudge
from vepa.guard.fallback.judge import TEMPLATE
from vepa.llm import AnswerCache, Budget, Model, ModelReply, ModelRequest, Script, Usage, open_model
from vepa.llm.prompts import Prompt, load_prompt
from vepa.project import Project

if TYPE_CHECKING:
    from vepa.llm.embedding import Embedder

__all__ = ["Asked", "Asking", "open_asking"]

#: Beside the name of a run among its questions: what baselines take is not the proposer's.
_APART = ".baselines"


class Asked:
    """A model that counts what it is asked; safe to share by threads.

    Attributes
    ----------
    questions
        That were answered, readably or not.
    kept
        Those among them that no provider had to answer.
    """

    def __init__(self, model: Model):
        self._model, self._lock = model, threading.Lock()
        self.questions = self.kept = 0

    @property
    def name(self) -> str:
        """As it was asked for."""
        return self._model.name

    def ask(self, request: ModelRequest) -> ModelReply:
        """See `Model.ask`."""
        reply = self._model.ask(request)
        with self._lock:
            self.questions += 1
            self.kept += reply.source != "provider"
        return reply


@dataclass(frozen=True, eq=False)
class Asking:
    """What a baseline needs that asks a model.

    Attributes
    ----------
    model
        Who is asked.
    embedder
        Who turns text into vectors; None where none was named.
    project
        Where prompts are looked up.
    concurrency
        Questions at a time.
    verify
        How the policy before `judge` answers what rules of both decisions match.
    budget
        The one of model and embedder together.
    """

    model: Model
    embedder: Embedder | None
    project: Project
    concurrency: int = 4
    verify: Verify = "on"
    budget: Budget | None = None

    @property
    def judge(self) -> ModelJudge:
        """The model as the judge of single events."""
        return ModelJudge(self.model, self.prompt(TEMPLATE))

    def prompt(self, name: str) -> Prompt:
        """A prompt of the project."""
        return load_prompt(self.project, name)

    def figures(self) -> dict[str, Any]:
        """What was asked so far and what that took: `questions`, `kept`, `tokens`, `dollars`."""
        counted = self.model if isinstance(self.model, Asked) else None
        return {
            "questions": counted.questions if counted else 0,
            "kept": counted.kept if counted else 0,
            "tokens": self.budget.used_tokens if self.budget else 0,
            "dollars": self.budget.used_dollars if self.budget else 0.0,
        }


def open_asking(
    settings: AskedSettings, desk: Desk | None = None, *, script: Script | None = None
) -> Asking:
    """Open the model of the settings, and the embedder where one is named.

    Parameters
    ----------
    settings
        The model and what it may take.
    desk
        Where questions and answers are kept, and the share of the budget; nowhere, and all of it,
        when left out.
    script
        Of a scripted model.

    Raises
    ------
    SettingError
        When a name leads nowhere, or a price is not known to a budget of dollars.
    MissingExtraError
        When a package is not installed.
    """
    desk = desk or Desk()
    if desk.run:
        desk = replace(desk, run=desk.run + _APART)
    project = Project(desk.project)
    budget = _budget(settings, desk)
    tags = {"purpose": "baseline", **({"run": desk.run} if desk.run else {})}
    ledger = None if desk.ledger is None else desk.ledger.tagged(**tags)
    cache = None if desk.answers is None else AnswerCache(desk.answers)
    model = open_model(
        settings.model,
        settings=settings.settings,
        budget=budget,
        ledger=ledger,
        cache=cache,
        script=script,
        recorded=recordings_of(settings.model, project),
    )
    embedder = None
    if settings.embedder is not None:
        from vepa.llm.embedding import open_embedder

        embedder = open_embedder(
            settings.embedder,
            settings=settings.how_to_embed,
            budget=budget,
            ledger=ledger,
            cache=cache,
        )
    return Asking(Asked(model), embedder, project, settings.concurrency, budget=budget)


def _budget(settings: AskedSettings, desk: Desk) -> Budget:
    before = spent_by(desk)
    return Budget(
        tokens=None if settings.tokens is None else int(settings.tokens * desk.share),
        dollars=None if settings.dollars is None else settings.dollars * desk.share,
        name="trial",
        # What was cut counts with its worst case, as it did when it was cut.
        spent=Usage(before.prompt, before.completion + before.lost, before.dollars),
    )
