"""Which messages of a call of a model were told already.

Each call repeats the history before it: all of it, the end of it, or an edited one. A history that
goes on from the agent's last call is recognised by its end; of any other, message by message, what
was said before in that order.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vepa.corpus.importing.messages import Said

__all__ = ["Told", "shape_of"]


class Told:
    """What was told so far, by places in the order of telling."""

    def __init__(self) -> None:
        self._places: dict[str, list[int]] = {}
        #: Whose call told what stands at a place.
        self._agents: list[str | None] = []
        #: Of the last call of each agent: keys of what it was shown; keys and places of all.
        self._last: dict[str | None, tuple[list[str], list[tuple[str, int]]]] = {}

    def new_in(
        self, inputs: Sequence[Said], outputs: Sequence[Said], agent: str | None
    ) -> Iterator[tuple[Said, bool]]:
        """The messages of a call that were not told yet, and whether each is an answer.

        Parameters
        ----------
        inputs, outputs
            What the model was shown and what it answered, without system text.
        agent
            Whose call it is.
        """
        shown = [_key(message) for message in inputs]
        known = self._aligned(shown, agent)
        at, limit = max(known, default=-1), len(self._agents)
        course: list[tuple[str, int]] = list(zip(shown, known, strict=False))
        for number, message in enumerate((*inputs, *outputs)):
            if number < len(known):
                continue
            key, answered = _key(message), number >= len(inputs)
            place = self._after(at, limit, key, (agent,) if answered else None)
            if place is not None:
                at = place
            else:
                place = len(self._agents)
                self._places.setdefault(key, []).append(place)
                self._agents.append(agent)
                yield message, answered
            course.append((key, place))
        self._last[agent] = shown, course

    def _aligned(self, shown: Sequence[str], agent: str | None) -> list[int]:
        """Places of the first messages of a call that goes on from, or repeats, the last one."""
        if agent not in self._last or not shown:
            return []
        before, course = self._last[agent]
        places = [place for _, place in course]
        if before == shown:
            return places[: len(shown)]
        common = _overlap([key for key, _ in course], shown)
        # Less than half of it may be the same by chance, where little is said in many turns.
        return places[len(places) - common :] if 2 * common >= len(shown) else []

    def _after(self, at: int, limit: int, key: str, by: tuple[str | None] | None) -> int | None:
        """The next place after `at`, before `limit`, where the same was said; `by` whom, if given.

        What another agent answered is no answer of this one, though it says the same.
        """
        places = self._places.get(key, [])
        for place in places[bisect_right(places, at) :]:
            if place < limit and (by is None or self._agents[place] == by[0]):
                return place
        return None


def _overlap(before: Sequence[str], shown: Sequence[str]) -> int:
    """How many of the first of `shown` are the last of `before` (Knuth, Morris and Pratt)."""
    fails = [0] * len(shown)
    matched = 0
    for at in range(1, len(shown)):
        while matched and shown[matched] != shown[at]:
            matched = fails[matched - 1]
        matched += shown[matched] == shown[at]
        fails[at] = matched
    matched = 0
    for key in before:
        while matched and (matched == len(shown) or shown[matched] != key):
            matched = fails[matched - 1]
        matched += shown[matched] == key
    return matched


def _key(message: Said) -> str:
    """What a message says, whatever it is spelled like: ids, names and thoughts play no part."""
    return _spelled(
        [
            "user" if message.role == "observation" else message.role,
            message.text.strip(),
            [[call.name, shape_of(call.arguments)] for call in message.calls],
            [given.content for given in message.results],
        ]
    )


def shape_of(arguments: Any) -> str:
    """Arguments in one spelling."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return str(arguments)
    if isinstance(arguments, Mapping) or arguments is None:
        arguments = dict(arguments or {})
    return _sorted(arguments)


#: Made once: to make one takes as long as to spell most messages.
_spelled = json.JSONEncoder(ensure_ascii=False).encode
_sorted = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode
