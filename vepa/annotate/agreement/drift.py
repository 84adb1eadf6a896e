"""Labels against those of an earlier release: what is said more often, what is said anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from vepa.annotate.agreement.figures import Estimate
from vepa.annotate.agreement.kappa import Question, binaries, cells_of, kappas
from vepa.annotate.agreement.pairs import REFUSE
from vepa.annotate.agreement.ratings import Rated, Ratings
from vepa.annotate.agreement.records import Change, Drift, PairDrift
from vepa.annotate.agreement.sampling import Floats, Resampling, estimate

__all__ = ["drift"]


def drift(now: Ratings, then: Ratings, triggers: Sequence[str], resamples: int, seed: int) -> Drift:
    """Hold labels against earlier ones.

    Episodes are drawn from both releases together, so that one that both have is drawn for both at
    once: what it adds to both cancels out. Prevalence is of steps: a content that many episodes
    share weighs less in a larger corpus, so shares of contents change with size alone.

    Parameters
    ----------
    now, then
        Labels of two releases; contents that a script judged are left out.
    triggers
        Keys that are asked about.
    resamples, seed
        Of the bootstrap.
    """
    ours, theirs = _Side.of(now), _Side.of(then)
    if not ours.rated or not theirs.rated:
        lacks = "these labels" if not ours.rated else "the earlier labels"
        return Drift(
            items_then=len(theirs.rated),
            items_now=len(ours.rated),
            items_both=0,
            prevalence=[],
            kappa=[],
            judged_both=0,
            decision_changed=None,
            triggers_changed=None,
            primary_changed=None,
            reason=f"{lacks} hold no content that only real readers judged",
        )
    resampling = Resampling.drawn(ours.episodes | theirs.episodes, resamples, seed)
    keys = [REFUSE, *triggers]
    both = {each.item: each for each in theirs.rated}
    common = [(each, both[each.item]) for each in ours.rated if each.item in both]
    judged = [
        (each.said[name], before.said[name])
        for each, before in common
        for name in each.said.keys() & before.said.keys()
    ]
    changed = [
        _share([one.decision != other.decision for one, other in judged]),
        _share([set(one.triggers) != set(other.triggers) for one, other in judged]),
        _share([one.primary != other.primary for one, other in judged]),
    ]
    return Drift(
        items_then=len(theirs.rated),
        items_now=len(ours.rated),
        items_both=len(common),
        prevalence=_prevalence(ours, theirs, keys, resampling),
        kappa=_agreement(ours, theirs, keys, resampling),
        judged_both=len(judged),
        decision_changed=changed[0],
        triggers_changed=changed[1],
        primary_changed=changed[2],
        reason=None if judged else "no annotator judged the same content in both",
    )


@dataclass(frozen=True)
class _Side:
    """One release: its items, and who is measured."""

    rated: Sequence[Rated]
    names: Sequence[str]

    @classmethod
    def of(cls, ratings: Ratings) -> _Side:
        names = [each.name for each in ratings.annotators if not each.picked]
        return cls([each for each in ratings.real if each.said.keys() & set(names)], names)

    @property
    def episodes(self) -> set[str]:
        return {trajectory for each in self.rated for trajectory, _ in each.places}

    def steps(self, resampling: Resampling) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Item and episode of every step, shapes (steps,)."""
        places = [
            (at, trajectory) for at, each in enumerate(self.rated) for trajectory, _ in each.places
        ]
        items = np.array([at for at, _ in places], dtype=np.intp)
        return items, resampling.position([trajectory for _, trajectory in places])

    def says(self, keys: Sequence[str]) -> Floats:
        """Share of an item's annotators that say each key, shape (items, keys)."""
        rows = []
        for each in self.rated:
            who = [name for name in self.names if name in each.said]
            rows.append([sum(_says(each, name, key) for name in who) / len(who) for key in keys])
        return np.array(rows, dtype=np.float64)

    def kappas(
        self, names: tuple[str, str], keys: Sequence[str], resampling: Resampling
    ) -> tuple[list[Estimate], Floats] | None:
        """κ of two annotators on each key, and resampled, shape (resamples, keys).

        None where they have no item in common.
        """
        a, b = names
        both = [each for each in self.rated if a in each.said and b in each.said]
        if not both:
            return None
        position = resampling.position([each.place[0] for each in both])
        questions = [
            Question(
                key,
                *np.array([(_says(each, a, key), _says(each, b, key)) for each in both]).T,
            )
            for key in keys
        ]
        cells = np.stack([cells_of(each) for each in questions], axis=1)
        found = binaries(questions, position, resampling, names)
        return [each.kappa for each in found], kappas(resampling.sums(cells, position))


def _says(each: Rated, name: str, key: str) -> bool:
    judgement = each.said[name]
    return judgement.decision == REFUSE if key == REFUSE else key in judgement.triggers


def _prevalence(
    now: _Side, then: _Side, keys: Sequence[str], resampling: Resampling
) -> list[Change]:
    said, drawn = [], []
    for side in (now, then):
        items, position = side.steps(resampling)
        values = side.says(keys)[items]
        steps = resampling.sums(np.ones(len(values)), position)
        with np.errstate(divide="ignore", invalid="ignore"):
            drawn.append(resampling.sums(values, position) / steps[:, None])
        said.append(values)
    moved = drawn[0] - drawn[1]
    changes = []
    for at, key in enumerate(keys):
        is_now, was = (float(values[:, at].mean()) for values in said)
        change = estimate(is_now - was, moved[:, at])
        changes.append(
            Change(key=key, then=was, now=is_now, change=change, flagged=_beyond(change))
        )
    return changes


def _agreement(
    now: _Side, then: _Side, keys: Sequence[str], resampling: Resampling
) -> list[PairDrift]:
    names = [name for name in now.names if name in then.names]
    found: list[PairDrift] = []
    for pair in combinations(names, 2):
        sides = [side.kappas(pair, keys, resampling) for side in (now, then)]
        if sides[0] is None or sides[1] is None:
            continue
        (is_now, drawn_now), (was, drawn_then) = sides[0], sides[1]
        moved = drawn_now - drawn_then
        for at, key in enumerate(keys):
            change = _moved(is_now[at], was[at], moved[:, at])
            found.append(
                PairDrift(
                    a=pair[0],
                    b=pair[1],
                    key=key,
                    then=was[at],
                    now=is_now[at],
                    change=change,
                    flagged=_beyond(change),
                )
            )
    return found


def _moved(now: Estimate, then: Estimate, drawn: Floats) -> Estimate:
    if now.value is None or then.value is None:
        lacks = now if now.value is None else then
        return Estimate(value=None, reason=lacks.reason)
    return estimate(now.value - then.value, drawn)


def _beyond(change: Estimate) -> bool:
    """Whether the interval leaves out zero."""
    if change.low is None or change.high is None:
        return False
    return change.low > 0 or change.high < 0


def _share(changed: Sequence[bool]) -> float | None:
    return sum(changed) / len(changed) if changed else None
