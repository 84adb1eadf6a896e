"""The folder of an annotation: its queue is filled, and what stands is written down.

`labels.jsonl` and `failures.jsonl` are what the annotators said, `queue.sqlite` what was settled by
others, `settled.jsonl` what stands about every step: worked out of the three, at any time.
`verdicts.jsonl` are the queue's verdicts that stand.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from vepa.annotate.arbitration.queue import QUEUE_FILE, ArbitrationQueue
from vepa.annotate.arbitration.records import Dispute
from vepa.annotate.asking import Failure, Judged
from vepa.annotate.items import StepItem, items_of
from vepa.annotate.settling import Opinions, Settlement, opinions_of, settle
from vepa.corpus.labels import stream_labels, write_labels
from vepa.corpus.lines import stream_records
from vepa.corpus.settled import write_settled_labels
from vepa.corpus.taxonomy import Taxonomy
from vepa.corpus.trajectory import Trajectory
from vepa.errors import InputError, Where

__all__ = [
    "FAILURES",
    "LABELS",
    "SETTLED",
    "VERDICTS",
    "disputes_of",
    "fill_queue",
    "open_queue",
    "read_judged",
    "write_settled",
]

LABELS, FAILURES = "labels.jsonl", "failures.jsonl"
SETTLED, VERDICTS = "settled.jsonl", "verdicts.jsonl"


def read_judged(folder: str | Path) -> list[Judged]:
    """Labels and failures of an annotation.

    Raises
    ------
    InputError
        When the folder holds no annotation, or a line is wrong.
    """
    folder = Path(folder)
    if not (folder / LABELS).is_file():
        raise InputError(
            f"there is no {LABELS}",
            where=Where(str(folder)),
            remedy="`vepa annotate TRACES --out DIR` makes one; name its DIR",
        )
    judged: list[Judged] = list(stream_labels(folder / LABELS))
    if (folder / FAILURES).is_file():
        remedy = "a failure is as `vepa annotate` writes it"
        judged += stream_records(folder / FAILURES, Failure, 1, remedy)
    return judged


def open_queue(folder: str | Path, taxonomy: Taxonomy) -> ArbitrationQueue:
    """The queue of an annotation; none is made.

    Raises
    ------
    InputError
        When the folder holds no annotation or no queue.
    SettingError
        When the file is no queue, or one of another taxonomy.
    """
    folder = Path(folder)
    if not (folder / QUEUE_FILE).is_file():
        known = (folder / LABELS).is_file()
        raise InputError(
            f"there is no {QUEUE_FILE if known else LABELS}",
            where=Where(str(folder)),
            remedy="`vepa arbitrate run DIR --traces TRACES` makes one"
            if known
            else "`vepa annotate TRACES --out DIR` makes one; name its DIR",
        )
    return ArbitrationQueue(folder / QUEUE_FILE, taxonomy)


def fill_queue(
    queue: ArbitrationQueue, judged: Iterable[Judged], trajectories: Iterable[Trajectory]
) -> int:
    """Make a queue hold what is disputed; returns how many cases are new.

    Parameters
    ----------
    queue
        The queue.
    judged
        Labels and failures.
    trajectories
        Where the steps stand.

    Raises
    ------
    InputError
        When a disputed step is in none of the trajectories.
    """
    return queue.fill(disputes_of(judged, trajectories))


def disputes_of(judged: Iterable[Judged], trajectories: Iterable[Trajectory]) -> list[Dispute]:
    """What has to be settled; parameters and errors are those of `fill_queue`."""
    disputed = [opinions for opinions in opinions_of(judged).values() if opinions.reasons]
    # Only the disputed steps are hashed again: a corpus has many more that are not.
    wanted = {opinions.steps[0] for opinions in disputed}
    places = {trajectory for trajectory, _ in wanted}
    found: dict[str, StepItem] = {}
    for trajectory in trajectories:
        if trajectory.id in places:
            for item in items_of(trajectory):
                if (item.trajectory, item.step) in wanted:
                    found[item.hash] = item
    missing = [opinions for opinions in disputed if opinions.item not in found]
    if missing:
        trajectory_id, step = missing[0].steps[0]
        raise InputError(
            f"{len(missing)} disputed steps are in none of the trajectories, or look different "
            f"there; the first one is step {step} of {trajectory_id}",
            remedy="name the trajectories that were annotated, as they were then",
        )
    return [_dispute(each, found[each.item]) for each in disputed]


def write_settled(folder: str | Path, queue: ArbitrationQueue) -> Settlement:
    """Write what stands about every step of an annotation, and say what does not yet.

    Beside it stand the verdicts that it rests on, in the order of their contents' hashes.
    """
    standing = queue.standing()
    settlement = settle(opinions_of(read_judged(folder)).values(), standing)
    write_settled_labels(Path(folder) / SETTLED, settlement.settled)
    write_labels(Path(folder) / VERDICTS, (standing[item] for item in sorted(standing)))
    return settlement


def _dispute(opinions: Opinions, item: StepItem) -> Dispute:
    trajectory, step = opinions.steps[0]
    return Dispute(
        trajectory=trajectory,
        step=step,
        item=opinions.item,
        shown=item.shown,
        reasons=list(opinions.reasons),
        labels=list(opinions.labels.values()),
        failures=list(opinions.failures.values()),
    )
