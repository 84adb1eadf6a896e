"""A figure of the source, ours beside it, and whether ours moves the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vepa.bench.experiments.catalogue import BesideSpec
from vepa.bench.experiments.document import Beside, Cell, Unit
from vepa.bench.experiments.measures import MEASURES
from vepa.bench.experiments.telling import value

if TYPE_CHECKING:
    from vepa.bench.experiments.working_out import Worked

__all__ = ["compared", "moved"]


def compared(worked: Worked, spec: BesideSpec) -> Beside:
    """Ours beside a figure of the source, and what can be said of the two."""
    place = (spec.condition, spec.method)
    signed = spec.less is not None or spec.less_condition is not None
    if signed:
        other = (spec.less_condition or spec.condition, spec.less or spec.method)
        ours = worked.difference(spec.measure, place, other)
    else:
        ours = worked.cell(*place, spec.measure)
    unit = MEASURES[spec.measure].unit
    needs = "" if ours is not None else worked.needs(*place)
    verdict, same = _verdict(ours, spec.source, signed, unit)
    return Beside(
        what=spec.what,
        source=spec.source,
        source_method=spec.whose,
        place=spec.place,
        ours=ours,
        ours_method=worked.title(spec.method),
        needs=needs,
        verdict=verdict,
        why="" if same else spec.why,
        unit=unit,
        signed=signed,
    )


def _verdict(ours: Cell | None, source: float, signed: bool, unit: Unit) -> tuple[str, bool]:
    if ours is None:
        return "NOT RUN", True
    if signed:
        return moved(ours, source, unit)
    apart = ours.mean - source
    if abs(apart) < 0.005:
        return "ours is the same", True
    way = "above" if apart > 0 else "below"
    # Of percentages it is points that one is above the other, not percent.
    size = value(abs(apart), unit).replace(" %", " points")
    return f"ours is {size} {way} the source's", True


def moved(ours: Cell, source: float, unit: Unit) -> tuple[str, bool]:
    """Whether a difference goes the way of the source's, in a sentence, and as a boolean.

    A difference whose interval holds zero does not move; without an interval, one that is smaller
    than its deviation over the seeds.
    """
    low, high = ours.low, ours.high
    if low is None or high is None:
        low, high = ours.mean - ours.sd, ours.mean + ours.sd
    told = f"{value(ours.mean, unit, signed=True)} against {value(source, unit, signed=True)}"
    if low <= 0.0 <= high:
        return f"does not move: {told}", False
    if (ours.mean < 0.0) != (source < 0.0):
        return f"moves the other way: {told}", False
    return f"moves the same way: {told}", True
