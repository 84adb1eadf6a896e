"""The figures of one seed: a stream against its true labels, and the baselines beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vepa.bench import metrics
from vepa.bench.baselines import Advised, Baseline, Prediction
from vepa.bench.prequential import RoundOutcome
from vepa.bench.processes import Progress
from vepa.bench.streams import Stream
from vepa.bench.verdicts import confidence
from vepa.policy.matching import ABSTAIN
from vepa.policy.policy import Policy

__all__ = ["CURVE", "Answers", "score", "score_baselines", "worked_off"]

Codes = npt.NDArray[np.int8]
#: Coverages at which risk-coverage curves are sampled.
CURVE = tuple(round(0.05 * step, 2) for step in range(1, 21))


@dataclass(frozen=True, eq=False)
class Answers:
    """What a method said about the whole stream, in the order of arrival.

    Attributes
    ----------
    truth
        True labels.
    verdicts
        The method's answers.
    confidence
        How sure it was of each.
    """

    truth: Codes
    verdicts: Codes
    confidence: npt.NDArray[np.float64]

    def curve(self) -> list[dict[str, float]]:
        """The risk-coverage curve at `CURVE`."""
        return metrics.risk_coverage(self.truth, self.verdicts, self.confidence, CURVE)


def worked_off(stream: Stream, outcomes: Sequence[RoundOutcome]) -> Answers:
    """The verdicts of the rounds that were worked off, with the confidence of the rules."""
    table = stream.table
    sure = []
    for outcome in outcomes:
        found = confidence(outcome.before, table.codes[outcome.indices])
        sure.append(np.where(outcome.verdicts == ABSTAIN, 0.0, found))
    return Answers(
        np.concatenate([table.labels[outcome.indices] for outcome in outcomes]),
        np.concatenate([outcome.verdicts for outcome in outcomes]),
        np.concatenate(sure),
    )


def score(stream: Stream, outcomes: Sequence[RoundOutcome]) -> dict[str, Any]:
    """The figures of METHOD section 8 for the rounds that were worked off.

    Parameters
    ----------
    stream
        The stream, with its true labels.
    outcomes
        Its rounds, in order, at least one.

    Returns
    -------
    dict
        The scalar figures, `confusion` (verdict -> true label -> events), `coverage_by_round`, and
        `rules` after the last update.
    """
    answers = worked_off(stream, outcomes)
    rounds = [outcome.verdicts for outcome in outcomes]
    failures = np.concatenate([outcome.failures for outcome in outcomes])
    return {
        "covered_macro_f1": metrics.covered_macro_f1(answers.truth, answers.verdicts),
        "full_macro_f1": metrics.full_macro_f1(answers.truth, answers.verdicts),
        "final_coverage": metrics.final_coverage(rounds),
        "final3_coverage": metrics.final_coverage(rounds, last=3),
        "mean_coverage": metrics.mean_coverage(rounds),
        "regression_rate": metrics.regression_rate(
            [outcome.lost for outcome in outcomes], [outcome.correct for outcome in outcomes]
        ),
        "adaptation_f1": metrics.adaptation_f1(
            stream.table.labels[failures],
            np.concatenate([outcome.repaired for outcome in outcomes]),
        ),
        "unsafe_allowed": metrics.unsafe_allowed(answers.truth, answers.verdicts),
        "safe_refused": metrics.safe_refused(answers.truth, answers.verdicts),
        "confusion": metrics.confusion(answers.truth, answers.verdicts),
        "coverage_by_round": [metrics.coverage(verdicts) for verdicts in rounds],
        "rules": outcomes[-1].rules,
    }


def predict_stream(
    stream: Stream,
    baseline: Baseline,
    policies: Sequence[Policy] | None = None,
    progress: Progress = lambda _: None,
) -> Prediction:
    """A baseline on the stream: predict each round, then learn its feedback.

    Parameters
    ----------
    stream
        The stream.
    baseline
        A fresh learner.
    policies
        The policy that decides each round, for a baseline that is given one (`Advised`).
    progress
        Called after every round.
    """
    labels, sure = [], []
    for number, part in enumerate(stream.rounds):
        if policies is not None and isinstance(baseline, Advised):
            baseline.advise(policies[number])
        said = baseline.predict(stream.asked(part))
        labels.append(said.labels)
        sure.append(said.confidence)
        baseline.learn(stream.told(part))
        progress(1)
    return Prediction(np.concatenate(labels), np.concatenate(sure))


def score_baselines(
    stream: Stream,
    ours: Answers,
    baselines: Mapping[str, Baseline],
    policies: Sequence[Policy] | None = None,
    progress: Mapping[str, Progress] | None = None,
) -> dict[str, dict[str, Any]]:
    """Figures of the baselines on the same stream.

    Parameters
    ----------
    stream
        The stream.
    ours
        What the policy said about all of it.
    baselines
        Fresh learners by name.
    policies
        As in `predict_stream`.
    progress
        Name -> what is called after its rounds.

    Returns
    -------
    dict
        Name -> `covered` (macro-F1 on the events that the policy decided), `full` (on all events),
        `hybrid` (on all events, the baseline answering only where the policy abstains),
        `at_coverage` (on as many events as the policy decided, the ones that the baseline is surest
        of) and `curve` (risk-coverage).
    """
    covered = ours.verdicts != ABSTAIN
    share = metrics.coverage(ours.verdicts)
    found = {}
    for name, baseline in baselines.items():
        told = {"progress": progress[name]} if progress and name in progress else {}
        said = predict_stream(stream, baseline, policies, **told)
        answers = Answers(ours.truth, said.labels, said.confidence)
        found[name] = {
            "covered": metrics.macro_f1(ours.truth[covered], said.labels[covered]),
            "full": metrics.full_macro_f1(ours.truth, said.labels),
            "hybrid": metrics.hybrid_macro_f1(ours.truth, ours.verdicts, said.labels),
            "at_coverage": metrics.at_coverage(ours.truth, said.labels, said.confidence, share),
            "curve": answers.curve(),
        }
    return found
