"""Trials of authority modes, as `vepa bench run` makes them, and of learners that lack a part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.gates.store import Spec, stream_of, table_of
from vepa.bench.streams import StreamSettings
from vepa.bench.trials import Trial, TrialSettings, run_trial
from vepa.evolution import beliefs, scoring, standing, weights
from vepa.evolution.proposers import induction, workbench
from vepa.evolution.settings import EvolutionSettings
from vepa.policy.matching import REFUSE

__all__ = ["MODES", "PARTS", "specs", "trial"]

MODES = (
    "paper",
    "prospective",
    "held-out",
    "early",
    "anytime",
    "noise-aware",
    "noise-aware+early",
    "noise-aware+prospective",
    "noise-aware+held-out",
)
#: Figures of a trial that are kept.
KEPT = (
    "covered_macro_f1",
    "full_macro_f1",
    "final_coverage",
    "mean_coverage",
    "regression_rate",
    "adaptation_f1",
    "unsafe_allowed",
    "wrong_feedback",
    "policy_hash",
)


def specs(
    cells: Sequence[tuple[str, str]],
    flips: Sequence[float],
    seeds: Sequence[int],
    modes: Sequence[str],
    parts: Sequence[str] = ("",),
) -> list[dict[str, Any]]:
    """What to run: every mode, and every part left out, on every stream at every rate of flips."""
    return [
        {
            "kind": "trial",
            "stream": stream,
            "view": view,
            "flip": flip,
            "seed": seed,
            "mode": mode,
            **({"without": part} if part else {}),
        }
        for (stream, view), flip, mode, part, seed in product(cells, flips, modes, parts, seeds)
    ]


def trial(spec: Spec) -> dict[str, Any]:
    """The figures of one trial, and the share of feedback that was wrong indeed."""
    part = spec.get("without", "")
    settings = TrialSettings(
        authority=spec["mode"],
        stream=StreamSettings(flip=spec["flip"]),
        evolution=EvolutionSettings(selection="greedy" if part == "front" else "pareto"),
    )
    key = (spec["stream"], spec["view"], spec["seed"])
    with PARTS[part]():
        found = run_trial(Trial(key, (table_of(spec["stream"]),), settings))
    stream = stream_of(spec)
    told = np.concatenate([part.observed for part in stream.rounds])
    true = np.concatenate([stream.table.labels[part.feedback] for part in stream.rounds])
    return {name: found[name] for name in KEPT} | {
        "start_coverage": found["start40"]["coverage"],
        "start_f1": found["start40"]["f1"],
        "rules": found["rules"]["active"],
        "wrong": float((told != true).mean()),
    }


@contextmanager
def _whole() -> Iterator[None]:
    yield


@contextmanager
def _replaced(*places: tuple[Any, str, Any]) -> Iterator[None]:
    """Put others in the place of attributes; what was cached under either is dropped."""
    caches = (beliefs.believe, weights.weigh)
    patches = [mock.patch.object(place, name, value) for place, name, value in places]
    for each in caches:
        each.cache_clear()
    try:
        for patch in patches:
            patch.start()
        yield
    finally:
        for patch in reversed(patches):
            patch.stop()
        for each in caches:
            each.cache_clear()


def _one_taste() -> Any:
    def alone(_authority: Any, examples: int) -> list[workbench.Taste]:
        factor = scoring.error_cost(examples)
        cost = induction.ERROR_COSTS[1] * factor
        taste = workbench.Taste({"allow": cost, "refuse": cost}, induction.LEAST_UTILITY)
        # Twice the same, since a single plan would be offered step by step as well.
        return [taste, taste]

    return _replaced((induction, "tastes", alone))


def _labels_as_told() -> Any:
    def taken(table: Any, context: Any, believed: bool) -> weights.Weighed:
        del believed
        return weights.weigh(table, context, False)

    def certain(table: Any, context: Any) -> beliefs.Beliefs:
        known = beliefs.believe(table, context)
        return replace(known, true=(table.labels == REFUSE).astype(np.float64))

    return _replaced(
        (workbench, "weigh", taken), (scoring, "weigh", taken), (scoring, "believe", certain)
    )


#: Part of the learner that is left out -> what does it.
PARTS: Mapping[str, Callable[[], Any]] = {
    "": _whole,
    "front": _whole,
    "tastes": _one_taste,
    "imagined events": lambda: _replaced((beliefs, "MOST_IMAGINED", 0)),
    "believed labels": _labels_as_told,
    "cleaned evidence": lambda: _replaced((standing, "TRUST", float("inf"))),
}
