"""A real model behind litellm: limits, budgets, retries, the one repair of a structured answer."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from typing import Any

from vepa.errors import ModelError
from vepa.llm.budget import Budget
from vepa.llm.engine import load_litellm, provider_of
from vepa.llm.failures import AttemptError, GaveUpError, read_failure
from vepa.llm.limits import limiter_for
from vepa.llm.messages import Message, ModelReply, ModelRequest
from vepa.llm.prices import count_tokens, dollars_of, worst_dollars
from vepa.llm.retries import with_retries
from vepa.llm.settings import ModelSettings
from vepa.llm.shapes import Misshapen, check_schema, parse_structured
from vepa.llm.tally import Tally
from vepa.llm.wire import Answer, Mode, assembled, parameters, read_response

__all__ = ["ProviderModel"]

_REPAIR = (
    "Your last answer cannot be used: {fault}. Give the whole answer again, corrected: "
    "one JSON object that fits the schema, nothing else."
)


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
        if request.shape is not None:
            check_schema(request.shape)
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
        if answer.finish == "length":
            fault = f"it was cut at the limit of tokens ({fault})"
        said = Message(role="assistant", content=answer.text or "(no answer)")
        told = Message(role="user", content=_REPAIR.format(fault=fault))
        again = request.model_copy(update={"messages": (*request.messages, said, told)})
        # A copy would keep the bytes of the first request, which are worked out once.
        again = ModelRequest.model_validate(dict(again))
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

    def _send(self, question: _Question) -> Answer:
        """Send until an answer comes; what each attempt took is counted."""
        try:
            return with_retries(
                lambda: self._attempt(question), self._settings, question.until, self._budget
            )
        except AttemptError as failure:
            if failure.declined:
                return Answer(finish="declined")
            hint = _hint(failure, self._provider, self._settings)
            raise failure.as_model_error(self.name, question.tally.requests, hint) from None

    def _attempt(self, question: _Question) -> Answer:
        settings, tally = self._settings, question.tally
        guess = count_tokens(question.request, self.name)
        most = question.request.max_tokens or settings.max_tokens
        dollars = worst_dollars(self.name, guess, most, settings)
        with (
            self._limiter.slot(guess + most, question.until) as slot,
            self._budget.hold(guess + most, dollars) as hold,
        ):
            seconds = self._seconds_left(question)
            tally.requests += 1
            try:
                answer = self._call(question, seconds)
            except Exception as error:  # noqa: BLE001 - litellm raises many kinds; each is read
                failure = read_failure(error)
                if failure.answered:
                    slot.settle(0)
                    hold.settle(0, 0.0)
                else:
                    tally.lost += guess + most
                    hold.settle(guess + most, dollars)
                if failure.kind == "rate_limited" and failure.wait:
                    self._limiter.pause(failure.wait)
                raise failure from None
            prompt = guess if answer.prompt is None else answer.prompt
            completion = most if answer.completion is None else answer.completion
            cost = dollars_of(self.name, prompt, completion, settings, answer.usage)
            tally.add(prompt, completion, cost)
            slot.settle(prompt + completion)
            hold.settle(prompt + completion, cost)
            return answer

    def _seconds_left(self, question: _Question) -> float:
        left = min(self._settings.timeout, question.until - time.monotonic())
        budget = self._budget.seconds_left()
        return max(0.01, left if budget is None else min(left, budget))

    def _call(self, question: _Question, seconds: float) -> Answer:
        """One HTTP request, given up when its time is over.

        A thread of its own: a server that trickles bytes never meets a client's read time-out.
        """
        done = threading.Event()
        box: dict[str, Any] = {}

        def work() -> None:
            try:
                box["answer"] = self._exchange(question, seconds)
            except BaseException as error:  # noqa: BLE001 - raised again by the one who waits
                box["error"] = error
            finally:
                done.set()

        threading.Thread(target=work, name="vepa-model", daemon=True).start()
        if not done.wait(seconds):
            raise GaveUpError
        if "error" in box:
            raise box["error"]
        answer: Answer = box["answer"]
        return answer

    def _exchange(self, question: _Question, seconds: float) -> Answer:
        settings, request = self._settings, question.request
        keywords = parameters(request, settings, question.mode)
        supported = (
            self._litellm.get_supported_openai_params(
                model=self.name.partition("/")[2] or self.name, custom_llm_provider=self._provider
            )
            or ()
        )
        for wish in ("seed", "stream_options"):  # wishes: a provider without them is no error
            if wish in keywords and wish not in supported:
                del keywords[wish]
        if question.mode == "json" and "response_format" in supported:
            keywords["response_format"] = {"type": "json_object"}
        if settings.api_base:
            keywords["api_base"] = settings.api_base
        if settings.key_variable:
            keywords["api_key"] = os.environ.get(settings.key_variable, "")
        response = self._litellm.completion(
            model=self.name, timeout=seconds, max_retries=0, num_retries=0, **keywords
        )
        if not settings.stream:
            return read_response(response, request.shape, question.mode)
        return assembled(response, request.shape, question.mode)


def _hint(failure: AttemptError, provider: str, settings: ModelSettings) -> str:
    if failure.kind == "refused_key":
        name = settings.key_variable or f"{provider.upper()}_API_KEY"
        return f"the key is read from the environment variable {name}"
    if failure.kind == "rate_limited" and failure.wait:
        return f"it asks to wait {failure.wait:.0f} s"
    if failure.kind == "unreachable" and settings.api_base:
        return "check `api_base`, and whether the server runs"
    return ""
