"""Cohen's κ, raw and specific agreement: of yes-or-no questions, and of keys that are named.

The figure of the sample is scikit-learn's; resamples are computed from tables of counts, all at
once, and tests hold the two against each other. κ with a rater who always says the same is 0
whatever the other says, so it tells nothing: it is not defined here, and no resample like that
enters an interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vepa.annotate.agreement.figures import Binary, Nominal
from vepa.annotate.agreement.sampling import Floats, Resampling, estimate
from vepa.errors import MissingExtraError

__all__ = [
    "FEW",
    "Bools",
    "Names",
    "Question",
    "binaries",
    "cells_of",
    "kappa_of",
    "kappas",
    "nominal",
    "nominal_kappas",
]

Bools = npt.NDArray[np.bool_]
Names = tuple[str, str]
#: With fewer items that one of the two says it of, a κ hangs on single items.
FEW = 5


@dataclass(frozen=True)
class Question:
    """Something that each of two annotators says or does not say.

    Attributes
    ----------
    key
        What.
    a, b
        Whether each says it, shape (items,).
    among
        Which items count, shape (items,); all when None.
    """

    key: str
    a: Bools
    b: Bools
    among: Bools | None = None


def binaries(
    questions: Sequence[Question],
    position: npt.NDArray[np.intp],
    resampling: Resampling,
    names: Names,
) -> list[Binary]:
    """Agreement on each question.

    Parameters
    ----------
    questions
        About the same items.
    position
        Place of each item's episode, shape (items,).
    resampling
        Of the episodes.
    names
        Of the two annotators, for reasons.
    """
    if not questions:
        return []
    cells = np.stack([cells_of(each) for each in questions], axis=1)
    resampled = resampling.sums(cells, position)
    return [
        _binary(each, cells[:, at].sum(axis=0), resampled[:, at], names)
        for at, each in enumerate(questions)
    ]


def cells_of(question: Question) -> npt.NDArray[np.int64]:
    """One of four cells an item (both, only a, only b, neither), shape (items, 4)."""
    a, b = question.a, question.b
    cells = np.stack([a & b, a & ~b, ~a & b, ~a & ~b], axis=1)
    if question.among is not None:
        cells = cells & question.among[:, None]
    return cells.astype(np.int64)


def kappas(cells: Floats) -> Floats:
    """κ of tables of counts: shape (…, 4) to (…); not a number where it is not defined."""
    both, only_a, only_b, neither = np.moveaxis(cells, -1, 0)
    total = both + only_a + only_b + neither
    of_a, of_b = both + only_a, both + only_b
    constant = (of_a == 0) | (of_a == total) | (of_b == 0) | (of_b == total)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_chance = (of_a * of_b + (total - of_a) * (total - of_b)) / total**2
        found = ((both + neither) / total - by_chance) / (1 - by_chance)
    return np.where(constant, np.nan, found)


def kappa_of(a: npt.NDArray[np.int_], b: npt.NDArray[np.int_], weights: Floats | None) -> float:
    """κ of two lists of keys, by scikit-learn; items may count several times."""
    try:
        from sklearn.metrics import cohen_kappa_score
    except ImportError:
        raise MissingExtraError("scikit-learn", "pipeline") from None
    return float(cohen_kappa_score(a, b, sample_weight=weights))


def _binary(
    question: Question, table: npt.NDArray[np.int64], drawn: Floats, names: Names
) -> Binary:
    both, only_a, only_b, neither = (int(count) for count in table)
    total, of_a, of_b = both + only_a + only_b + neither, both + only_a, both + only_b
    reason = _not_defined(of_a, of_b, total, names)
    kept = slice(None) if question.among is None else question.among
    value = None
    if reason is None:
        value = kappa_of(question.a[kept].astype(int), question.b[kept].astype(int), None)
    with np.errstate(divide="ignore", invalid="ignore"):
        yes, no = 2 * drawn[:, 0], 2 * drawn[:, 3]
        apart = drawn[:, 1] + drawn[:, 2]
        raw = (drawn[:, 0] + drawn[:, 3]) / drawn.sum(axis=1)
        positive, negative = yes / (yes + apart), no / (no + apart)
    differ = only_a + only_b
    return Binary(
        key=question.key,
        both=both,
        only_a=only_a,
        only_b=only_b,
        neither=neither,
        prevalence_a=_ratio(of_a, total),
        prevalence_b=_ratio(of_b, total),
        prevalence=_ratio(of_a + of_b, 2 * total),
        kappa=estimate(value, kappas(drawn), reason),
        raw=estimate(_ratio(both + neither, total), raw, "no items"),
        positive=estimate(_ratio(2 * both, 2 * both + differ), positive, "nobody says it"),
        negative=estimate(_ratio(2 * neither, 2 * neither + differ), negative, "all say it of all"),
        unstable=min(of_a, of_b) < FEW,
    )


def _not_defined(of_a: int, of_b: int, total: int, names: Names) -> str | None:
    """Why there is no κ."""
    if not total:
        return "no items"
    words = {0: "never", total: "always"}
    constant = [
        f"{name} {words[count]} says it"
        for name, count in zip(names, (of_a, of_b), strict=True)
        if count in words
    ]
    return " and ".join(constant) or None


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def nominal(
    key: str,
    named: Sequence[tuple[str | None, str | None]],
    position: npt.NDArray[np.intp],
    resampling: Resampling,
    names: Names,
) -> Nominal:
    """Agreement on a key that both name.

    Parameters
    ----------
    key
        What is named.
    named
        By a and by b, one an item; items of which one names none are left out.
    position, resampling, names
        As for `binaries`.
    """
    kept = [at for at, (a, b) in enumerate(named) if a is not None and b is not None]
    pairs = [(str(named[at][0]), str(named[at][1])) for at in kept]
    categories = sorted({name for pair in pairs for name in pair})
    code = {name: at for at, name in enumerate(categories)}
    a = np.array([code[one] for one, _ in pairs], dtype=np.intp)
    b = np.array([code[other] for _, other in pairs], dtype=np.intp)
    size = len(categories)
    counts = np.zeros((size, size), dtype=np.int64)
    np.add.at(counts, (a, b), 1)
    cells = np.zeros((len(kept), size, size), dtype=np.int8)
    cells[np.arange(len(kept)), a, b] = 1
    drawn = resampling.sums(cells, position[kept])
    reason = _one_category(counts, categories, names)
    with np.errstate(divide="ignore", invalid="ignore"):
        same = np.trace(drawn, axis1=1, axis2=2) / drawn.sum(axis=(1, 2))
    raw = float(np.trace(counts) / len(kept)) if kept else None
    return Nominal(
        key=key,
        items=len(kept),
        categories=categories,
        counts=counts.tolist(),
        kappa=estimate(None if reason else kappa_of(a, b, None), nominal_kappas(drawn), reason),
        raw=estimate(raw, same, "no items"),
    )


def nominal_kappas(tables: Floats) -> Floats:
    """κ of square tables of counts, shape (…, categories, categories) to (…)."""
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    total = rows.sum(axis=-1)
    constant = ((rows > 0).sum(axis=-1) < 2) | ((columns > 0).sum(axis=-1) < 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_chance = (rows * columns).sum(axis=-1) / total**2
        same = np.trace(tables, axis1=-2, axis2=-1) / total
        found = (same - by_chance) / (1 - by_chance)
    return np.where(constant, np.nan, found)


def _one_category(
    counts: npt.NDArray[np.int64], categories: Sequence[str], names: Names
) -> str | None:
    if not counts.sum():
        return "no item of which both name one"
    constant = [
        f"{name} always says {categories[int(np.argmax(named))]}"
        for name, named in zip(names, (counts.sum(axis=1), counts.sum(axis=0)), strict=True)
        if (named > 0).sum() < 2
    ]
    return " and ".join(constant) or None
