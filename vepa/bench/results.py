"""From the figures of single seeds to the document of `vepa bench run` (CLI.md)."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from vepa.bench.baselines import check_families
from vepa.bench.processes import Progress
from vepa.bench.streams import MAX_SEED, check_labelled, join_tables, make_stream
from vepa.bench.trials import Trial, TrialSettings, run_trials
from vepa.bench.views import view_of
from vepa.corpus.events import EventTable
from vepa.errors import InputError, SettingError, Where
from vepa.evolution.proposers import check_proposer
from vepa.evolution.proposers.llm.opening import Desk
from vepa.policy.authority import authority
from vepa.policy.matching import ALLOW, REFUSE

__all__ = ["SCALARS", "BenchSettings", "run_bench", "spread"]

#: Figures that are told as `{mean, sd}`.
SCALARS = (
    "covered_macro_f1",
    "full_macro_f1",
    "final_coverage",
    "final3_coverage",
    "mean_coverage",
    "regression_rate",
    "adaptation_f1",
    "unsafe_allowed",
    "safe_refused",
)
Figures = dict[str, Any]


#: Shuffles of one benchmark, at most.
MAX_SEEDS = 10_000


class BenchSettings(BaseModel):
    """What `vepa bench run` runs.

    Attributes
    ----------
    trial
        What every trial has in common.
    views
        One view: its figures stand at the top level; several: under `views.NAME`.
    seeds, first_seed
        Shuffles `first_seed` to `first_seed + seeds - 1`.
    separate
        Score each file on its own, under `files.NAME`, instead of one stream of all.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    trial: TrialSettings = TrialSettings()
    views: tuple[str, ...] = Field(("full",), min_length=1)
    seeds: int = Field(5, ge=1, le=MAX_SEEDS)
    first_seed: int = Field(0, ge=0, le=MAX_SEED - MAX_SEEDS)
    separate: bool = False


def run_bench(
    tables: Mapping[str, EventTable],
    settings: BenchSettings,
    *,
    jobs: int | None = None,
    progress: Progress = lambda _: None,
    desk: Desk | None = None,
) -> dict[str, Any]:
    """Run the benchmark; the document of `vepa bench run --json`.

    Parameters
    ----------
    tables
        File name -> its events in any order. The order of the files counts only for a shift.
    settings
        What to run.
    jobs
        Processes; by default one a seed, as far as there are processors. Figures do not depend
        on it.
    progress
        Called with the number of rounds that were finished since the last call.
    desk
        Where the answers of models are kept. Every trial may take an even share of the proposer's
        budget and of the baselines', so that no figure depends on which trial ran first.

    Raises
    ------
    InputError
        Before anything runs, when a setting or an event is not usable.
    BudgetError
        When baselines that ask a model have used up theirs.
    """
    begun = time.monotonic()
    for name, table in tables.items():
        try:
            check_labelled(table)
        except InputError as error:
            raise error.at(file=name) from None
    # Here too, for the hash that the document names a table by.
    tables = {name: table.canonical() for name, table in tables.items()}
    streams = _streams(tables, settings.separate)
    check_bench(streams, settings)
    keys = [
        (name, view, seed)
        for name in streams
        for view in settings.views
        for seed in range(settings.first_seed, settings.first_seed + settings.seeds)
    ]
    if settings.trial.evolution.asks_a_model or settings.trial.asked is not None:
        desk = replace(desk or Desk(), share=1 / len(keys))
    trials = [Trial(key, streams[key[0]], settings.trial, desk) for key in keys]
    workers = jobs or min(os.cpu_count() or 1, len(trials))
    figures = run_trials(trials, jobs=workers, progress=progress)
    by_stream: dict[str, Figures] = {}
    for name, parts in streams.items():
        by_view = {
            view: summarise(
                [f for t, f in zip(trials, figures, strict=True) if t.key[:2] == (name, view)]
            )
            for view in settings.views
        }
        shown = by_view[settings.views[0]] if len(by_view) == 1 else {"views": by_view}
        by_stream[name] = {"events": _describe(parts), **shown}
    top = {"files": by_stream} if settings.separate else by_stream[""]
    return {**top, "config": config(tables, settings), "seconds": time.monotonic() - begun}


def check_bench(streams: Mapping[str, Sequence[EventTable]], settings: BenchSettings) -> None:
    """Find what is wrong before any work is done."""
    trial = settings.trial
    authority(trial.authority)
    check_proposer(trial.evolution.proposer)
    asked = trial.asked
    embeds = asked is not None and asked.embedder is not None
    check_families(trial.baselines, asks=asked is not None, embeds=embeds)
    if len(set(settings.views)) != len(settings.views):
        raise SettingError(
            "a view is named twice", where=Where(field="view"), remedy="name each view once"
        )
    for view in settings.views:
        view_of(view).fields(next(iter(streams.values()))[0].schema, view)
    for name, parts in streams.items():
        try:
            make_stream(parts, trial.stream, settings.first_seed)
        except InputError as error:
            raise error.at(file=name or None) from None


def summarise(figures: Sequence[Figures]) -> Figures:
    """The figures of several seeds as means and population standard deviations."""
    summary: Figures = {name: spread([seed[name] for seed in figures]) for name in SCALARS}
    summary["start40"] = _start([seed["start40"] for seed in figures])
    rounds = zip(*(seed["coverage_by_round"] for seed in figures), strict=True)
    summary["coverage_by_round"] = [float(np.mean(values)) for values in rounds]
    summary["rules"] = {
        kind: float(np.mean([seed["rules"][kind] for seed in figures]))
        for kind in ("archive", "active")
    }
    summary["risk_coverage"] = {"vepa": mean_curve([seed["curve"] for seed in figures])}
    learners = _baselines(figures)
    if learners:
        summary["baselines"] = learners
        for name in (name for name in learners if name in figures[0]["baselines"]):
            curves = [seed["baselines"][name]["curve"] for seed in figures]
            summary["risk_coverage"][name] = mean_curve(curves)
    if "lookup" in learners:
        best = f"lookup.{learners['lookup']['field']}"
        summary["gap"] = spread(
            [seed["covered_macro_f1"] - seed["baselines"][best]["covered"] for seed in figures]
        )
    kept = ["seed", *SCALARS, "confusion", "start40", "rules", "policy_hash"]
    if figures[0].get("wrong_feedback") is not None:
        kept.append("wrong_feedback")
        summary["wrong_feedback"] = spread([seed["wrong_feedback"] for seed in figures])
    if "model" in figures[0]:
        kept.append("model")
        summary["model"] = _model([seed["model"] for seed in figures])
    if "asked" in figures[0]:
        kept.append("asked")
        summary["asked"] = _model([seed["asked"] for seed in figures])
    summary["by_seed"] = [{name: seed[name] for name in kept} for seed in figures]
    return summary


def spread(values: Sequence[float]) -> dict[str, float]:
    """Mean and population standard deviation."""
    return {"mean": float(np.mean(values)), "sd": float(np.std(values))}


def mean_curve(curves: Sequence[Sequence[Mapping[str, float]]]) -> list[dict[str, float]]:
    """Risk-coverage curves averaged point by point, where every seed reaches the coverage."""
    by_share = [{point["coverage"]: point for point in curve} for curve in curves]
    shared = sorted(set.intersection(*(set(points) for points in by_share)))
    return [
        {
            "coverage": share,
            "risk": float(np.mean([points[share]["risk"] for points in by_share])),
            "f1": float(np.mean([points[share]["f1"] for points in by_share])),
        }
        for share in shared
    ]


def config(tables: Mapping[str, EventTable], settings: BenchSettings) -> dict[str, Any]:
    """Everything that the figures depend on, as JSON data."""
    trial = settings.trial
    first = next(iter(tables.values()))
    stream = trial.stream.model_dump(mode="json")
    return {
        "files": {name: table.sha256 for name, table in tables.items()},
        "schema": {"version": first.schema.version, "sha256": first.schema.sha256},
        "unit": "+".join(dict.fromkeys(table.unit for table in tables.values())),
        "views": list(settings.views),
        "mask_unknown": trial.mask_unknown,
        **stream,
        "seeds": list(range(settings.first_seed, settings.first_seed + settings.seeds)),
        "authority": authority(trial.authority).name,
        "gates": trial.gates.model_dump(mode="json"),
        "evolution": trial.evolution.model_dump(mode="json"),
        "baselines": list(trial.baselines),
        **({} if trial.asked is None else {"asked": trial.asked.model_dump(mode="json")}),
        "separate": settings.separate,
    }


def _streams(tables: Mapping[str, EventTable], separate: bool) -> dict[str, tuple[EventTable, ...]]:
    if separate:
        return {name: (table,) for name, table in tables.items()}
    parts = tuple(tables.values())
    join_tables(parts)  # for its errors
    return {"": parts}


def _describe(parts: Sequence[EventTable]) -> dict[str, int]:
    labels = np.concatenate([part.labels for part in parts])
    return {
        "count": len(labels),
        "allow": int((labels == ALLOW).sum()),
        "refuse": int((labels == REFUSE).sum()),
    }


def _start(figures: Sequence[Mapping[str, float]]) -> dict[str, float]:
    reached, f1 = (spread([seed[name] for seed in figures]) for name in ("coverage", "f1"))
    return {
        "coverage": reached["mean"],
        "f1": f1["mean"],
        "coverage_sd": reached["sd"],
        "f1_sd": f1["sd"],
        "labels": float(np.mean([seed["labels"] for seed in figures])),
    }


def _model(figures: Sequence[Figures]) -> Figures:
    """What all seeds together asked of a model; `ended`: seeds whose budget was used up."""
    return {name: sum(seed[name] for seed in figures) for name in figures[0]}


def _baselines(figures: Sequence[Figures]) -> Figures:
    """Name -> spreads; `lookup` is the single field that does best on the covered events."""
    found: Figures = {
        name: {
            kind: spread([seed["baselines"][name][kind] for seed in figures])
            for kind in ("covered", "full", "hybrid", "at_coverage")
        }
        for name in figures[0]["baselines"]
    }
    fields = [name for name in found if name.startswith("lookup.")]
    if fields:
        best = max(fields, key=lambda name: (found[name]["covered"]["mean"], name))
        found["lookup"] = {**found[best], "field": best.removeprefix("lookup.")}
    return found
