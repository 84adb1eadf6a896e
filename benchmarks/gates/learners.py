"""VEPA beside other learners on the same events, event by event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.gates.store import Spec, stream_of
from vepa.bench.baselines import make_baselines
from vepa.bench.prequential import Prequential
from vepa.bench.scores import predict_stream, worked_off
from vepa.bench.views import view_of
from vepa.evolution.settings import EvolutionSettings
from vepa.policy.authority import authority
from vepa.policy.matching import ABSTAIN, ALLOW, REFUSE

__all__ = ["FAMILIES", "LEARNERS", "answers", "compare", "interval"]

FAMILIES = ("ripper", "hoeffding", "forest")
LEARNERS = ("ripper", "hoeffding", "hoeffding_tuned", "forest")
#: Bootstrap draws, and their seed.
DRAWS, SEED = 4000, 0
SIGNS = {ALLOW: "a", REFUSE: "r", ABSTAIN: "-"}

Codes = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float64]


def answers(spec: Spec) -> dict[str, Any]:
    """What the default mode and each learner said about every event, by its place in the table."""
    stream = stream_of(spec)
    loop = Prequential(stream, authority("default"), EvolutionSettings())
    said = {"truth": stream.table.labels, "vepa": np.zeros(len(stream.table), dtype=np.int8)}
    said["vepa"][stream.order] = worked_off(stream, loop.run()).verdicts
    visible = view_of(spec["view"]).fields(stream.table.schema, spec["view"])
    learners = make_baselines(FAMILIES, stream.table.schema, visible, spec["seed"])
    for name, learner in learners.items():
        said[name] = np.zeros(len(stream.table), dtype=np.int8)
        said[name][stream.order] = predict_stream(stream, learner).labels
    return {name: "".join(SIGNS[int(code)] for code in codes) for name, codes in said.items()}


def compare(seeds: Sequence[Mapping[str, str]], learner: str, draws: int = DRAWS) -> dict[str, Any]:
    """Differences in macro-F1 between VEPA and a learner on the events that VEPA decided.

    Under `hybrid` stands what the learner gains on the whole stream when it only answers where VEPA
    abstains.
    """
    truth, ours, theirs = (_codes(seeds, name) for name in ("truth", "vepa", learner))
    covered = ours != ABSTAIN
    both = np.where(covered, ours, theirs)
    everything = np.ones_like(covered)
    return {
        "covered": interval(truth, ours, theirs, covered, draws),
        "hybrid": interval(truth, both, theirs, everything, draws),
    }


def interval(
    truth: Codes, ours: Codes, theirs: Codes, counted: npt.NDArray[np.bool_], draws: int = DRAWS
) -> dict[str, float]:
    """Means, their difference and its 95 % bootstrap interval.

    Parameters
    ----------
    truth, ours, theirs
        Labels and answers, shape (seeds, events); an event has one place in all seeds.
    counted
        Which answers count.
    draws
        Bootstrap draws.

    Notes
    -----
    Both seeds and events are drawn with replacement, an event for all seeds at once, since all
    seeds shuffle the same events; both methods get the same draw.
    """
    seeds, events = truth.shape
    rng = np.random.default_rng(SEED)
    weights = rng.multinomial(events, np.full(events, 1.0 / events), draws).astype(np.float64)
    shares = rng.multinomial(seeds, np.full(seeds, 1.0 / seeds), draws) / seeds
    once = np.ones((1, events))
    found, drawn = [], []
    for said in (ours, theirs):
        rows = list(zip(truth, said, counted, strict=True))
        found.append(float(np.mean([_f1(once, *row)[0] for row in rows])))
        drawn.append(np.stack([_f1(weights, *row) for row in rows], axis=1))
    low, high = np.quantile((shares * (drawn[0] - drawn[1])).sum(axis=1), [0.025, 0.975])
    return {
        "ours": found[0],
        "theirs": found[1],
        "difference": found[0] - found[1],
        "low": float(low),
        "high": float(high),
    }


def _f1(weights: Floats, truth: Codes, said: Codes, counted: npt.NDArray[np.bool_]) -> Floats:
    """Macro-F1 under each row of weights, shape (draws,)."""
    total = np.zeros(len(weights))
    for label in (ALLOW, REFUSE):
        answered, meant = counted & (said == label), counted & (truth == label)
        hits = weights @ (answered & meant)
        sizes = weights @ (answered.astype(np.float64) + meant)
        total += np.divide(2.0 * hits, sizes, out=np.zeros_like(hits), where=sizes > 0.0)
    return np.asarray(total / 2.0)


def _codes(seeds: Sequence[Mapping[str, str]], name: str) -> Codes:
    code = {sign: label for label, sign in SIGNS.items()}
    return np.array([[code[sign] for sign in each[name]] for each in seeds], dtype=np.int8)
