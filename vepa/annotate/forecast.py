"""What an annotation would ask and cost; nothing is written or sent, and no key is needed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vepa.annotate.asking import Annotator
from vepa.annotate.dual import how_of
from vepa.annotate.items import StepItem, items_of
from vepa.annotate.panel import Panel, Rules, Seat
from vepa.annotate.reaching import journal_of
from vepa.annotate.shape import TEMPLATE, item_of
from vepa.corpus.trajectory import Trajectory
from vepa.llm import count_tokens, estimate
from vepa.llm.batch import vendor_of
from vepa.llm.batch.journal import requests_on_the_way
from vepa.llm.prompts import load_prompt
from vepa.llm.recorded import folder_of
from vepa.llm.recording import Recording
from vepa.project import Project

__all__ = ["ANSWER_TOKENS", "ARBITER_SHARE", "Forecast", "SeatForecast", "forecast"]

#: Tokens of a judgement: the recorded passes' mean is 155, guessed on the high side, and 95 of 100
#: are below 302. Models that think before they answer write more.
ANSWER_TOKENS = 300
#: What the recorded passes saw differently: 124 of 1,914 contents.
ARBITER_SHARE = 0.065
_OFFLINE = ("scripted/", "recorded/")


@dataclass(frozen=True)
class SeatForecast:
    """What one reader would be asked.

    Attributes
    ----------
    seat, model
        Its name, and who answers what is asked.
    items, judged
        Distinct contents, and those it has judged.
    on_the_way
        Requests in batches that have not been collected: paid for, and not to be asked again.
    to_ask
        What is left; for the arbiter, the assumed share of what the annotators are asked.
    batch
        Whether by a batch API.
    prompt, completion
        Tokens, guessed.
    dollars, at_most
        US dollars with answers of that length, and if every answer were as long as allowed; None
        where no price is known.
    """

    seat: str
    model: str
    items: int
    judged: int
    on_the_way: int
    to_ask: int
    batch: bool
    prompt: int
    completion: int
    dollars: float | None
    at_most: float | None


@dataclass(frozen=True)
class Forecast:
    """What an annotation would cost.

    Attributes
    ----------
    seats
        The annotators, then the arbiter.
    steps, items
        Of the corpus, and distinct contents.
    budget
        `dollars` and `tokens` of the panel; None is no limit.
    """

    seats: Sequence[SeatForecast]
    steps: int
    items: int
    budget: dict[str, float | None]

    @property
    def tokens(self) -> int:
        """Of all seats, read and written."""
        return sum(seat.prompt + seat.completion for seat in self.seats)

    @property
    def dollars(self) -> float | None:
        """Of all seats; None as soon as one has no known price."""
        return _sum(seat.dollars for seat in self.seats)

    @property
    def enough(self) -> bool | None:
        """Whether the budget covers the guess; None where no price is known."""
        if self.budget["tokens"] is not None and self.tokens > self.budget["tokens"]:
            return False
        if self.budget["dollars"] is None:
            return True
        return None if self.dollars is None else self.dollars <= self.budget["dollars"]

    def figures(self) -> dict[str, Any]:
        """For a report."""
        return {
            "steps": self.steps,
            "items": self.items,
            "seats": [asdict(seat) for seat in self.seats],
            "tokens": self.tokens,
            "dollars": self.dollars,
            "at_most": _sum(seat.at_most for seat in self.seats),
            "budget": self.budget,
            "enough": self.enough,
            "assumed": {"answer_tokens": ANSWER_TOKENS, "arbiter_share": ARBITER_SHARE},
        }


def forecast(
    panel: Panel,
    rules: Rules,
    folder: Path,
    trajectories: Iterable[Trajectory],
    *,
    bulk: bool = False,
    project: Project | None = None,
    recorded: Path | None = None,
) -> Forecast:
    """What an annotation by this panel would ask and cost.

    Parameters
    ----------
    panel, rules, folder, trajectories, project, recorded
        As for the annotation.
    bulk
        Whether annotators with a batch API are asked by it.

    Raises
    ------
    SettingError
        When a recording does not exist.
    """
    prompt = load_prompt(project or Project(), TEMPLATE)
    steps = [item for trajectory in trajectories for item in items_of(trajectory)]
    items = {item.hash: item for item in steps}
    sizes: dict[str, int] = {}
    counted = not all(_free(seat) for seat in panel.seats)
    found: list[SeatForecast] = []
    for seat in panel.annotators:
        reader = Annotator(seat, None, rules, panel.trace_tokens, prompt=prompt)
        known = judged_in(folder / "judged" / f"{seat.name}.jsonl", how_of(reader)) & set(items)
        left = _asked(reader, [item for name, item in items.items() if name not in known], recorded)
        for item in left:
            if item.hash not in sizes:  # every reader receives the same bytes
                sizes[item.hash] = count_tokens(reader.request(item), seat.model) if counted else 0
        batch = bulk and vendor_of(seat.model) is not None
        waiting = requests_on_the_way(journal_of(folder, seat)) if batch else 0
        counts = [sizes[item.hash] for item in left][: max(0, len(left) - waiting)]
        found.append(_priced(seat, counts, batch, (len(items), len(known), waiting)))
    if panel.arbiter is not None:
        mean = sum(sizes.values()) // max(1, len(sizes))
        typical = [mean] * round(len(sizes) * ARBITER_SHARE)
        found.append(_priced(panel.arbiter, typical, False, (len(items), 0, 0)))
    limits = panel.budget
    budget = {"dollars": limits.dollars, "tokens": limits.tokens}
    return Forecast(found, len(steps), len(items), budget)


def judged_in(path: Path, how: str) -> set[str]:
    """Contents that a journal of judgements knows under the same rules, read and left as it is."""
    if not path.is_file():
        return set()
    found: set[str] = set()
    for line in path.read_bytes().splitlines():
        try:
            entry = json.loads(line)
            if entry["how"] == how:
                found.add(entry["judged"]["item"])
        except (ValueError, KeyError, TypeError):
            break  # half a line, of a kill
    return found


def _asked(
    reader: Annotator, left: Sequence[StepItem], recorded: Path | None
) -> Sequence[StepItem]:
    """What a real model would be asked: a recording answers the rest."""
    seat = reader.seat
    if not seat.model.startswith("recorded/") or _free(seat):
        return left
    recording = Recording(folder_of(seat.model, recorded))
    return [item for item in left if recording.get(item_of(item, reader.prompt)) is None]


def _free(seat: Seat) -> bool:
    return (seat.otherwise or seat.model).startswith(_OFFLINE)


def _priced(
    seat: Seat, counts: Sequence[int], batch: bool, known: tuple[int, int, int]
) -> SeatForecast:
    model, settings = seat.otherwise or seat.model, seat.settings
    answer = min(ANSWER_TOKENS, settings.max_tokens)
    free = _free(seat)
    cost = [
        _sum(estimate(model, size, length, settings, batch=batch) for size in counts)
        for length in (answer, settings.max_tokens)
    ]
    items, judged, waiting = known
    return SeatForecast(
        seat=seat.name,
        model=model if not free else seat.model,
        items=items,
        judged=judged,
        on_the_way=waiting,
        to_ask=len(counts),
        batch=batch,
        prompt=0 if free else sum(counts),
        completion=0 if free else answer * len(counts),
        dollars=cost[0],
        at_most=cost[1],
    )


def _sum(parts: Iterable[float | None]) -> float | None:
    total = 0.0
    for part in parts:
        if part is None:
            return None
        total += part
    return total
