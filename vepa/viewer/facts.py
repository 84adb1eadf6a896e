"""The head of a trajectory: what it was made from, and what is known of it as a whole."""

from __future__ import annotations

from collections.abc import Iterator

from vepa.viewer.view import Fact, Shown

__all__ = ["facts_of"]


def facts_of(shown: Shown) -> Iterator[Fact]:
    """What stands above the steps, line by line: name, value, whether it is bad news."""
    of, judged = shown.trajectory, shown.judged
    told = (("task", of.task), ("persona", of.persona), ("model", of.model), ("format", of.format))
    for name, value in told:
        if value:
            yield name, value, False
    if of.seed is not None:
        yield "seed", str(of.seed), False
    yield from shown.subject.facts
    if of.marked is not None:
        yield "mistake", f"step {of.marked} is marked as the decisive one", True
    if judged.verdict is not None:
        rules = f" by {', '.join(judged.rules)}" if judged.rules else ""
        yield "verdict", f"{judged.verdict}{rules}", False
    if judged.disagreement is not None:
        yield "differs", f"{judged.disagreement}: the label says otherwise", True
