"""The models behind `vepa bench run`: where answers are kept, and what they would cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vepa.cli.console import Output

if TYPE_CHECKING:
    from vepa.bench.baselines.asked.forecast import AskedForecast
    from vepa.bench.results import BenchSettings
    from vepa.evolution.proposers.llm.forecast import Forecast
    from vepa.evolution.proposers.llm.opening import Desk
    from vepa.policy.schema import Schema

__all__ = ["desk_of", "tell_forecast"]


def desk_of(settings: BenchSettings, cache: Path | None, project: Path | None) -> Desk | None:
    """Where the answers of models are kept; None where none is asked."""
    if not settings.trial.evolution.asks_a_model and settings.trial.asked is None:
        return None
    from vepa.evolution.proposers.llm.opening import Desk
    from vepa.project import Project

    folder = Project(project).artifacts_path / "propose"
    return Desk(folder, cache=None if cache is None else cache.absolute(), project=project)


def tell_forecast(
    out: Output,
    settings: BenchSettings,
    events: list[Path],
    schema: Schema,
    project: Path | None,
) -> None:
    """What a benchmark would do and what its models would take at most; nothing is sent."""
    from dataclasses import asdict

    from vepa.cli.findings import counted
    from vepa.evolution.proposers.llm.forecast import forecast

    trials = settings.seeds * len(settings.views) * (len(events) if settings.separate else 1)
    # One update a round, and the one of the first 40 labels.
    updates = trials * (settings.trial.stream.rounds + 1)
    found = forecast(settings.trial.evolution, schema, updates, project)
    asked = _forecast_asked(settings, events, schema, project)
    told = {"dry_run": True, "trials": trials, "updates": updates}
    model = {"model": None if found is None else asdict(found)}
    out.document({**told, **model, **({} if asked is None else {"asked": asdict(asked)})})
    if out.json:
        return
    patches = settings.trial.evolution.patches
    out.text(f"{counted(trials, 'trial')}, {updates:,} updates, at most {patches} patches in each")
    if found is None and asked is None:
        out.text("no model is asked")
    if found is not None:
        _tell_proposer(out, found)
    if asked is not None:
        _tell_asked(out, asked)


def _forecast_asked(
    settings: BenchSettings, events: list[Path], schema: Schema, project: Path | None
) -> AskedForecast | None:
    if settings.trial.asked is None:
        return None
    from vepa.bench.baselines.asked.forecast import forecast_asked
    from vepa.corpus.events import read_events

    sizes = [len(read_events(path, schema)) for path in events]
    streams = sizes if settings.separate else [sum(sizes)]
    trials = streams * (settings.seeds * len(settings.views))
    return forecast_asked(settings.trial, schema, trials, project)


def _tell_proposer(out: Output, found: Forecast) -> None:
    out.text(
        f"at most {found.questions:,} questions to {found.model}: {found.prompt:,} tokens to read, "
        f"{found.completion:,} to write, {_price(found.dollars)}; answers that are kept already "
        "cost nothing"
    )
    limits = _limits(found.budget_tokens, found.budget_dollars)
    out.text(
        "budget: none; --max-tokens and --max-dollars set one"
        if limits is None
        else f"budget: {limits}, an even share for every trial; what is left goes without it"
    )


def _tell_asked(out: Output, found: AskedForecast) -> None:
    from vepa.bench.baselines.asked.forecast import ASSUMED_CHECKS, ASSUMED_RULES
    from vepa.bench.comparison import method_name

    rows = [
        (method_name(name), f"{load.calls:,}", f"{load.prompt:,}", f"{load.completion:,}")
        for name, load in found.families.items()
    ]
    heads = ("baseline", "questions, at most", "tokens to read", "tokens to write")
    out.table(heads, rows, title=f"baselines, asked of {found.model}")
    vectors = f", {found.texts:,} texts to {found.embedder}" if found.texts else ""
    out.text(
        f"together at most {found.calls:,} questions{vectors}, {_price(found.dollars)}; the same "
        "question is paid for once"
    )
    assumed = [
        f"{number} {what}"
        for family, number, what in (
            ("judge", ASSUMED_RULES, "active rules of the policy"),
            ("agrail", ASSUMED_CHECKS, "checks in an entry of AGrail's memory"),
        )
        if family in found.families
    ]
    if assumed:
        out.text(f"assumed, since nothing limits them: {' and '.join(assumed)}")
    limits = _limits(found.budget_tokens, found.budget_dollars)
    out.text(
        "their budget: none; --judge-tokens and --judge-dollars set one"
        if limits is None
        else f"their budget: {limits}, an even share for every trial; where one is used up the run "
        "ends, its answers kept"
    )


def _price(dollars: float | None) -> str:
    return "price not known" if dollars is None else f"{dollars:.2f} USD"


def _limits(tokens: int | None, dollars: float | None) -> str | None:
    limits = [] if tokens is None else [f"{tokens:,} tokens"]
    limits += [] if dollars is None else [f"{dollars:.2f} USD"]
    return " and ".join(limits) or None
