"""A real model behind litellm: limits, budgets, retries, the one repair of a structured answer."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from typing import Any

from vepa.errors import BudgetError, ModelError
from vepa.llm.budget import Budget, Hold
from vepa.llm.engine import load_litellm, provider_of
from vepa.llm.failures import AttemptError, GaveUpError, read_failure
from vepa.llm.limits import Slot, limiter_for
from vepa.llm.messages import ModelReply, ModelRequest
from vepa.llm.prices import count_tokens, dollars_of, estimate
from vepa.llm.repairs import repair_of
from vepa.llm.retries import with_retries
from vepa.llm.settings import ModelSettings
from vepa.llm.shapes import Misshapen, check_schema, parse_structured
from vepa.llm.streams import assembled
from vepa.llm.tally import Tally
from vepa.llm.wire import Answer, Mode, parameters, read_response

__all__ = ["ProviderModel"]


@dataclass(frozen=True)
class _Worst:
    """What one HTTP request may take at most."""

    prompt: int
    completion: int
    dollars: float | None

    @property
    def tokens(self) -> int:
        return self.prompt + self.completion


@dataclass
class _Question:
    """One request on its way, with its clock."""

    request: ModelRequest
    mode: Mode
    tally: Tally
    until: float


class ProviderModel:
    """Any model that litellm reaches; safe to share by threads.

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
        self._settings = settings
        self._budget = budget or Budget()
        self._litellm = load_litellm()
        self._provider = provider_of(name)
        self._limiter = limiter_for((self._provider, settings.api_base or ""), settings)

    def answer(self, request: ModelRequest, tally: Tally) -> ModelReply:
        """Answer a request.

        Raises
        ------
        ModelError
            When no usable answer came.
        BudgetError
            When the next HTTP request might break a budget; it was not sent.
        """
        tally.source = "provider"
        if request.shape is not None:
            check_schema(request.shape)
        self._check_key()
        mode = self._mode(request)
        until = time.monotonic() + self._settings.deadline
        question = _Question(request, mode, tally, until)
        answer = self._send(question)
        if request.shape is None or answer.calls or answer.finish == "declined":
            return self._reply(answer, tally)
        try:
            data = parse_structured(answer.text, request.shape)
            return self._reply(answer, tally, data)
        except Misshapen as fault:
            return self._repaired(question, answer, str(fault))

    def _repaired(self, question: _Question, answer: Answer, fault: str) -> ModelReply:
        request = question.request
        again = repair_of(request, answer.text, fault, cut=answer.finish == "length")
        second = self._send(_Question(again, question.mode, question.tally, question.until))
        if second.finish == "declined":
            return self._reply(second, question.tally, repaired=True)
        shape = request.shape
        try:
            if shape is None or second.calls:
                raise Misshapen("a call instead of an answer")
            data = parse_structured(second.text, shape)
        except Misshapen:
            raise ModelError(
                f"{self.name}: the structured answer does not fit its shape, and neither does "
                "the one that was asked for again",
                "malformed",
            ) from None
        return self._reply(second, question.tally, data, repaired=True)

    def _reply(
        self, answer: Answer, tally: Tally, data: Any = None, repaired: bool = False
    ) -> ModelReply:
        return ModelReply(
            message=answer.message(),
            finish=answer.finish,
            model=answer.model or self.name,
            source="provider",
            data=data,
            usage=tally.usage(),
            repaired=repaired,
        )

    def _mode(self, request: ModelRequest) -> Mode:
        """How the structured answer is asked for."""
        if request.shape is None:
            return None
        if self._settings.structured != "auto":
            chosen: Mode = self._settings.structured
            return "json" if chosen == "tool" and request.tools else chosen
        if self._litellm.supports_response_schema(self.name, self._provider):
            return "schema"
        if not request.tools and self._litellm.supports_function_calling(self.name):
            return "tool"
        return "json"

    def _check_key(self) -> None:
        """Refuse before anything is sent; a named variable never falls back to the usual one."""
        named = self._settings.key_variable
        if named is not None:
            missing = [] if os.environ.get(named) else [named]
        else:
            missing = self._litellm.validate_environment(self.name).get("missing_keys", [])
        if missing and all(name.endswith("_API_KEY") or name == named for name in missing):
            raise ModelError(
                f"{self.name}: there is no key; it is read from the environment variable "
                + " or ".join(missing),
                "refused_key",
            )

    def _send(self, question: _Question) -> Answer:
        """Send until an answer comes; what each attempt took is counted."""
        try:
            return with_retries(
                lambda: self._attempt(question), self._settings, question.until, self._budget
            )
        except AttemptError as failure:
            if failure.declined:
                return Answer(finish="declined")
            self._budget.check()  # a wait cut short by the budget's time is told as that
            hint = _hint(failure, self._provider, self._settings)
            raise failure.as_model_error(self.name, question.tally.requests, hint) from None

    def _attempt(self, question: _Question) -> Answer:
        """One HTTP request, its worst case put aside before it and settled after it."""
        settings = self._settings
        guess = count_tokens(question.request, self.name)
        most = question.request.max_tokens or settings.max_tokens
        worst = _Worst(guess, most, estimate(self.name, guess, most, settings))
        with self._budget.hold(worst.tokens, worst.dollars) as hold:
            try:
                with self._limiter.slot(worst.tokens, self._latest(question)) as slot:
                    return self._sent(question, worst, hold, slot)
            except AttemptError as failure:
                if failure.answered:
                    hold.settle(0, 0.0)
                raise

    def _sent(self, question: _Question, worst: _Worst, hold: Hold, slot: Slot) -> Answer:
        try:
            self._budget.check()  # waiting for the slot may have used its time up
        except BudgetError:
            slot.cancel()
            raise
        tally = question.tally
        tally.requests += 1
        seconds = min(self._settings.timeout, self._latest(question) - time.monotonic())
        try:
            answer = self._call(question, max(0.01, seconds))
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

    def _latest(self, question: _Question) -> float:
        """When there is no point in going on, on the monotonic clock."""
        left = self._budget.seconds_left()
        return question.until if left is None else min(question.until, time.monotonic() + left)

    def _call(self, question: _Question, seconds: float) -> Answer:
        """One HTTP request, given up when its time is over.

        A thread of its own: a server that trickles bytes never meets a client's read time-out.
        """
        done, given_up = threading.Event(), threading.Event()
        box: dict[str, Any] = {}

        def work() -> None:
            try:
                box["answer"] = self._exchange(question, given_up)
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
        answer: Answer = box["answer"]
        return answer

    def _exchange(self, question: _Question, given_up: threading.Event) -> Answer:
        settings, request = self._settings, question.request
        keywords = parameters(request, settings, question.mode)
        supported = (
            self._litellm.get_supported_openai_params(
                model=self.name.partition("/")[2] or self.name, custom_llm_provider=self._provider
            )
            or ()
        )
        if "seed" not in supported:  # a wish: a provider without it is no error
            keywords.pop("seed", None)
        if question.mode == "json" and "response_format" in supported:
            keywords["response_format"] = {"type": "json_object"}
        if settings.api_base:
            keywords["api_base"] = settings.api_base
        if settings.key_variable:
            keywords["api_key"] = os.environ[settings.key_variable]
        # Always the same time-out: litellm keeps a client, and its connections, for each.
        response = self._litellm.completion(
            model=self.name, timeout=settings.timeout, max_retries=0, num_retries=0, **keywords
        )
        if not settings.stream:
            return read_response(response, request.shape, question.mode)
        return assembled(response, request.shape, question.mode, given_up)


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
