"""Plays: one method on one seed of one stream, as what was answered to each event.

What is kept are answers, not figures, so that every figure and interval is worked out afterwards
from the same plays, and a new figure needs no new play.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from vepa.bench import metrics
from vepa.bench.baselines import FAMILIES, Baseline, make_baselines
from vepa.bench.baselines.asked.opening import open_asking
from vepa.bench.baselines.asked.settings import AskedSettings
from vepa.bench.evolving import default_evolve
from vepa.bench.prequential import Prequential, RoundOutcome
from vepa.bench.processes import Progress
from vepa.bench.scores import predict_stream, worked_off
from vepa.bench.streams import Stream, StreamSettings
from vepa.bench.views import stream_in_view, view_of
from vepa.corpus.events import EventTable
from vepa.evolution.settings import EvolutionSettings, Gates
from vepa.policy.matching import ABSTAIN

if TYPE_CHECKING:
    from vepa.evolution.proposers.llm.opening import Desk

__all__ = ["Answered", "Condition", "Learner", "PolicyMethod", "perform"]

Codes = npt.NDArray[np.int8]


class _Setting(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Condition(_Setting):
    """What every method of a row is held against.

    Attributes
    ----------
    events
        Events files by name, in the order of the stream's parts.
    stream
        Rounds, feedback, flips, shift.
    view, masked
        What is seen of an event.
    """

    events: tuple[str, ...]
    stream: StreamSettings = StreamSettings()
    view: str = "full"
    masked: float = Field(0.0, ge=0.0, le=1.0)


class PolicyMethod(_Setting):
    """A policy that evolves.

    Attributes
    ----------
    authority, gates, evolution
        As in `vepa.bench.trials.TrialSettings`.
    """

    authority: str = "default"
    gates: Gates = Gates()
    evolution: EvolutionSettings = EvolutionSettings()


class Learner(_Setting):
    """A family of baselines.

    Attributes
    ----------
    family
        One of `vepa.bench.baselines.FAMILIES`.
    asked
        Who answers a family that asks a model.
    policy
        The policy whose rounds a family is told, where it is one that advises itself by a policy.
    """

    family: str
    asked: AskedSettings | None = None
    policy: PolicyMethod | None = None


@dataclass(frozen=True, eq=False)
class Answered:
    """What a method said about a whole stream, in the order of arrival.

    Attributes
    ----------
    rows, round
        Row of each event in the stream's table, and its round from 1, shape (events,).
    truth, verdicts, sure
        True labels; the method's answers; how sure it was, shape (events,).
    aimed
        Whether the event is in the slice that wrong feedback is aimed at, shape (events,).
    failed_round, failed_truth, repaired
        The examples that feedback showed as failures: their round, true label, and what the method
        says about them after the update, shape (failures,).
    correct, lost
        By round: known right examples after the feedback, and those of them that the update lost.
    archive, active
        By round: rules in all, and active ones; empty for a method without rules.
    told
        More about the play, as JSON data.
    """

    rows: npt.NDArray[np.int32]
    round: npt.NDArray[np.int16]
    truth: Codes
    aimed: npt.NDArray[np.bool_]
    verdicts: Codes
    sure: npt.NDArray[np.float64]
    failed_round: npt.NDArray[np.int16]
    failed_truth: Codes
    repaired: Codes
    correct: npt.NDArray[np.int64]
    lost: npt.NDArray[np.int64]
    archive: npt.NDArray[np.int64]
    active: npt.NDArray[np.int64]
    told: Mapping[str, Any] = field(default_factory=dict)


def perform(
    condition: Condition,
    method: PolicyMethod | Learner,
    seed: int,
    tables: Sequence[EventTable],
    desk: Desk | None = None,
    progress: Progress = lambda _: None,
) -> dict[str, Answered]:
    """Play a method; what it answered, by the name of each variant that the method brings.

    Parameters
    ----------
    condition
        The stream.
    method
        Who plays.
    seed
        Of the shuffle, the feedback, the flips and the method.
    tables
        The labelled events of the condition, in its order.
    desk
        Where the answers of a model that is asked are kept, and its share of the budget.
    progress
        Called as rounds are finished.
    """
    stream = stream_in_view(
        tables, condition.stream, seed, view=condition.view, masked=condition.masked
    )
    if isinstance(method, PolicyMethod):
        loop = _evolved(stream, method, desk, progress)
        return {"policy": _of_policy(stream, loop.outcomes)}
    return _learned(stream, method, condition, seed, desk, progress)


def _evolved(
    stream: Stream, method: PolicyMethod, desk: Desk | None, progress: Progress
) -> Prequential:
    loop = Prequential(
        stream,
        method.gates.authority(method.authority),
        method.evolution,
        evolve=default_evolve(method.evolution, desk),
    )
    while not loop.finished:
        loop.advance()
        progress(1)
    return loop


def _of_policy(stream: Stream, outcomes: Sequence[RoundOutcome]) -> Answered:
    ours = worked_off(stream, outcomes)
    failures = np.concatenate([outcome.failures for outcome in outcomes])
    last = outcomes[-1]
    return Answered(
        **_arrivals(stream),
        verdicts=ours.verdicts,
        sure=ours.confidence,
        failed_round=np.repeat(
            np.arange(1, len(outcomes) + 1, dtype=np.int16), [len(o.failures) for o in outcomes]
        ),
        failed_truth=stream.table.labels[failures],
        repaired=np.concatenate([outcome.repaired for outcome in outcomes]),
        correct=np.array([outcome.correct for outcome in outcomes], dtype=np.int64),
        lost=np.array([outcome.lost for outcome in outcomes], dtype=np.int64),
        archive=np.array([outcome.rules["archive"] for outcome in outcomes], dtype=np.int64),
        active=np.array([outcome.rules["active"] for outcome in outcomes], dtype=np.int64),
        told={
            "policy_hash": last.after.policy_hash,
            "rules": [rule.describe() for rule in last.after.active],
            "wrong_feedback": [o.record.get("wrong_feedback") for o in outcomes],
        },
    )


def _arrivals(stream: Stream) -> dict[str, Any]:
    order = stream.order
    sizes = [len(part.indices) for part in stream.rounds]
    return {
        "rows": order.astype(np.int32),
        "round": np.repeat(np.arange(1, len(sizes) + 1, dtype=np.int16), sizes),
        "truth": stream.table.labels[order],
        "aimed": _aimed(stream)[order],
    }


def _aimed(stream: Stream) -> npt.NDArray[np.bool_]:
    target = stream.settings.target
    if target is None:
        return np.zeros(len(stream.table), dtype=np.bool_)
    return np.array([str(meta.get(target.key)) == target.value for meta in stream.table.meta])


def _learned(
    stream: Stream,
    method: Learner,
    condition: Condition,
    seed: int,
    desk: Desk | None,
    progress: Progress,
) -> dict[str, Answered]:
    schema = stream.table.schema
    visible = view_of(condition.view).fields(schema, condition.view)
    asking = None if method.asked is None else open_asking(method.asked, desk)
    learners = make_baselines([method.family], schema, visible, seed, asking)
    policies = None
    if method.policy is not None:
        loop = _evolved(stream, method.policy, desk, lambda _: None)
        policies = [outcome.before for outcome in loop.outcomes]
    found = {}
    for name, learner in learners.items():
        if FAMILIES[method.family].asks:  # each question costs: nothing is asked twice
            said = predict_stream(stream, learner, policies)
            found[name] = _unwatched(stream, said.labels, said.confidence)
        else:
            found[name] = _watched(stream, learner)
    progress(len(stream.rounds))
    return found


def _unwatched(stream: Stream, verdicts: Codes, sure: npt.NDArray[np.float64]) -> Answered:
    none = np.zeros(0, dtype=np.int64)
    return Answered(
        **_arrivals(stream),
        verdicts=verdicts,
        sure=sure,
        failed_round=none.astype(np.int16),
        failed_truth=none.astype(np.int8),
        repaired=none.astype(np.int8),
        correct=none,
        lost=none,
        archive=none,
        active=none,
    )


def _watched(stream: Stream, learner: Baseline) -> Answered:
    """A learner on the stream, looked at before and after each of its updates."""
    truth = stream.table.labels
    said: list[Codes] = []
    sure: list[npt.NDArray[np.float64]] = []
    known = np.zeros(0, dtype=np.intp)  # rows that feedback showed and the learner had right
    standing = np.zeros(0, dtype=np.int8)  # what it says about them
    failed: list[npt.NDArray[np.intp]] = []
    repaired: list[Codes] = []
    correct, lost = [], []
    for part in stream.rounds:
        found = learner.predict(stream.asked(part))
        said.append(found.labels)
        sure.append(found.confidence)
        shown = found.labels[part.revealed]
        right = shown == part.observed
        known = np.concatenate([known, part.feedback[right]])
        before = np.concatenate([standing, shown[right]])
        learner.learn(stream.told(part))
        failed.append(part.feedback[~right])
        after = _again(stream, learner, np.concatenate([known, failed[-1]]))
        standing = after[: len(known)]
        repaired.append(after[len(known) :])
        correct.append(len(known))
        lost.append(metrics.losses(truth[known], before, standing))
    failures = np.concatenate(failed)
    none = np.zeros(0, dtype=np.int64)
    return Answered(
        **_arrivals(stream),
        verdicts=np.concatenate(said),
        sure=np.concatenate(sure),
        failed_round=np.repeat(
            np.arange(1, len(failed) + 1, dtype=np.int16), [len(rows) for rows in failed]
        ),
        failed_truth=truth[failures],
        repaired=np.concatenate(repaired),
        correct=np.array(correct, dtype=np.int64),
        lost=np.array(lost, dtype=np.int64),
        archive=none,
        active=none,
    )


def _again(stream: Stream, learner: Baseline, rows: npt.NDArray[np.intp]) -> Codes:
    events = stream.table.take(rows).with_labels(np.full(len(rows), ABSTAIN, dtype=np.int8))
    return learner.predict(replace(events, meta=())).labels
