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
    once: what it adds to both cancels out.

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
        return {each.place[0] for each in self.rated}

    def position(self, resampling: Resampling) -> npt.NDArray[np.intp]:
        return resampling.position([each.place[0] for each in self.rated])

    def says(self, key: str) -> Floats:
        """Share of an item's annotators that say it, shape (items,)."""
        return np.array(
            [
                np.mean([_says(each, name, key) for name in self.names if name in each.said])
                for each in self.rated
            ]
        )

    def question(self, a: str, b: str, key: str) -> tuple[Question, list[str]]:
        """What two annotators say of their common items, and those items' episodes."""
        both = [each for each in self.rated if a in each.said and b in each.said]
        answers = np.array(
            [(_says(each, a, key), _says(each, b, key)) for each in both], dtype=bool
        ).reshape(-1, 2)
        return Question(key, *answers.T), [each.place[0] for each in both]


def _says(each: Rated, name: str, key: str) -> bool:
    judgement = each.said[name]
    return judgement.decision == REFUSE if key == REFUSE else key in judgement.triggers


def _prevalence(
    now: _Side, then: _Side, keys: Sequence[str], resampling: Resampling
) -> list[Change]:
    said = [np.stack([side.says(key) for key in keys], axis=1) for side in (now, then)]
    drawn = []
    for side, values in zip((now, then), said, strict=True):
        position = side.position(resampling)
        items = resampling.sums(np.ones(len(values)), position)
        with np.errstate(divide="ignore", invalid="ignore"):
            drawn.append(resampling.sums(values, position) / items[:, None])
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
    found = []
    for a, b in combinations(names, 2):
        for key in keys:
            one = _pair_drift(now, then, (a, b), key, resampling)
            if one is not None:
                found.append(one)
    return found


def _pair_drift(
    now: _Side, then: _Side, names: tuple[str, str], key: str, resampling: Resampling
) -> PairDrift | None:
    """None where the two have no item in common in one of the releases."""
    values, drawn = [], []
    for side in (now, then):
        question, episodes = side.question(*names, key)
        if not episodes:
            return None
        position = resampling.position(episodes)
        values.append(binaries([question], position, resampling, names)[0].kappa)
        drawn.append(kappas(resampling.sums(cells_of(question), position)))
    is_now, was = values
    if is_now.value is None or was.value is None:
        lacks = is_now if is_now.value is None else was
        change = Estimate(value=None, reason=lacks.reason)
    else:
        change = estimate(is_now.value - was.value, drawn[0] - drawn[1])
    return PairDrift(
        a=names[0],
        b=names[1],
        key=key,
        then=was,
        now=is_now,
        change=change,
        flagged=_beyond(change),
    )


def _beyond(change: Estimate) -> bool:
    """Whether the interval leaves out zero."""
    if change.low is None or change.high is None:
        return False
    return change.low > 0 or change.high < 0


def _share(changed: Sequence[bool]) -> float | None:
    return sum(changed) / len(changed) if changed else None
