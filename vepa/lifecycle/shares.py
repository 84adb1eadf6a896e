"""What a stage would take: whom it would ask how much, and whether its budget is enough."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from vepa.collect.orders import Order
from vepa.collect.settings import CollectSettings
from vepa.collect.tasks import flatten
from vepa.llm import estimate
from vepa.llm.settings import ModelSettings

__all__ = [
    "ANSWER_SECONDS", "Share", "StageCost", "Totals", "added", "is_free", "priced", "steps_of",
    "user_share",
]  # fmt: skip

#: Of a real model, for one answer: a guess, no measurement.
ANSWER_SECONDS = 6.0
#: Tokens that a model reads and writes which plays the user, a question: a guess.
USER_PROMPT, USER_WRITTEN = 900, 60


def is_free(model: str) -> bool:
    """Whether nobody is asked who wants money: a script or a recording."""
    return model.startswith(("scripted/", "recorded/"))


@dataclass(frozen=True)
class Share:
    """What one model of a stage would be asked.

    Attributes
    ----------
    who
        Its part: `agent`, `user`, or the name of a seat.
    model
        Its name.
    asked
        Requests.
    prompt, completion
        Tokens; none where it is free.
    dollars
        US dollars; None where no price is known.
    """

    who: str
    model: str
    asked: int
    prompt: int
    completion: int
    dollars: float | None


@dataclass(frozen=True)
class StageCost:
    """What a stage would take.

    Attributes
    ----------
    stage
        Its name.
    made
        Whether it is to be made; all else is nothing where it is not.
    counts
        What it works on, such as `episodes` and `steps`.
    shares
        Models that it asks.
    seconds
        Wall time, a rough guess.
    budget
        `dollars`, `tokens`, `minutes` that it may spend; None is no limit.
    notes
        What else is to be known.
    """

    stage: str
    made: bool
    counts: Mapping[str, int] = field(default_factory=dict)
    shares: tuple[Share, ...] = ()
    seconds: float = 0.0
    budget: Mapping[str, float | None] | None = None
    notes: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """Read and written."""
        return sum(share.prompt + share.completion for share in self.shares)

    @property
    def unpriced(self) -> list[str]:
        """Models whose price is not known."""
        return list(dict.fromkeys(each.model for each in self.shares if each.dollars is None))

    @property
    def known_dollars(self) -> float:
        """Of the models whose price is known."""
        return sum(share.dollars or 0.0 for share in self.shares)

    @property
    def dollars(self) -> float | None:
        """Of all its models; None as soon as one has no known price."""
        return None if self.unpriced else self.known_dollars

    @property
    def enough(self) -> bool | None:
        """Whether its budget covers the guess; None where no price is known, or no budget is set.

        A stage that spends nothing has enough.
        """
        if not self.tokens and not self.unpriced:
            return True
        limits = self.budget or {}
        dollars, tokens, minutes = (limits.get(key) for key in ("dollars", "tokens", "minutes"))
        if dollars is None and tokens is None and minutes is None:
            return None
        over = [
            tokens is not None and self.tokens > tokens,
            minutes is not None and self.seconds > 60 * minutes,
            dollars is not None and self.known_dollars > dollars,
        ]
        if any(over):
            return False
        return None if dollars is not None and self.unpriced else True


@dataclass(frozen=True)
class Totals:
    """All stages of a lifecycle."""

    stages: tuple[StageCost, ...]

    @cached_property
    def tokens(self) -> int:
        """Read and written."""
        return sum(each.tokens for each in self.stages)

    @cached_property
    def unpriced(self) -> list[str]:
        """Models whose price is not known."""
        return list(dict.fromkeys(name for each in self.stages for name in each.unpriced))

    @cached_property
    def known_dollars(self) -> float:
        """Of the models whose price is known."""
        return sum(each.known_dollars for each in self.stages)

    @cached_property
    def dollars(self) -> float | None:
        """Of all models; None as soon as one has no known price."""
        return None if self.unpriced else self.known_dollars

    @cached_property
    def seconds(self) -> float:
        """One stage after the other."""
        return sum(each.seconds for each in self.stages)

    @cached_property
    def budget(self) -> float | None:
        """US dollars that all stages may spend; None where one that spends has no limit."""
        limits = [(each.budget or {}).get("dollars") for each in self._spending]
        known = [limit for limit in limits if limit is not None]
        return sum(known) if len(known) == len(limits) else None

    @cached_property
    def enough(self) -> bool | None:
        """Whether every stage's budget covers the guess; None where that is not known."""
        found = [each.enough for each in self._spending]
        return False if False in found else None if None in found else True

    @property
    def _spending(self) -> list[StageCost]:
        return [each for each in self.stages if each.tokens or each.unpriced]


def priced(model: str, sizes: tuple[int, int], asked: int, settings: ModelSettings) -> float | None:
    """US dollars of requests that read and write so many tokens each; None without a price."""
    each = estimate(model, *sizes, settings)
    return None if each is None else each * asked


def steps_of(order: Order) -> float:
    """Steps of an episode: a script's as its plan has them, a model's as plans have in the mean."""
    plans, careful = order.task.plans, order.task.plans["careful"]
    kept = [plan for name, plan in plans.items() if order.temperament in (None, name)]
    steps = [sum(len(turn.together or ()) or 1 for turn in flatten(plan, careful)) for plan in kept]
    return sum(steps) / len(steps)


def user_share(orders: Sequence[Order], settings: CollectSettings) -> Share:
    """Of the model that plays the user: asked once an episode, and at what it could answer."""
    model = settings.user
    asked = sum(1 + len(order.task.user) for order in orders)
    sizes = (USER_PROMPT, USER_WRITTEN)
    dollars = priced(model, sizes, asked, settings.settings_of(model))
    return Share("user", model, asked, asked * USER_PROMPT, asked * USER_WRITTEN, dollars)


def added(shares: Iterable[Share]) -> tuple[Share, ...]:
    """Shares of the same part and model as one."""
    found: dict[tuple[str, str], Share] = {}
    for each in shares:
        known = found.get((each.who, each.model))
        if known is not None:
            unknown = known.dollars is None or each.dollars is None
            each = Share(
                each.who,
                each.model,
                known.asked + each.asked,
                known.prompt + each.prompt,
                known.completion + each.completion,
                None if unknown else (known.dollars or 0.0) + (each.dollars or 0.0),
            )
        found[each.who, each.model] = each
    return tuple(found.values())
