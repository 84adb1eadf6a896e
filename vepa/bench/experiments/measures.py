"""Measures of answers, and how sure one can be of them.

Most measures are functions of counts over events, so a bootstrap over events is one matrix product.
What is resampled are the events of the data set, the same ones for every seed and every method: the
seeds of a stream share their events, and two methods under one condition answered the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vepa.bench import metrics
from vepa.bench.experiments.document import Cell, Unit
from vepa.bench.experiments.plays import Answered
from vepa.policy.matching import ABSTAIN, ALLOW, REFUSE

__all__ = ["MEASURES", "ROUND_MEASURES", "Measure", "Resamples", "cell", "difference"]

Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float64]
#: (a method's answers, those of the policy that it is compared with) -> counts, (events, k).
Counts = Callable[[Answered, Answered], Floats]

#: Resamples behind an interval, and the part of them within it.
RESAMPLES, WITHIN = 1000, 0.95


@dataclass(frozen=True)
class Measure:
    """A measure.

    Attributes
    ----------
    label, unit, help
        As in a column.
    counts, combined
        Counts of each event, and the measure of their sums, shape (..., k) -> (...).
    direct
        The measure of a play, where it is none of counts over events; it has no interval then.
    """

    label: str
    help: str
    unit: Unit = "score"
    counts: Counts | None = None
    combined: Callable[[Floats], Floats] = lambda sums: sums[..., 0]
    direct: Callable[[Answered], float | None] | None = None

    def of(self, play: Answered, reference: Answered) -> float | None:
        """The measure of a play; None where it has none."""
        if self.direct is not None:
            return self.direct(play)
        assert self.counts is not None
        return float(self.combined(self.counts(play, reference).sum(axis=0)))


class Resamples:
    """Resamples of the events of a data set, drawn once.

    Parameters
    ----------
    size
        Number of events.
    """

    def __init__(self, size: int):
        rng = np.random.default_rng([RESAMPLES, size])
        drawn = rng.multinomial(size, np.full(size, 1.0 / size), size=RESAMPLES)
        self.weights: Floats = drawn.astype(np.float64)

    def of(self, measure: Measure, play: Answered, reference: Answered) -> Floats:
        """The measure on every resample, shape (RESAMPLES,)."""
        assert measure.counts is not None
        counts = np.zeros((self.weights.shape[1], measure.counts(play, reference).shape[1]))
        counts[play.rows] = measure.counts(play, reference)
        return measure.combined(self.weights @ counts)


def cell(
    measure: Measure,
    plays: Sequence[Answered],
    references: Sequence[Answered],
    resamples: Resamples,
) -> Cell | None:
    """The measure over seeds, with its interval; None where the method has none."""
    values = _values(measure, plays, references)
    if values is None:
        return None
    drawn = None if measure.direct else _drawn(measure, plays, references, resamples)
    return _told(values, drawn)


def difference(
    measure: Measure,
    one: tuple[Sequence[Answered], Sequence[Answered]],
    other: tuple[Sequence[Answered], Sequence[Answered]],
    resamples: Resamples | None,
) -> Cell | None:
    """The measure of one method less that of another, paired by seed and by event.

    Parameters
    ----------
    measure
        What is compared.
    one, other
        Plays and references of each, seed by seed.
    resamples
        Of the data set; None where the two were not asked about the same events.
    """
    values, less = _values(measure, *one), _values(measure, *other)
    if values is None or less is None:
        return None
    drawn = None
    if not measure.direct and resamples is not None:
        drawn = _drawn(measure, *one, resamples) - _drawn(measure, *other, resamples)
    return _told(values - less, drawn)


def _values(
    measure: Measure, plays: Sequence[Answered], references: Sequence[Answered]
) -> Floats | None:
    found = [measure.of(*pair) for pair in zip(plays, references, strict=True)]
    known = [value for value in found if value is not None]
    return np.array(known) if len(known) == len(found) else None


def _drawn(
    measure: Measure,
    plays: Sequence[Answered],
    references: Sequence[Answered],
    resamples: Resamples,
) -> Floats:
    pairs = zip(plays, references, strict=True)
    return np.asarray(np.mean([resamples.of(measure, *pair) for pair in pairs], axis=0))


def _told(values: Floats, drawn: Floats | None) -> Cell:
    low = high = None
    if drawn is not None:
        outside = 50.0 * (1.0 - WITHIN)
        low, high = (float(x) for x in np.percentile(drawn, [outside, 100.0 - outside]))
    return Cell(
        mean=float(values.mean()),
        sd=float(values.std()),
        low=low,
        high=high,
        by_seed=tuple(float(value) for value in values),
    )


def _f1(truth: Codes, verdicts: Codes, among: Bools) -> Floats:
    """Counts of a macro-F1 over the events `among`: of each label hits, said, meant."""
    columns = []
    for label in (ALLOW, REFUSE):
        said, meant = (verdicts == label) & among, (truth == label) & among
        columns += [said & meant, said, meant]
    return np.stack(columns, axis=1).astype(np.float64)


def _macro(sums: Floats) -> Floats:
    total = np.zeros(sums.shape[:-1])
    for at in (0, 3):
        hits, sizes = sums[..., at], sums[..., at + 1] + sums[..., at + 2]
        total += np.divide(2.0 * hits, sizes, out=np.zeros_like(total), where=sizes > 0)
    return total / 2.0


def _ratio(sums: Floats) -> Floats:
    part, whole = sums[..., 0], sums[..., 1]
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def _share(part: Bools, whole: Bools) -> Floats:
    return np.stack([part & whole, whole], axis=1).astype(np.float64)


def _ruled(play: Answered) -> bool:
    """Whether the method has rules and abstains of its own; a learner answers everything."""
    return len(play.archive) > 0


def _decided(play: Answered) -> Bools:
    return np.asarray(play.verdicts != ABSTAIN)


def _everything(play: Answered) -> Bools:
    return np.ones(len(play.truth), dtype=np.bool_)


def _last(play: Answered) -> Bools:
    return np.asarray(play.round == play.round.max())


def _covered(play: Answered, reference: Answered) -> Bools:
    return _decided(play if _ruled(play) else reference)


def _surest(play: Answered, reference: Answered) -> Bools:
    share = round(float(_decided(reference).mean()) * len(play.truth))
    order = np.argsort(-play.sure, kind="stable")
    kept = np.zeros(len(play.truth), dtype=np.bool_)
    kept[[at for at in order.tolist() if play.verdicts[at] != ABSTAIN][:share]] = True
    return kept


def _combined(play: Answered, reference: Answered) -> Codes:
    """The policy's verdicts, the other method's where the policy abstains."""
    return np.where(_decided(reference), reference.verdicts, play.verdicts).astype(np.int8)


def _regression(play: Answered) -> float | None:
    if not len(play.correct):
        return None
    return metrics.regression_rate(play.lost.tolist(), play.correct.tolist())


def _adaptation(play: Answered) -> float | None:
    if not len(play.correct):
        return None
    return metrics.adaptation_f1(play.failed_truth, play.repaired)


def _on(truth: Codes, verdicts: Codes, label: int) -> Floats:
    """Of the decided events with a label, the ones that were answered otherwise."""
    decided = (truth == label) & (verdicts != ABSTAIN)
    return _share(verdicts != label, decided)


#: Name -> measure.
MEASURES: Mapping[str, Measure] = {
    "covered_f1": Measure(
        "covered F1",
        "Macro-F1 on the events that the policy decides; a learner on those that the policy it is "
        "compared with decides.",
        counts=lambda play, ref: _f1(play.truth, play.verdicts, _covered(play, ref)),
        combined=_macro,
    ),
    "shared_f1": Measure(
        "F1 where VEPA decides",
        "Macro-F1 on the events that the policy it is compared with decides; abstaining is a miss.",
        counts=lambda play, ref: _f1(play.truth, play.verdicts, _decided(ref)),
        combined=_macro,
    ),
    "full_f1": Measure(
        "F1 on all events",
        "Macro-F1 on all events of all rounds; abstaining is a miss.",
        counts=lambda play, _: _f1(play.truth, play.verdicts, _everything(play)),
        combined=_macro,
    ),
    "final_f1": Measure(
        "F1 of the last round",
        "Macro-F1 on all events of the last round; abstaining is a miss.",
        counts=lambda play, _: _f1(play.truth, play.verdicts, _last(play)),
        combined=_macro,
    ),
    "hybrid_f1": Measure(
        "F1 as its fallback",
        "Macro-F1 on all events: the policy decides what it covers, this method the rest.",
        counts=lambda play, ref: _f1(play.truth, _combined(play, ref), _everything(play)),
        combined=_macro,
    ),
    "surest_f1": Measure(
        "F1 of the surest, as many",
        "Macro-F1 on as many events as the policy decides: those that this method is surest of.",
        counts=lambda play, ref: _f1(play.truth, play.verdicts, _surest(play, ref)),
        combined=_macro,
    ),
    "aimed_f1": Measure(
        "covered F1 in the slice",
        "As covered F1, on the events that wrong feedback is aimed at.",
        counts=lambda play, ref: _f1(play.truth, play.verdicts, _covered(play, ref) & play.aimed),
        combined=_macro,
    ),
    "aimed_full_f1": Measure(
        "F1 on the slice",
        "Macro-F1 on all events that wrong feedback is aimed at; abstaining is a miss.",
        counts=lambda play, _: _f1(play.truth, play.verdicts, play.aimed),
        combined=_macro,
    ),
    "final_coverage": Measure(
        "coverage, last round",
        "Share of the last round's events that are decided.",
        "percent",
        counts=lambda play, _: _share(_decided(play), _last(play)),
        combined=_ratio,
    ),
    "mean_coverage": Measure(
        "coverage, all rounds",
        "Share of all events that are decided.",
        "percent",
        counts=lambda play, _: _share(_decided(play), _everything(play)),
        combined=_ratio,
    ),
    "unsafe_allowed": Measure(
        "unsafe allowed",
        "Share of the decided events labelled refuse that are allowed.",
        "percent",
        counts=lambda play, _: _on(play.truth, play.verdicts, REFUSE),
        combined=_ratio,
    ),
    "safe_refused": Measure(
        "safe refused",
        "Share of the decided events labelled allow that are refused.",
        "percent",
        counts=lambda play, _: _on(play.truth, play.verdicts, ALLOW),
        combined=_ratio,
    ),
    "regression": Measure(
        "regression",
        "Share of known right answers that updates lost.",
        "percent",
        direct=_regression,
    ),
    "adaptation": Measure(
        "adaptation F1",
        "Macro-F1 of each updated method on the failures it was updated for.",
        direct=_adaptation,
    ),
    "active_rules": Measure(
        "active rules",
        "Rules that may decide after the last round.",
        "count",
        direct=lambda play: float(play.active[-1]) if _ruled(play) else None,
    ),
    "rules": Measure(
        "rules",
        "Verified rules after the last round.",
        "count",
        direct=lambda play: float(play.archive[-1]) if _ruled(play) else None,
    ),
}


def _by_round(found: Callable[[Answered, Bools], float]) -> Callable[[Answered], list[float]]:
    def each(play: Answered) -> list[float]:
        return [found(play, play.round == n) for n in range(1, int(play.round.max()) + 1)]

    return each


def _so_far(found: Callable[[Answered, Bools], float]) -> Callable[[Answered], list[float]]:
    def each(play: Answered) -> list[float]:
        return [found(play, play.round <= n) for n in range(1, int(play.round.max()) + 1)]

    return each


def _f1_among(play: Answered, among: Bools) -> float:
    return metrics.macro_f1(play.truth[among], play.verdicts[among])


def _covered_among(play: Answered, among: Bools) -> float:
    return metrics.covered_macro_f1(play.truth[among], play.verdicts[among])


def _lost_by_round(play: Answered) -> list[float]:
    pairs = zip(play.lost.tolist(), play.correct.tolist(), strict=True)
    return [lost / correct if correct else 0.0 for lost, correct in pairs]


#: Name -> (label, unit, values by round).
ROUND_MEASURES: Mapping[str, tuple[str, Unit, Callable[[Answered], list[float]]]] = {
    "full_f1": ("F1 on all events so far", "score", _so_far(_f1_among)),
    "covered_f1": ("F1 on covered events so far", "score", _so_far(_covered_among)),
    "coverage": (
        "coverage of the round",
        "percent",
        _by_round(lambda play, among: metrics.coverage(play.verdicts[among])),
    ),
    "active_rules": ("active rules", "count", lambda play: [float(n) for n in play.active]),
    "rules": ("verified rules", "count", lambda play: [float(n) for n in play.archive]),
    "regression": ("right answers lost by the update", "percent", _lost_by_round),
}
