"""A model that is asked in bulk: what is wanted goes in, what has come so far comes out."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from vepa.errors import BudgetError, ModelError, SettingError, Where
from vepa.llm.batch.following import Follower, OnTheWay
from vepa.llm.batch.holds import Holds
from vepa.llm.batch.journal import BatchJournal
from vepa.llm.batch.pace import Pace
from vepa.llm.batch.records import Kept, Unanswered
from vepa.llm.batch.sending import Sender, Wanted
from vepa.llm.batch.vendors import Vendor, open_vendor
from vepa.llm.budget import Budget
from vepa.llm.ledger import Ledger
from vepa.llm.messages import Message, ModelReply, ModelRequest, Usage
from vepa.llm.prices import price_known
from vepa.llm.settings import ModelSettings
from vepa.llm.shapes import Misshapen, parse_structured

__all__ = ["BatchModel", "Outcome", "open_batch_model"]

_WORDS = {
    "expired": "the batch ended before the request was worked on",
    "canceled": "the batch was canceled before the request was worked on",
    "malformed": "what came back for the request cannot be read",
    "bad_request": "the vendor refuses the request",
    "refused_key": "the vendor refuses the key for the request",
    "rate_limited": "the vendor limits the rate of requests",
    "overloaded": "the vendor is overloaded",
    "failed": "the vendor failed at the request",
}


@dataclass(frozen=True)
class Outcome:
    """What came of one request.

    Attributes
    ----------
    reply
        The answer; its `data` is checked, or None where `fault` says what is wrong.
    fault
        Why a structured answer does not have its shape, for the one repair.
    error
        Why there is no answer, and will be none.
    """

    reply: ModelReply | None = None
    fault: str | None = None
    error: ModelError | None = None


class BatchModel:
    """One model behind a batch API; a context manager that holds its journal.

    Nothing here waits: `step` does what can be done now, and the caller decides how long to sleep.

    Parameters
    ----------
    name, settings
        The model and how it is asked.
    vendor
        Its batch API.
    path
        The journal.
    budget, ledger, pace
        What it may take, where answers are counted, how patient it is.
    """

    def __init__(
        self,
        name: str,
        settings: ModelSettings,
        vendor: Vendor,
        path: Path,
        budget: Budget,
        ledger: Ledger | None,
        pace: Pace,
    ):
        self.name = name
        self.pace = pace
        self._settings = settings
        self._journal = BatchJournal(path, vendor.place)
        self._holds = Holds(budget)
        self._sender = Sender(name, settings, vendor, self._journal, self._holds)
        self._follower = Follower(name, settings, pace, vendor, self._journal, self._holds, ledger)
        self._answered: set[str] = set()
        self._given_up: dict[str, Unanswered] = {}
        self._full = 0
        #: Why nothing more was sent, and how many of what was wanted.
        self.blocked: BudgetError | None = None
        self.unsent = 0

    def __enter__(self) -> BatchModel:
        self._journal.__enter__()
        try:
            self._follower.recover()
            self._reload()
        except BaseException:
            self._journal.__exit__()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._holds.free_all()
        self._journal.__exit__()

    def key_of(self, request: ModelRequest) -> str:
        """What `step` knows a request by; see `Sender.key_of`."""
        return self._sender.key_of(request)

    def step(self, wanted: Wanted) -> dict[str, Outcome]:
        """Ask about what is due, collect what has ended, send what is new.

        Parameters
        ----------
        wanted
            Key -> the request. What an earlier step, or an earlier process, has got already is not
            asked again.

        Returns
        -------
        dict
            Of the wanted keys those that are done; leave them out of the next step.

        Raises
        ------
        ModelError
            When the vendor refuses the key or a batch as a whole, or cannot be reached.
        """
        if self._follower.follow():
            self._reload()
        if self._follower.too_large is not None:
            self._make_smaller(self._follower.too_large)
        found = {key: self._outcome(make(), key) for key, make in wanted.items() if self._over(key)}
        self._send({key: make for key, make in wanted.items() if key not in found})
        return found

    def on_the_way(self) -> list[OnTheWay]:
        """Batches that have not been collected."""
        return self._follower.on_the_way()

    @property
    def held_up(self) -> bool:
        """Whether what was not sent waits for what is on its way: for the budget, or the queue."""
        return self.unsent > 0 and (self.blocked is not None or self._full > 0)

    @property
    def trouble(self) -> str | None:
        """What the last call to the vendor met, where it will be tried again."""
        return self._follower.trouble or self._sender.trouble

    def idle(self) -> float:
        """Seconds until a step makes sense."""
        at = self._follower.next_at()
        now = time.monotonic()
        if at is None:
            at = now + self.pace.first
        if self._sender.not_before > now:
            at = min(at, self._sender.not_before)
        return max(0.0, at - now)

    def _over(self, key: str) -> bool:
        return key in self._answered or key in self._given_up

    def _reload(self) -> None:
        self._answered = self._journal.answered()
        self._given_up = self._journal.given_up(self._settings.max_attempts)

    def _send(self, wanted: Wanted) -> None:
        self.blocked = None
        busy = self._journal.busy() if wanted else set()
        keys = [key for key in wanted if key not in busy]
        self.unsent = len(keys)
        if self._full and len(self._follower.on_the_way()) >= self._full:
            return
        self._full = 0
        while keys:
            try:
                sent = self._sender.send(keys, wanted)
            except BudgetError as error:
                if error.budget == "seconds":
                    raise
                self.blocked = error  # until something on its way is settled
                return
            if not sent:
                return
            keys = keys[sent:]
            self.unsent = len(keys)

    def _make_smaller(self, count: int) -> None:
        """A queue without room: wait for what of ours is in it, or come with less."""
        self._follower.too_large = None
        self._full = len(self._follower.on_the_way())
        if not self._full and not self._sender.shrink(count):
            raise ModelError(
                f"{self.name}: the vendor has no room for even one request in its queue "
                "(token_limit_exceeded); nothing was charged",
                "rate_limited",
            )
        self._sender.not_before = time.monotonic() + self.pace.first

    def _outcome(self, request: ModelRequest, key: str) -> Outcome:
        kept = self._journal.answer(key)
        if kept is None:
            return Outcome(error=self._error(self._given_up[key]))
        if request.shape is None or kept.finish == "declined":
            return Outcome(self._reply(kept))
        try:
            return Outcome(self._reply(kept, parse_structured(kept.text, request.shape)))
        except Misshapen as fault:
            return Outcome(self._reply(kept), str(fault))

    def _reply(self, kept: Kept, data: object = None) -> ModelReply:
        return ModelReply(
            message=Message(role="assistant", content=kept.text),
            finish=kept.finish,
            model=kept.model,
            source="provider",
            data=data,
            usage=Usage(kept.prompt, kept.completion, kept.dollars),
        )

    def _error(self, unanswered: Unanswered) -> ModelError:
        words = _WORDS.get(unanswered.kind, _WORDS["failed"])
        facts = [unanswered.code] if unanswered.code else []
        facts += [f"{self._settings.max_attempts} times"] if unanswered.again else []
        text = f"{self.name}: {words}" + (f" ({', '.join(facts)})" if facts else "")
        kind = "failed" if unanswered.kind in ("expired", "canceled") else unanswered.kind
        return ModelError(text, kind)


def open_batch_model(
    name: str,
    path: str | Path,
    *,
    settings: ModelSettings | None = None,
    budget: Budget | None = None,
    ledger: Ledger | None = None,
    pace: Pace | None = None,
) -> BatchModel:
    """Open a model to be asked in bulk; the door to batch APIs, as `open_model` is to the others.

    Parameters
    ----------
    name
        `openai/NAME` or `anthropic/NAME`.
    path
        The journal of its batches: one file a use and model.
    settings
        How it is asked.
    budget
        What it may take; a batch counts with its worst case until its answers are here.
    ledger
        Where every answer is written down.
    pace
        How patient it is.

    Raises
    ------
    SettingError
        When the model has no batch API here, or a budget of dollars meets an unknown price.
    ModelError
        `refused_key`: there is no key. Nothing was sent.
    MissingExtraError
        When the vendor's client is not installed.
    """
    settings = settings or ModelSettings()
    vendor = open_vendor(name, settings)
    if budget is not None and budget.counts_dollars and not price_known(name, settings):
        raise SettingError(
            f"{name}: a budget of dollars is set, and the price of this model is not known",
            where=Where(field="prices"),
            remedy="give `prices: {prompt: …, completion: …}` (US dollars a million tokens in a "
            "batch) in the model's settings, or budget tokens instead",
        )
    return BatchModel(
        name,
        settings,
        vendor,
        Path(path),
        budget or Budget(),
        ledger,
        pace or Pace.of(settings),
    )
