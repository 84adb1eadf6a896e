"""What every stage of a lifecycle would take and cost, before anything is made or spent.

Needs no key and no network, and writes nothing. What stands already counts zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import yaml

from vepa.annotate.forecast import ANSWER_TOKENS, ARBITER_SHARE
from vepa.bench.runs.conduct import estimate, guessed_seconds
from vepa.bench.runs.profile import Profile, corpus_profile, find_events, load_profile
from vepa.bench.runs.run import round_stage
from vepa.collect.estimating import estimate_orders
from vepa.collect.orders import Order
from vepa.corpus.benchmarks import benchmarks
from vepa.errors import InputError
from vepa.evolution.proposers.llm.forecast import forecast
from vepa.lifecycle.judging import CONTENTS, JUDGED_TOKENS, judged_shares
from vepa.lifecycle.plan import Lifecycle
from vepa.lifecycle.shares import (
    ANSWER_SECONDS,
    Share,
    StageCost,
    Totals,
    is_free,
    steps_of,
    user_share,
)
from vepa.policy.schema import bundled_schema
from vepa.services.world import load_world

__all__ = ["ASSUMED", "Share", "StageCost", "Totals", "estimate_lifecycle", "figures"]

#: What a forecast rests on beside the plans of the tasks.
ASSUMED: dict[str, float] = {
    "judged_tokens": JUDGED_TOKENS,
    "answer_tokens": ANSWER_TOKENS,
    "arbiter_share": ARBITER_SHARE,
    "contents_a_step_scripted": CONTENTS["scripted"],
    "contents_a_step_model": CONTENTS["model"],
    "answer_seconds": ANSWER_SECONDS,
}
#: Seconds until the offices stand (a guess); of services and harness an episode, and of a release
#: a step (measured with the demo on two cores).
_OFFICES, _EPISODE, _RELEASED = 30.0, 1.8, 0.025


def estimate_lifecycle(whole: Lifecycle) -> Totals:
    """What the stages of a profile would take, and all of them together.

    Parameters
    ----------
    whole
        As planned; files of its events may be missing (`awaiting`).

    Raises
    ------
    MissingExtraError
        Without the extra `pipeline`, where prices are needed.
    """
    open_ = whole.open()
    missing = whole.corpus.missing() if whole.corpus is not None else []
    made: dict[str, Callable[[], StageCost]] = {
        "collect": lambda: _collect(whole, missing),
        "annotate": lambda: _annotate(whole, missing),
        "release": lambda: _release(whole),
        "evolve-corpus": lambda: _evolve_corpus(whole),
        "evolve-benchmark": lambda: _evolve_benchmark(whole),
        "train": lambda: _train(whole),
    }
    return Totals(
        tuple(
            made[stage]() if stage in open_ else StageCost(stage, made=False)
            for stage in whole.stages
            if stage != "report"
        )
    )


def _collect(whole: Lifecycle, missing: Sequence[Order]) -> StageCost:
    corpus = whole.corpus
    assert corpus is not None
    settings = corpus.profile.collect
    world = load_world(corpus.materials.world_file)
    costs = estimate_orders(missing, corpus.materials, settings, world)
    shares = [
        Share("agent", each.model, each.turns, each.prompt, each.completion, each.dollars)
        for each in costs
    ]
    if not is_free(settings.user):
        shares.append(user_share(missing, settings))
    waiting = sum(share.asked for share in shares if not is_free(share.model))
    spent = _EPISODE * len(missing) + ANSWER_SECONDS * waiting
    return StageCost(
        "collect",
        made=True,
        counts={"episodes": len(missing), "steps": round(sum(map(steps_of, missing)))},
        shares=tuple(shares),
        seconds=_OFFICES + spent / settings.offices if missing else 1.0,
        budget={
            "dollars": settings.dollars, "tokens": settings.tokens, "minutes": settings.minutes
        },
    )  # fmt: skip


def _annotate(whole: Lifecycle, missing: Sequence[Order]) -> StageCost:
    annotation = whole.annotation
    assert whole.corpus is not None
    assert annotation is not None
    counts, shares, seconds = judged_shares(annotation, whole.corpus.all_orders, missing)
    limits = annotation.panel.budget
    return StageCost(
        "annotate",
        made=True,
        counts=counts,
        shares=shares,
        seconds=seconds,
        budget={"dollars": limits.dollars, "tokens": limits.tokens, "minutes": limits.minutes},
    )


def _steps(whole: Lifecycle) -> int:
    """Steps of the whole corpus, those that are there among them."""
    assert whole.corpus is not None
    return round(sum(map(steps_of, whole.corpus.all_orders)))


def _release(whole: Lifecycle) -> StageCost:
    steps = _steps(whole)
    return StageCost("release", made=True, counts={"steps": steps}, seconds=_RELEASED * steps)


def _evolve_corpus(whole: Lifecycle) -> StageCost:
    """It is made anew on whatever labels stand then."""
    assert whole.corpus is not None
    written = corpus_profile(whole.file, whole.corpus.name, whole.corpus.folder / "events.jsonl")
    assert written is not None
    profile = Profile.model_validate(yaml.safe_load(written))
    return _evolving(whole, "evolve-corpus", profile, _steps(whole))


def _evolve_benchmark(whole: Lifecycle) -> StageCost:
    run, stage = whole.evolving, "evolve-benchmark"
    if run is not None:
        expected = estimate(run)
        counts = {"events": expected.events, "rounds": expected.rounds}
        updates = sum(each.startswith(("round-", "summary")) for each in run.missing)
        asked = _proposing(whole, run.profile, updates)
        return StageCost(stage, True, counts, seconds=expected.seconds, **asked)
    profile = load_profile(whole.file)
    known = {f"{name.replace('-', '_')}.events.jsonl": each.records
             for name, each in benchmarks(whole.project).items()}  # fmt: skip
    events, notes = 0, []
    for name in profile.events:
        if name not in whole.awaited:
            events += _lines(whole, name)
            continue
        records = known.get(name)
        events += records or 0
        told = f"{records:,} events by data/benchmarks.yaml" if records else "of unknown length"
        notes.append(f"{name} is not there yet ({told}): the profile's comments say how it is made")
    return _evolving(whole, stage, profile, events, tuple(notes))


def _lines(whole: Lifecycle, name: str) -> int:
    try:
        with find_events(whole.project, name).open("rb") as file:
            return sum(bool(line.strip()) for line in file)
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}") from None


def _evolving(
    whole: Lifecycle, stage: str, profile: Profile, events: int, notes: tuple[str, ...] = ()
) -> StageCost:
    stages = [round_stage(number) for number in range(1, profile.rounds + 1)]
    stages += [f"baseline-{name}" for name in profile.baselines]
    seconds = guessed_seconds(profile, events, [*stages, "summary", "report"])
    counts = {"events": events, "rounds": profile.rounds}
    asked = _proposing(whole, profile, profile.rounds + 1)
    return StageCost(stage, True, counts, seconds=seconds, notes=notes, **asked)


def _proposing(whole: Lifecycle, profile: Profile, updates: int) -> dict[str, Any]:
    """What a model that proposes patches takes at most, and its budget; nothing without one."""
    found = forecast(profile.evolution, bundled_schema(), updates, whole.project.directory)
    if found is None:
        return {}
    share = Share(
        "proposer", found.model, found.questions, found.prompt, found.completion, found.dollars
    )
    limits = {"dollars": found.budget_dollars, "tokens": found.budget_tokens, "minutes": None}
    return {"shares": (share,), "budget": limits}


def _train(whole: Lifecycle) -> StageCost:
    train = whole.profile.train
    assert train is not None
    told = f"asks for a run of {train.deployment} and does not wait; what that takes is not counted"
    return StageCost("train", made=True, notes=(told,))


def figures(found: Totals) -> dict[str, Any]:
    """For a machine: `stages_cost`, a mapping a stage; `cost`, of all; `assumed`."""
    return {
        "stages_cost": [
            {
                **{key: value for key, value in asdict(each).items() if key != "shares"},
                "shares": [asdict(share) for share in each.shares],
                "tokens": each.tokens,
                "dollars": each.dollars,
                "unpriced": each.unpriced,
                "enough": each.enough,
            }
            for each in found.stages
        ],
        "cost": {
            "tokens": found.tokens,
            "dollars": found.dollars,
            "known_dollars": found.known_dollars,
            "unpriced": found.unpriced,
            "seconds": round(found.seconds, 1),
            "budget_dollars": found.budget,
            "enough": found.enough,
        },
        "assumed": dict(ASSUMED),
    }
