"""Budgets of tokens, seconds and dollars that nobody can overshoot together."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from vepa.errors import BudgetError, SettingError, Where
from vepa.llm.messages import Usage

__all__ = ["Budget", "Hold"]


@dataclass(eq=False)
class Hold:
    """What one request on its way may take at most; `settle` says what it took.

    Attributes
    ----------
    tokens, dollars
        The worst case, then what it took.
    """

    tokens: int
    dollars: float

    def settle(self, tokens: int, dollars: float | None) -> None:
        """Replace the worst case by what it took."""
        self.tokens, self.dollars = tokens, dollars or 0.0


class Budget:
    """What one or more models may take; safe to share by threads.

    A request counts with its worst case while it is on its way, so that requests beside each
    other cannot break a budget together. With a parent, both must allow it.

    Parameters
    ----------
    tokens
        Read and written together.
    seconds
        Of wall time from the first question on, waiting included.
    dollars
        US dollars.
    name
        For messages: `run`, `episode`.
    parent
        A budget that this one is a part of.
    spent
        What an earlier part of the same run took.
    clock
        Monotonic seconds.

    Raises
    ------
    SettingError
        When a limit is negative.
    """

    def __init__(
        self,
        *,
        tokens: int | None = None,
        seconds: float | None = None,
        dollars: float | None = None,
        name: str = "budget",
        parent: Budget | None = None,
        spent: Usage | None = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        for field, limit in (("tokens", tokens), ("seconds", seconds), ("dollars", dollars)):
            if limit is not None and not 0 <= limit < float("inf"):
                raise SettingError(
                    f"a budget of {limit} {field}",
                    where=Where(field=field),
                    remedy="give a number from 0, or leave it out for no limit",
                )
        self.name, self.tokens, self.seconds, self.dollars = name, tokens, seconds, dollars
        self._parent, self._clock = parent, clock
        self._lock = threading.Lock()
        self._used_tokens = spent.prompt + spent.completion if spent else 0
        self._used_dollars = (spent.dollars or 0.0) if spent else 0.0
        self._holds: set[Hold] = set()
        self._began: float | None = None

    def child(
        self,
        name: str,
        *,
        tokens: int | None = None,
        seconds: float | None = None,
        dollars: float | None = None,
    ) -> Budget:
        """A budget within this one."""
        return Budget(
            tokens=tokens,
            seconds=seconds,
            dollars=dollars,
            name=name,
            parent=self,
            clock=self._clock,
        )

    def count(self, usage: Usage) -> None:
        """Count what was paid for before, here and in no budget that this one is a part of."""
        with self._lock:
            self._used_tokens += usage.prompt + usage.completion
            self._used_dollars += usage.dollars or 0.0

    @property
    def counts_dollars(self) -> bool:
        """Whether it, or one that it is a part of, limits dollars."""
        return any(budget.dollars is not None for budget in self._chain())

    @property
    def used_tokens(self) -> int:
        """Tokens taken by what has come back, and at most taken by what was cut."""
        with self._lock:
            return self._used_tokens

    @property
    def used_dollars(self) -> float:
        """US dollars, like `used_tokens`."""
        with self._lock:
            return self._used_dollars

    def seconds_left(self) -> float | None:
        """Until the first of its time limits; None without one."""
        now = self._clock()
        left = [
            budget.seconds - (now - (budget._began if budget._began is not None else now))
            for budget in self._chain()
            if budget.seconds is not None
        ]
        return min(left, default=None)

    def check(self) -> None:
        """Start its time, and refuse when it is over.

        Raises
        ------
        BudgetError
            `seconds`.
        """
        for budget in self._chain():
            with budget._lock:
                budget._check_time()

    @contextmanager
    def hold(self, tokens: int, dollars: float | None) -> Iterator[Hold]:
        """Put the worst case of a request aside while it is on its way.

        Parameters
        ----------
        tokens, dollars
            The worst case; unknown dollars count as none.

        Raises
        ------
        BudgetError
            When it might break this budget or one that it is a part of.
        """
        taken = Hold(tokens, dollars or 0.0)
        entered: list[Budget] = []
        try:
            for budget in self._chain():
                budget._enter(taken)
                entered.append(budget)
            yield taken
        except BudgetError:
            taken.settle(0, 0.0)
            raise
        finally:
            for budget in entered:
                budget._leave(taken)

    def _chain(self) -> Iterator[Budget]:
        at: Budget | None = self
        while at is not None:
            yield at
            at = at._parent

    def _enter(self, hold: Hold) -> None:
        with self._lock:
            self._check_time()
            tokens = self._used_tokens + sum(other.tokens for other in self._holds)
            if self.tokens is not None and tokens + hold.tokens > self.tokens:
                raise BudgetError(
                    f"the {self.name}'s {self.tokens} tokens are used up: {tokens} are taken or on "
                    f"their way, and the next request may take {hold.tokens}",
                    "tokens",
                    self.name,
                )
            dollars = self._used_dollars + sum(other.dollars for other in self._holds)
            if self.dollars is not None and dollars + hold.dollars > self.dollars:
                raise BudgetError(
                    f"the {self.name}'s {self.dollars:.4f} dollars are used up: {dollars:.4f} are "
                    f"taken or on their way, and the next request may take {hold.dollars:.4f}",
                    "dollars",
                    self.name,
                )
            self._holds.add(hold)

    def _leave(self, hold: Hold) -> None:
        with self._lock:
            self._holds.discard(hold)
            self._used_tokens += hold.tokens
            self._used_dollars += hold.dollars

    def _check_time(self) -> None:
        now = self._clock()
        if self._began is None:
            self._began = now
        if self.seconds is not None and now - self._began >= self.seconds:
            raise BudgetError(
                f"the {self.name}'s {self.seconds:g} seconds are over "
                f"({now - self._began:.1f} have passed)",
                "seconds",
                self.name,
            )
