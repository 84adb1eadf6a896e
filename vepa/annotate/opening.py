"""From a panel to readers that can be asked."""

from __future__ import annotations

from pathlib import Path

from vepa.annotate.asking import Annotator
from vepa.annotate.panel import Panel, Rules, Seat
from vepa.annotate.scripted import SCRIPTS, script_named
from vepa.annotate.shape import TEMPLATE
from vepa.errors import SettingError, Where
from vepa.llm import AnswerCache, Budget, Ledger, open_model
from vepa.llm.prompts import load_prompt
from vepa.policy.schema import nearest
from vepa.project import Project

__all__ = ["budget_of", "open_reader", "open_readers"]


def budget_of(panel: Panel) -> Budget:
    """What one run of the panel may cost, all readers together."""
    limits = panel.budget
    seconds = None if limits.minutes is None else limits.minutes * 60
    return Budget(tokens=limits.tokens, dollars=limits.dollars, seconds=seconds)


def open_readers(
    panel: Panel,
    rules: Rules,
    *,
    budget: Budget | None = None,
    ledger: Ledger | None = None,
    cache: AnswerCache | None = None,
    recorded: Path | None = None,
    project: Project | None = None,
) -> list[Annotator]:
    """The two annotators of a panel; see `open_reader`."""
    return [
        open_reader(
            seat,
            panel,
            rules,
            budget=budget,
            ledger=ledger,
            cache=cache,
            recorded=recorded,
            project=project,
        )
        for seat in panel.annotators
    ]


def open_reader(
    seat: Seat,
    panel: Panel,
    rules: Rules,
    *,
    budget: Budget | None = None,
    ledger: Ledger | None = None,
    cache: AnswerCache | None = None,
    recorded: Path | None = None,
    project: Project | None = None,
) -> Annotator:
    """One seat of a panel with its model behind it.

    Parameters
    ----------
    seat, panel, rules
        Who, of which panel, told what.
    budget, ledger, cache, recorded
        As `open_model` takes them.
    project
        Where the prompt is looked up; the working directory and the package when left out.

    Raises
    ------
    SettingError
        When the model's name leads nowhere.
    """
    for name in (seat.model, seat.otherwise or ""):
        if name.startswith("scripted/") and script_named(name) is None:
            raise SettingError(
                f"there is no script {name!r} for annotators",
                where=Where(field=f"{seat.name}.model"),
                remedy=nearest(name, [f"scripted/{each}" for each in SCRIPTS], "scripts"),
            )
    model = open_model(
        seat.model,
        settings=seat.settings,
        budget=budget,
        ledger=ledger,
        cache=cache,
        script=script_named(seat.otherwise or seat.model),
        recorded=recorded,
        otherwise=seat.otherwise,
    )
    prompt = load_prompt(project or Project(), TEMPLATE)
    return Annotator(seat, model, rules, panel.trace_tokens, prompt=prompt)
