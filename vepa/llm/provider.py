"""A real model behind litellm: how it is asked, and the one repair of a structured answer."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

from vepa.errors import ModelError
from vepa.llm.budget import Budget
from vepa.llm.messages import ModelReply, ModelRequest
from vepa.llm.prices import count_tokens, estimate
from vepa.llm.repairs import repair_of
from vepa.llm.sending import Sender, Sending, Worst
from vepa.llm.settings import ModelSettings
from vepa.llm.shapes import Misshapen, check_schema, parse_structured
from vepa.llm.streams import assembled, let_go
from vepa.llm.tally import Tally
from vepa.llm.wire import Answer, Mode, parameters, read_response

__all__ = ["ProviderModel"]


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
        self._sender = Sender(name, settings, budget)
        self._litellm, self._provider = self._sender.litellm, self._sender.provider

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
        self._sender.check_key()
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

    def _send(self, question: _Question) -> Answer:
        """Send until an answer comes; a provider's filter is an answer too."""
        settings = self._settings
        guess = count_tokens(question.request, self.name)
        most = question.request.max_tokens or settings.max_tokens
        worst = Worst(guess, most, estimate(self.name, guess, most, settings))
        answer = self._sender.send(
            Sending(
                lambda given_up: self._exchange(question, given_up),
                worst,
                question.tally,
                question.until,
            )
        )
        return Answer(finish="declined") if answer is None else answer

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
        response = self._litellm.completion(**self._sender.access(), **keywords)
        if not settings.stream:
            return read_response(response, request.shape, question.mode)
        try:
            return assembled(response, request.shape, question.mode, given_up)
        finally:
            let_go(response)
