"""The list of the page: a row a trajectory, and the words that it can be filtered by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vepa.viewer.pieces import legend
from vepa.viewer.rows import glimpse_of, label_of, steps_of, tools_of
from vepa.viewer.signs import visible
from vepa.viewer.view import Shown

__all__ = ["Index"]

#: Facet -> its name on the page; facets of events are called `UNIT.FIELD` and follow.
_FACETS = {
    "label": "Label",
    "verdict": "Verdict of the policy",
    "differs": "Label against verdict",
    "rule": "Rule that fired",
    "tripped": "Tripped",
    "ending": "Ending",
    "format": "Format",
    "model": "Model",
    "task": "Task",
    "tool": "Tool",
}


class Index:
    """Grows a row at a time; small, for it is read before anything else is."""

    def __init__(self) -> None:
        self._terms: dict[tuple[str, str], int] = {}
        self._rows: list[list[Any]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, shown: Shown) -> None:
        """Append the row of a trajectory."""
        of = shown.trajectory
        terms = [self._term(facet, value) for facet, value in dict.fromkeys(_terms(shown))]
        self._rows.append([visible(of.id), visible(glimpse_of(of)), steps_of(of), terms])

    def _term(self, facet: str, value: str) -> int:
        return self._terms.setdefault((visible(facet), visible(value)), len(self._terms))

    def data(self, title: str, starts: list[int], policy: str | None) -> dict[str, Any]:
        """The whole list as JSON data.

        Parameters
        ----------
        title
            Of the page.
        starts
            First row of each chunk.
        policy
            Hash of the policy that answered.
        """
        return {
            "title": visible(title),
            "policy": policy,
            "facets": [[name, told] for name, told in _FACETS.items()],
            "terms": [list(term) for term in self._terms],
            "rows": self._rows,
            "starts": starts,
            "legend": [list(each) for each in legend()],
        }


def _terms(shown: Shown) -> Iterator[tuple[str, str]]:
    of, judged = shown.trajectory, shown.judged
    yield "label", _label(shown) or "none"
    single = {
        "verdict": judged.verdict,
        "differs": judged.disagreement,
        "ending": shown.subject.ending,
        "format": of.format,
        "model": of.model,
        "task": of.task,
    }
    yield from ((facet, value) for facet, value in single.items() if value)
    yield from (("rule", rule) for rule in judged.rules)
    yield from (("tripped", trigger) for trigger in shown.subject.tripped)
    yield from (("tool", tool) for tool in tools_of(of))
    for event in (*shown.events, *(each for step in shown.steps for each in step.events)):
        for name, value in event.record.event.items():
            yield f"{event.record.unit}.{name}", value


def _label(shown: Shown) -> str | None:
    whole = (each.record.label for each in shown.events if each.record.label)
    return label_of(shown.subject) or next(whole, None)
