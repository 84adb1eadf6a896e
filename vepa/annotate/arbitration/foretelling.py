"""What an arbiter would be asked and cost; nothing is sent, and no key is needed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vepa.annotate.arbitration.records import Dispute
from vepa.annotate.asking import Annotator
from vepa.annotate.forecast import ANSWER_TOKENS
from vepa.annotate.items import StepItem
from vepa.annotate.panel import Panel, Rules
from vepa.annotate.shape import TEMPLATE, item_of
from vepa.llm import count_tokens, estimate
from vepa.llm.prompts import load_prompt
from vepa.llm.recorded import folder_of
from vepa.llm.recording import Recording
from vepa.project import Project

__all__ = ["ArbiterForecast", "foretell"]

_OFFLINE = ("scripted/", "recorded/")


@dataclass(frozen=True)
class ArbiterForecast:
    """What an arbiter would be asked.

    Attributes
    ----------
    arbiter, model
        Name of the seat, and who answers.
    cases
        Open cases that would be put to it.
    to_ask
        Those of them that a model would be asked about: a recording or a script costs nothing.
    prompt, completion
        Tokens, guessed.
    dollars, at_most
        With answers of the usual length, and with the longest; None where no price is known.
    budget
        `dollars` and `tokens` of the panel; None is no limit.
    """

    arbiter: str
    model: str
    cases: int
    to_ask: int
    prompt: int
    completion: int
    dollars: float | None
    at_most: float | None
    budget: dict[str, float | None]

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def foretell(
    panel: Panel,
    rules: Rules,
    cases: Iterable[Dispute],
    *,
    project: Project,
    recorded: Path | None = None,
) -> ArbiterForecast | None:
    """What the arbiter of a panel would be asked about cases; None when it has none.

    Raises
    ------
    SettingError
        When a recording does not exist.
    """
    seat = panel.arbiter
    if seat is None:
        return None
    reader = Annotator(seat, None, rules, panel.trace_tokens, prompt=load_prompt(project, TEMPLATE))
    items = [StepItem("", case.step, case.shown) for case in cases]
    asked = seat.otherwise or seat.model
    left = [] if asked.startswith(_OFFLINE) else items
    if left and seat.model.startswith("recorded/"):
        recording = Recording(folder_of(seat.model, recorded))
        left = [item for item in left if recording.get(item_of(item, reader.prompt)) is None]
    prompt = sum(count_tokens(reader.request(item), asked) for item in left)
    longest = seat.settings.max_tokens
    answer = min(ANSWER_TOKENS, longest)

    def price(length: int) -> float | None:
        return estimate(asked, prompt, length * len(left), seat.settings) if left else 0.0

    return ArbiterForecast(
        seat.name,
        asked if left else seat.model,
        len(items),
        len(left),
        prompt,
        answer * len(left),
        price(answer),
        price(longest),
        {"dollars": panel.budget.dollars, "tokens": panel.budget.tokens},
    )
