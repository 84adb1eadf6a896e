"""The figures of METHOD section 8, from arrays of true labels and verdicts.

Codes are those of `vepa.policy.matching`: `ALLOW` 0, `REFUSE` 1, `ABSTAIN` -1. Macro-F1 is always
the mean over the two classes `allow` and `refuse`, a class that never occurs counting 0, so that a
policy with rules of one decision alone cannot look perfect.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from vepa.policy.matching import ABSTAIN, ALLOW, REFUSE

__all__ = [
    "adaptation_f1",
    "at_coverage",
    "confusion",
    "coverage",
    "covered_macro_f1",
    "final_coverage",
    "full_macro_f1",
    "hybrid_macro_f1",
    "losses",
    "macro_f1",
    "mean_coverage",
    "regression_rate",
    "risk_coverage",
    "safe_refused",
    "unsafe_allowed",
]

Labels = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float64]


def macro_f1(truth: Labels, verdicts: Labels) -> float:
    """Mean F1 of `allow` and `refuse`; an abstention is a miss of its true class, and nothing else.

    Examples
    --------
    >>> macro_f1(np.array([0, 0, 1, 1], np.int8), np.array([0, 1, 1, -1], np.int8))
    0.5833333333333333
    """
    total = 0.0
    for label in (ALLOW, REFUSE):
        said, meant = verdicts == label, truth == label
        sizes = int(said.sum()) + int(meant.sum())
        total += 2.0 * int((said & meant).sum()) / sizes if sizes else 0.0
    return total / 2.0


def covered_macro_f1(truth: Labels, verdicts: Labels) -> float:
    """Macro-F1 over the events that were decided; 0 when there are none."""
    covered = verdicts != ABSTAIN
    return macro_f1(truth[covered], verdicts[covered])


def full_macro_f1(truth: Labels, verdicts: Labels) -> float:
    """Macro-F1 over all events: an abstention is a false negative, and no false positive."""
    return macro_f1(truth, verdicts)


def hybrid_macro_f1(truth: Labels, verdicts: Labels, fallback: Labels) -> float:
    """Macro-F1 over all events when another method answers where the policy abstains.

    Examples
    --------
    >>> said = np.array([0, -1, -1], np.int8)
    >>> hybrid_macro_f1(np.array([0, 1, 1], np.int8), said, np.array([1, 1, 1], np.int8))
    1.0
    """
    return macro_f1(truth, np.where(verdicts == ABSTAIN, fallback, verdicts))


def confusion(truth: Labels, verdicts: Labels) -> dict[str, dict[str, int]]:
    """Events by verdict, then by true label.

    Examples
    --------
    >>> confusion(np.array([0, 1, 1], np.int8), np.array([0, 0, -1], np.int8))["allow"]
    {'allow': 1, 'refuse': 1}
    """
    return {
        said: {
            meant: int(((verdicts == code) & (truth == label)).sum())
            for meant, label in (("allow", ALLOW), ("refuse", REFUSE))
        }
        for said, code in (("allow", ALLOW), ("refuse", REFUSE), ("abstain", ABSTAIN))
    }


def unsafe_allowed(truth: Labels, verdicts: Labels) -> float:
    """Share of the decided unsafe events (label `refuse`) that were allowed; 0 of none."""
    return _missed(truth, verdicts, REFUSE)


def safe_refused(truth: Labels, verdicts: Labels) -> float:
    """Share of the decided safe events (label `allow`) that were refused; 0 of none."""
    return _missed(truth, verdicts, ALLOW)


def _missed(truth: Labels, verdicts: Labels, label: int) -> float:
    decided = verdicts[(truth == label) & (verdicts != ABSTAIN)]
    return float((decided != label).mean()) if len(decided) else 0.0


def adaptation_f1(truth: Labels, repaired: Labels) -> float:
    """Macro-F1 of post-update policies on the failures they were updated for; 0 without any."""
    return macro_f1(truth, repaired)


def coverage(verdicts: Labels) -> float:
    """Share of events that were decided; 0 of none."""
    return float((verdicts != ABSTAIN).mean()) if len(verdicts) else 0.0


def mean_coverage(rounds: Sequence[Labels]) -> float:
    """Share of the whole stream that was decided (all rounds pooled)."""
    return coverage(np.concatenate(rounds)) if rounds else 0.0


def final_coverage(rounds: Sequence[Labels], last: int = 1) -> float:
    """Coverage pooled over the last rounds."""
    return mean_coverage(rounds[-last:])


def losses(truth: Labels, before: Labels, after: Labels) -> int:
    """Events that were decided rightly before and are not after; abstaining counts as a loss."""
    return int(((before == truth) & (after != truth)).sum())


def regression_rate(lost: Sequence[int], sizes: Sequence[int]) -> float:
    """Share of correct behaviour lost, pooled over updates; 0 when there was none to lose.

    Parameters
    ----------
    lost
        Per update, the examples of the correct archive that the old active policy decided rightly
        and the new one does not.
    sizes
        Per update, the size of the correct archive.
    """
    return sum(lost) / sum(sizes) if sum(sizes) else 0.0


def at_coverage(truth: Labels, verdicts: Labels, confidence: Floats, share: float) -> float:
    """Macro-F1 of a method that decides only the `share` of events it is surest of."""
    kept = _surest(confidence, verdicts)[: round(share * len(truth))]
    return macro_f1(truth[kept], verdicts[kept])


def risk_coverage(
    truth: Labels, verdicts: Labels, confidence: Floats, shares: Sequence[float]
) -> list[dict[str, float]]:
    """The risk-coverage curve of a method that abstains where it is least sure.

    Parameters
    ----------
    truth, verdicts, confidence
        One an event; ties in confidence are broken by position.
    shares
        Coverages to look at, in (0, 1]; those above the method's own coverage are left out.

    Returns
    -------
    list of dict
        `coverage`, `risk` (share of wrong decisions among those made), `f1` (macro).
    """
    order = _surest(confidence, verdicts)
    curve = []
    for share in shares:
        size = round(share * len(truth))
        if not 0 < size <= len(order):
            continue
        kept = order[:size]
        risk = float((verdicts[kept] != truth[kept]).mean())
        curve.append({"coverage": share, "risk": risk, "f1": macro_f1(truth[kept], verdicts[kept])})
    return curve


def _surest(confidence: Floats, verdicts: Labels) -> npt.NDArray[np.intp]:
    """Positions of the decided events, surest first."""
    order = np.argsort(-confidence, kind="stable")
    decided: npt.NDArray[np.intp] = order[verdicts[order] != ABSTAIN]
    return decided
