"""From settings to a proposer that can be asked: its model, budget, ledger and kept answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vepa.evolution.proposers.llm.asking import TEMPLATE, ModelProposer
from vepa.evolution.proposers.llm.settings import LLMSettings
from vepa.llm import AnswerCache, Budget, Ledger, Script, Usage, open_model
from vepa.llm.ledger import Totals
from vepa.llm.prompts import load_prompt
from vepa.project import Project

__all__ = ["Desk", "open_model_proposer", "recordings_of", "spent_by"]

_LEDGER, _ANSWERS = "ledger.jsonl", "answers.sqlite"


@dataclass(frozen=True)
class Desk:
    """Where the questions of a run to a model are written down, and its answers kept.

    Attributes
    ----------
    folder
        `ledger.jsonl` and `answers.sqlite` lie in it; None keeps nothing.
    run
        Name of the run among the questions; what it has spent before counts for its budget. Empty
        for a run that is not gone on with.
    share
        Part of the budget that this process may take.
    cache
        The kept answers, where they do not lie in the folder.
    project
        Where prompts and recorded answers are looked up; the working directory without it.
    """

    folder: Path | None = None
    run: str = ""
    share: float = 1.0
    cache: Path | None = None
    project: Path | None = None

    @property
    def answers(self) -> Path | None:
        """The file of kept answers."""
        return self.cache or (None if self.folder is None else self.folder / _ANSWERS)

    @property
    def ledger(self) -> Ledger | None:
        """The ledger; None where nothing is written down."""
        return None if self.folder is None else Ledger(self.folder / _LEDGER)


def open_model_proposer(
    settings: LLMSettings, desk: Desk | None = None, *, script: Script | None = None
) -> ModelProposer:
    """The proposer that asks the model of the settings; its budget spans all that it is asked.

    Parameters
    ----------
    settings
        The model and what it may take.
    desk
        Where questions and answers are kept; nowhere when left out.
    script
        Of a scripted model.

    Raises
    ------
    SettingError
        When the model's name leads nowhere, or its price is not known to a budget of dollars.
    MissingExtraError
        When litellm or jinja2 is not installed.
    """
    desk = desk or Desk()
    project = Project(desk.project)
    ledger = desk.ledger
    tags = {"purpose": "propose", **({"run": desk.run} if desk.run else {})}
    answers, budget = desk.answers, _budget(settings, desk)
    model = open_model(
        settings.model,
        settings=settings.settings,
        budget=budget,
        ledger=None if ledger is None else ledger.tagged(**tags),
        cache=None if answers is None else AnswerCache(answers),
        script=script,
        recorded=recordings_of(settings.model, project),
        otherwise=settings.otherwise,
    )
    return ModelProposer(model, settings, load_prompt(project, TEMPLATE), budget)


def spent_by(desk: Desk) -> Totals:
    """What the questions of the desk's run have taken so far, in all processes that made it."""
    if desk.ledger is None or not desk.run:
        return Totals()
    by_run: Mapping[str, Totals] = desk.ledger.totals(by="run")
    return by_run.get(desk.run, Totals())


def _budget(settings: LLMSettings, desk: Desk) -> Budget:
    before = spent_by(desk)
    # What was cut counts with its worst case, as it did when it was cut.
    spent = Usage(before.prompt, before.completion + before.lost, before.dollars)
    return Budget(
        tokens=None if settings.tokens is None else int(settings.tokens * desk.share),
        dollars=None if settings.dollars is None else settings.dollars * desk.share,
        name="run",
        spent=spent,
    )


def recordings_of(name: str, project: Project) -> Path | None:
    """The folder of recordings that has this one, by the order of the project's places."""
    kind, _, rest = name.partition("/")
    if kind != "recorded":
        return None
    roots = [root / "data" / "recorded" for root in project.candidates]
    return next((root for root in roots if (root / rest / "manifest.yaml").is_file()), None)
