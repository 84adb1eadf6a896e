"""The parser's events with the labels that stand: what a policy evolves on.

An event comes from a parser that saw no label; a label is put beside it, and nothing in an event
depends on any label.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from vepa.corpus.events import EventRecord
from vepa.corpus.settled import SettledLabel

__all__ = ["settled_events"]

#: What a script meant a step to be; no annotator's word, so it does not stand beside one.
_MEANT = ("labelled_by", "trigger")


def settled_events(
    events: Iterable[EventRecord], settled: Iterable[SettledLabel]
) -> Iterator[EventRecord]:
    """The events of steps whose label stands, in order.

    Parameters
    ----------
    events
        Of steps; `meta` tells `episode` and `step`.
    settled
        At most one a step.

    Yields
    ------
    EventRecord
        `label` is the decision; `meta` tells how it was settled, by whose word, and the primary
        trigger.
    """
    standing = {(label.trajectory, label.step): label for label in settled}
    for record in events:
        label = standing.get((str(record.meta["episode"]), int(record.meta["step"])))
        if label is None:
            continue
        about: dict[str, Any] = {k: v for k, v in record.meta.items() if k not in _MEANT}
        about |= {"labelled_by": label.how, "label_origin": label.origin}
        if label.judgement.primary is not None:
            about["trigger"] = label.judgement.primary
        yield record.model_copy(update={"label": label.judgement.decision, "meta": about})
