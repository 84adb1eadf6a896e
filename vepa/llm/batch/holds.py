"""The worst case of every batch on its way, set aside in a budget until its answers are counted."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass

from vepa.errors import BudgetError
from vepa.llm.batch.records import BatchRow
from vepa.llm.budget import Budget, Hold
from vepa.llm.messages import Usage

__all__ = ["Holds", "Load"]


@dataclass(frozen=True)
class Load:
    """The worst case of one request: tokens, and US dollars (0 where no price is known)."""

    tokens: int
    dollars: float


class Holds:
    """What is set aside, by batch.

    Parameters
    ----------
    budget
        Shared with whoever else holds it.
    """

    def __init__(self, budget: Budget):
        self.budget = budget
        self._held: dict[str, tuple[AbstractContextManager[Hold], Hold]] = {}

    def again(self, row: BatchRow) -> None:
        """A batch of an earlier process: it is on its way, whether the budget likes it or not."""
        try:
            self.take(row.token, [Load(row.tokens, row.dollars)])
        except BudgetError as error:
            if error.budget == "seconds":
                raise

    def take(self, token: str, loads: list[Load]) -> None:
        """Set the worst case of a batch aside.

        Raises
        ------
        BudgetError
            When it does not fit.
        """
        manager = self.budget.hold(
            sum(load.tokens for load in loads), sum(load.dollars for load in loads)
        )
        self._held[token] = manager, manager.__enter__()

    def fitting(self, token: str, loads: list[Load]) -> int:
        """Set the worst case of as many of the first requests aside as fit; returns how many.

        Raises
        ------
        BudgetError
            When not even one fits.
        """
        try:
            self.take(token, loads)
            return len(loads)
        except BudgetError as error:
            if error.budget == "seconds" or len(loads) == 1:
                raise
        low, high = 0, len(loads)  # so many fit; so many do not
        while high - low > 1:
            middle = (low + high) // 2
            try:
                self.take(token, loads[:middle])
            except BudgetError:
                high = middle
            else:
                self.settle(token, 0, 0.0)
                low = middle
        self.take(token, loads[: max(1, low)])
        return low

    def beyond(self, load: Load) -> bool:
        """Whether so much never fits, whatever else is given back."""
        budget = self.budget
        if budget.tokens is not None and load.tokens > budget.tokens - budget.used_tokens:
            return True
        return budget.dollars is not None and load.dollars > budget.dollars - budget.used_dollars

    def settle(self, token: str, tokens: int, dollars: float) -> None:
        """Put what a batch took in the place of its worst case."""
        held = self._held.pop(token, None)
        if held is None:
            self.budget.count(Usage(prompt=tokens, dollars=dollars))
            return
        manager, hold = held
        hold.settle(tokens, dollars)
        manager.__exit__(None, None, None)

    def free(self, token: str) -> None:
        """A batch that costs nothing, or is left to a later process."""
        if token in self._held:
            self.settle(token, 0, 0.0)

    def free_all(self) -> None:
        """Leave everything that is on its way to a later process."""
        for token in list(self._held):
            self.free(token)
