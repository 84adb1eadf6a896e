"""How figures are told to people: the page, the pictures and Markdown spell them alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vepa.bench.experiments.document import Cell, Unit

__all__ = [
    "NOTHING",
    "NOT_RUN",
    "axis_value",
    "interval",
    "mean_and_deviation",
    "over_seeds",
    "seeds_of",
    "value",
]

#: Where no figure was worked out.
NOTHING = "–"
#: What a row says that was not run.
NOT_RUN = "NOT RUN"
_MINUS = "\N{MINUS SIGN}"


def value(number: float, unit: Unit, *, signed: bool = False) -> str:
    """A figure with its unit.

    Parameters
    ----------
    number
        The figure; a share between 0 and 1 where the unit is `percent`.
    unit
        How it is told.
    signed
        Whether it is a difference: then `+` is written too.

    Examples
    --------
    >>> value(0.8125, "score"), value(0.8125, "percent"), value(1234.0, "count")
    ('0.812', '81.2 %', '1,234')
    """
    told = _bare(number, unit, signed=signed)
    return f"{told} %" if unit == "percent" else told


def mean_and_deviation(cell: Cell, unit: Unit, *, signed: bool = False) -> str:
    """The mean over the seeds and one standard deviation.

    Examples
    --------
    >>> mean_and_deviation(Cell(mean=0.8125, sd=0.0131), "percent")
    '81.2 ± 1.3 %'
    """
    told = " ± ".join(
        (_bare(cell.mean, unit, signed=signed, whole=False), _bare(cell.sd, unit, whole=False))
    )
    return f"{told} %" if unit == "percent" else told


def interval(low: float | None, high: float | None, unit: Unit, *, signed: bool = False) -> str:
    """Both ends of an interval in brackets; nothing where none was worked out."""
    if low is None or high is None:
        return ""
    ends = ", ".join(_bare(end, unit, signed=signed) for end in (low, high))
    return f"[{ends}]"


def over_seeds(config: Mapping[str, Any]) -> str:
    """What every figure is, in plain words.

    Examples
    --------
    >>> over_seeds({"seeds": [0, 1, 2]}).partition(";")[0]
    'Every figure is a mean over 3 seeds (0, 1, 2)'
    """
    seeds = seeds_of(config)
    brackets = "brackets are the 95 % interval of the mean when events are resampled."
    if len(seeds) == 1:
        return f"Every figure is that of one seed ({seeds[0]}), so ± is 0; {brackets}"
    named = ", ".join(str(seed) for seed in seeds)
    over = f"{len(seeds)} seeds ({named})" if seeds else "the seeds"
    return f"Every figure is a mean over {over}; ± is one standard deviation over them, {brackets}"


def seeds_of(config: Mapping[str, Any]) -> list[object]:
    """The seeds that a report's settings name; none where they do not."""
    seeds = config.get("seeds")
    return list(seeds) if isinstance(seeds, list | tuple) else []


def axis_value(number: float, unit: Unit | None = None, *, exact: bool = False) -> str:
    """A figure at a tick of an axis, as short as it can be; without a unit a plain number.

    Parameters
    ----------
    number, unit
        The figure.
    exact
        Whether a large number keeps all its digits.

    Examples
    --------
    >>> axis_value(0.8, "score"), axis_value(0.25, "percent"), axis_value(20000)
    ('0.8', '25 %', '20k')
    """
    if unit == "percent":
        return f"{_plain(100 * number)} %"
    size = 0.0 if exact else abs(number)
    for least, letter in ((1_000_000, "M"), (1_000, "k")):
        if size >= least:
            return f"{_plain(number / least)}{letter}"
    return _plain(number)


def _plain(number: float) -> str:
    told = f"{number:.12g}" if abs(number) >= 1e-4 or number == 0 else f"{number:.2g}"
    return told.replace("-", _MINUS)


def _bare(number: float, unit: Unit, *, signed: bool = False, whole: bool = True) -> str:
    sign = "+" if signed else ""
    if unit == "score":
        told = f"{number:{sign}.3f}"
    elif unit == "percent":
        told = f"{100 * number:{sign}.1f}"
    else:
        told = f"{number:{sign},.1f}"
        told = told.removesuffix(".0") if whole else told
    if not told.strip("+-0.,"):  # a zero has no sign
        told = told.lstrip("+-")
    return told.replace("-", _MINUS)
