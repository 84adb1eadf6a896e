"""Sentences about an experiment, worked out from its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from vepa.bench.experiments.document import Cell
from vepa.bench.experiments.measures import MEASURES
from vepa.bench.experiments.telling import value

if TYPE_CHECKING:
    from vepa.bench.experiments.working_out import Worked

__all__ = ["findings"]


def findings(worked: Worked) -> Iterator[str]:
    """What the numbers say, one sentence each."""
    yield from _strongest(worked)
    yield from _same_policies(worked)


def _strongest(worked: Worked) -> Iterator[str]:
    """Under every condition: the policy beside the best other method, by the first measure."""
    key, against = worked.spec.measures[0], worked.spec.against
    measure = MEASURES[key]
    if measure.unit == "count":
        return
    for condition in worked.spec.conditions:
        ours = worked.cell(condition.name, against, key)
        others = {
            method: found
            for method in worked.spec.methods
            if worked.plan.catalogue.methods[method].learner is not None
            and (found := worked.cell(condition.name, method, key)) is not None
        }
        if ours is None or not others:
            continue
        best = max(others, key=lambda method: (others[method].mean, method))
        apart = worked.difference(key, (condition.name, against), (condition.name, best))
        assert apart is not None
        yield (
            f"{_capital(worked.condition(condition))}, {measure.label}: {worked.title(against)} "
            f"{value(ours.mean, measure.unit)}, the best other method ({worked.title(best)}) "
            f"{value(others[best].mean, measure.unit)}; {_apart(apart)}."
        )


def _apart(found: Cell) -> str:
    low, high = found.low, found.high
    told = f"a difference of {value(found.mean, 'score', signed=True)}"
    if low is None or high is None:
        return f"{told} (deviation over shuffles {found.sd:.3f})"
    sure = "" if low > 0.0 or high < 0.0 else ", so neither is surely ahead"
    ends = " to ".join(value(end, "score", signed=True) for end in (low, high))
    return f"{told} (95 % interval {ends}){sure}"


def _same_policies(worked: Worked) -> Iterator[str]:
    for condition in worked.spec.conditions:
        for one, other in worked.spec.same_policy:
            a, b = (worked.answers.get((condition.name, method)) for method in (one, other))
            if a is None or b is None:
                continue
            same = sum(
                x.told["policy_hash"] == y.told["policy_hash"] for x, y in zip(a, b, strict=True)
            )
            yield (
                f"{_capital(worked.condition(condition))}: {worked.title(one)} and "
                f"{worked.title(other)} end with the same policy in {same} of {len(a)} shuffles."
            )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
