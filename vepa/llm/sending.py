"""How anything is sent to a provider: keys, limits, budgets, the clock and retries in one place."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from vepa.errors import BudgetError, ModelError
from vepa.llm.budget import Budget, Hold
from vepa.llm.engine import load_litellm, provider_of
from vepa.llm.failures import AttemptError, GaveUpError, read_failure
from vepa.llm.limits import Slot, limiter_for
from vepa.llm.prices import dollars_of
from vepa.llm.retries import with_retries
from vepa.llm.settings import ModelSettings
from vepa.llm.tally import Tally

__all__ = ["Counted", "Sender", "Sending", "Worst"]


@dataclass(frozen=True)
class Worst:
    """What one HTTP request may take at most."""

    prompt: int
    completion: int
    dollars: float | None

    @property
    def tokens(self) -> int:
        """Read and written together."""
        return self.prompt + self.completion


class Counted(Protocol):
    """An answer with the provider's own counts; None where it did not say."""

    prompt: int | None
    completion: int | None
    usage: Any


A = TypeVar("A", bound=Counted)


@dataclass
class Sending(Generic[A]):
    """One request on its way, with its clock.

    Attributes
    ----------
    exchange
        One HTTP request; it is told when its answer is no longer waited for.
    worst
        What it may take.
    tally
        Where it is counted.
    until
        Deadline, on the monotonic clock.
    """

    exchange: Callable[[threading.Event], A]
    worst: Worst
    tally: Tally
    until: float


class Sender:
    """The way to one model of a provider; safe to share by threads.

    Parameters
    ----------
    name
        `PROVIDER/MODEL`.
    settings
        How it is asked.
    budget
        What it may take, shared with whoever else holds it.

    Raises
    ------
    SettingError
        When no provider is known for the name.
    """

    def __init__(self, name: str, settings: ModelSettings, budget: Budget | None = None):
        self.name = name
        self.litellm = load_litellm()
        self.provider = provider_of(name)
        self._settings = settings
        self._budget = budget or Budget()
        self._limiter = limiter_for((self.provider, settings.api_base or ""), settings)

    def check_key(self) -> None:
        """Refuse before anything is sent; a named variable never falls back to the usual one."""
        named = self._settings.key_variable
        if named is not None:
            missing = [] if os.environ.get(named) else [named]
        else:
            missing = self.litellm.validate_environment(self.name).get("missing_keys", [])
            usual = f"{self.provider.upper()}_API_KEY"
            if not missing and os.environ.get(usual) == "":  # litellm takes it for a key
                missing = [usual]
        if missing and all(name.endswith("_API_KEY") or name == named for name in missing):
            raise ModelError(
                f"{self.name}: there is no key; it is read from the environment variable "
                + " or ".join(missing),
                "refused_key",
            )

    def access(self) -> dict[str, Any]:
        """Keyword arguments of litellm's calls: which model, where, by which key, how long."""
        # Always the same time-out: litellm keeps a client, and its connections, for each.
        found: dict[str, Any] = {
            "model": self.name,
            "timeout": self._settings.timeout,
            "max_retries": 0,
            "num_retries": 0,
        }
        if self._settings.api_base:
            found["api_base"] = self._settings.api_base
        if self._settings.key_variable:
            found["api_key"] = os.environ[self._settings.key_variable]
        return found

    def send(self, sending: Sending[A]) -> A | None:
        """Send until an answer comes; what each attempt took is counted.

        Returns
        -------
        The answer; None where the provider's filter declined the content.

        Raises
        ------
        ModelError
            When none came.
        BudgetError
            When the next HTTP request might break a budget; it was not sent.
        """
        try:
            return with_retries(
                lambda: self._attempt(sending), self._settings, sending.until, self._budget
            )
        except AttemptError as failure:
            if failure.declined:
                return None
            self._budget.check()  # a wait cut short by the budget's time is told as that
            hint = _hint(failure, self.provider, self._settings)
            raise failure.as_model_error(self.name, sending.tally.requests, hint) from None

    def _attempt(self, sending: Sending[A]) -> A:
        """One HTTP request, its worst case put aside before it and settled after it."""
        worst = sending.worst
        with self._budget.hold(worst.tokens, worst.dollars) as hold:
            try:
                with self._limiter.slot(worst.tokens, self._latest(sending)) as slot:
                    return self._sent(sending, hold, slot)
            except AttemptError as failure:
                if failure.answered:
                    hold.settle(0, 0.0)
                raise

    def _sent(self, sending: Sending[A], hold: Hold, slot: Slot) -> A:
        try:
            self._budget.check()  # waiting for the slot may have used its time up
        except BudgetError:
            slot.cancel()
            raise
        tally, worst = sending.tally, sending.worst
        tally.requests += 1
        seconds = min(self._settings.timeout, self._latest(sending) - time.monotonic())
        try:
            answer = _within(sending.exchange, max(0.01, seconds))
        except Exception as error:  # noqa: BLE001 - litellm raises many kinds; each is read
            failure = read_failure(error)
            if not failure.sent:
                tally.requests -= 1
                slot.cancel()
            elif failure.answered:
                slot.settle(0)
            else:
                tally.lost += worst.tokens
            if failure.kind == "rate_limited" and failure.wait:
                self._limiter.pause(failure.wait)
            raise failure from None
        prompt = worst.prompt if answer.prompt is None else answer.prompt
        completion = worst.completion if answer.completion is None else answer.completion
        cost = dollars_of(self.name, prompt, completion, self._settings, answer.usage)
        tally.add(prompt, completion, cost)
        slot.settle(prompt + completion)
        hold.settle(prompt + completion, cost)
        return answer

    def _latest(self, sending: Sending[A]) -> float:
        """When there is no point in going on, on the monotonic clock."""
        left = self._budget.seconds_left()
        return sending.until if left is None else min(sending.until, time.monotonic() + left)


def _within(exchange: Callable[[threading.Event], A], seconds: float) -> A:
    """One HTTP request, given up when its time is over.

    A thread of its own: a server that trickles bytes never meets a client's read time-out.
    """
    done, given_up = threading.Event(), threading.Event()
    box: dict[str, Any] = {}

    def work() -> None:
        try:
            box["answer"] = exchange(given_up)
        except BaseException as error:  # noqa: BLE001 - raised again by the one who waits
            box["error"] = error
        finally:
            done.set()

    threading.Thread(target=work, name="vepa-model", daemon=True).start()
    if not done.wait(seconds):
        given_up.set()
        raise GaveUpError
    if "error" in box:
        raise box["error"]
    answer: A = box["answer"]
    return answer


def _hint(failure: AttemptError, provider: str, settings: ModelSettings) -> str:
    if failure.kind == "refused_key":
        name = settings.key_variable or f"{provider.upper()}_API_KEY"
        return f"the key is read from the environment variable {name}"
    if not failure.sent:
        return (
            "it was not sent, for the model does not take all of what was set (temperature, tools, "
            "a structured answer); leave out what it has not"
        )
    if failure.kind == "rate_limited" and failure.wait:
        return f"it asks to wait {failure.wait:.0f} s"
    if failure.kind == "unreachable" and settings.api_base:
        return "check `api_base`, and whether the server runs"
    return ""
