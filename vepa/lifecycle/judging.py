"""What it would take to judge a corpus that is not collected yet, or only in part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vepa.annotate.forecast import ANSWER_TOKENS, ARBITER_SHARE, forecast
from vepa.annotate.panel import Seat
from vepa.annotate.runs.plan import AnnotationPlan
from vepa.collect.orders import Order
from vepa.corpus.trajectory import stream_trajectories
from vepa.lifecycle.shares import ANSWER_SECONDS, Share, added, is_free, priced, steps_of

__all__ = ["CONTENTS", "JUDGED_TOKENS", "judged_shares"]

#: Tokens that a reader reads to judge a step, guessed from the text on the high side: mean over
#: the 1,914 contents of the demo corpus. Of real models' longer episodes it will be more.
JUDGED_TOKENS = 21_100
#: Distinct contents a step: scripts of a task begin alike (1,914 of 2,281 in the demo corpus);
#: what real models do is taken to differ everywhere.
CONTENTS = {"scripted": 0.84, "model": 1.0}
#: Seconds of a judgement that is replayed or scripted, with all that follows it.
_REPLAYED = 0.007


def judged_shares(
    annotation: AnnotationPlan, orders: Sequence[Order], missing: Sequence[Order]
) -> tuple[dict[str, int], tuple[Share, ...], float]:
    """What the readers of a panel would be asked.

    Parameters
    ----------
    annotation
        Who judges.
    orders, missing
        All episodes, and those that are not collected yet. What stands in `trajectories.jsonl` and
        is not missing is counted as it is, less what was judged of it; the rest is guessed.

    Returns
    -------
    counts, shares, seconds
        `steps` and distinct `contents`; a share a seat; wall time.
    """
    counts = {"steps": 0, "contents": 0}
    shares: list[Share] = []
    if annotation.trajectories.is_file():
        gone = {order.id for order in missing}
        stand = stream_trajectories(annotation.trajectories)
        known = forecast(
            annotation.panel,
            annotation.rules,
            annotation.folder,
            (each for each in stand if each.id not in gone),
            project=annotation.project,
        )
        counts = {"steps": known.steps, "contents": known.items}
        shares += [
            Share(each.seat, each.model, each.to_ask, each.prompt, each.completion, each.dollars)
            for each in known.seats
            if annotation.profile.arbiter or each.seat in _annotators(annotation)
        ]
    else:  # it is written once all episodes are there
        missing = orders
    if missing:
        contents = round(sum(steps_of(each) * _share_of_contents(each) for each in missing))
        counts["steps"] += round(sum(map(steps_of, missing)))
        counts["contents"] += contents
        shares += _guessed(annotation, contents)
    found = added(shares)
    return counts, found, _seconds(annotation, found)


def _share_of_contents(order: Order) -> float:
    return CONTENTS["model" if order.temperament is None else "scripted"]


def _annotators(annotation: AnnotationPlan) -> set[str]:
    return {seat.name for seat in annotation.panel.annotators}


def _guessed(annotation: AnnotationPlan, contents: int) -> Iterator[Share]:
    panel = annotation.panel
    for seat in panel.annotators:
        yield _seat(seat, contents)
    if panel.arbiter is not None and annotation.profile.arbiter:
        yield _seat(panel.arbiter, round(contents * ARBITER_SHARE))


def _seat(seat: Seat, asked: int) -> Share:
    """As `vepa annotate --dry-run` has it, but for the tokens of a step: they are guessed."""
    answers = seat.otherwise or seat.model
    if is_free(answers):
        return Share(seat.name, seat.model, asked, 0, 0, 0.0)
    written = min(ANSWER_TOKENS, seat.settings.max_tokens)
    dollars = priced(answers, (JUDGED_TOKENS, written), asked, seat.settings)
    return Share(seat.name, answers, asked, asked * JUDGED_TOKENS, asked * written, dollars)


def _seconds(annotation: AnnotationPlan, shares: Sequence[Share]) -> float:
    """The annotators work side by side, each with so many requests at once; the arbiter follows."""
    workers, seats = annotation.profile.workers, _annotators(annotation)
    taken = {
        share.who: share.asked * (_REPLAYED if is_free(share.model) else ANSWER_SECONDS / workers)
        for share in shares
    }
    side_by_side = [seconds for who, seconds in taken.items() if who in seats]
    after = sum(seconds for who, seconds in taken.items() if who not in seats)
    return max(side_by_side, default=0.0) + after
