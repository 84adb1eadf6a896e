"""Requests into batches, and batches to the vendor: written down before and after each call."""

from __future__ import annotations

import json
import random
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from vepa.errors import SettingError, Where
from vepa.files import canonical_json, sha256_of
from vepa.llm.batch.holds import Holds, Load
from vepa.llm.batch.journal import BatchJournal
from vepa.llm.batch.records import Member
from vepa.llm.batch.vendors import Vendor, entry_id, variable_of
from vepa.llm.failures import AttemptError
from vepa.llm.messages import ModelRequest
from vepa.llm.prices import count_tokens, estimate
from vepa.llm.settings import ModelSettings
from vepa.llm.shapes import check_schema

__all__ = ["Sender", "Wanted", "load_of"]

#: Key -> the request, made when it is needed: many of them do not fit into memory.
Wanted = Mapping[str, Callable[[], ModelRequest]]


def load_of(name: str, request: ModelRequest, settings: ModelSettings) -> Load:
    """The worst case of a request in a batch: its prompt as guessed, its answer at the limit."""
    prompt = count_tokens(request, name)
    completion = request.max_tokens or settings.max_tokens
    return Load(
        prompt + completion, estimate(name, prompt, completion, settings, batch=True) or 0.0
    )


class Sender:
    """Sends what is wanted; see the package for the order in which it writes and calls.

    Parameters
    ----------
    name, settings
        The model and how it is asked.
    vendor, journal, holds
        Where to, where it is written down, and what is set aside for it.
    """

    def __init__(
        self,
        name: str,
        settings: ModelSettings,
        vendor: Vendor,
        journal: BatchJournal,
        holds: Holds,
    ):
        self._name, self._settings = name, settings
        self._vendor, self._journal, self._holds = vendor, journal, holds
        self._most = vendor.limits.requests
        self._failed = 0
        self.not_before = 0.0
        self.trouble: str | None = None

    def key_of(self, request: ModelRequest) -> str:
        """Hash of what is sent for a request, and where to.

        Raises
        ------
        SettingError
            When the request cannot be asked in bulk.
        """
        if request.tools or any(m.calls or m.role == "tool" for m in request.messages):
            raise SettingError(
                "a request with tools is not asked in bulk",
                where=Where(field="tools"),
                remedy="ask it one by one: whoever offers tools waits for each call",
            )
        if request.shape is not None:
            check_schema(request.shape)
        body = self._vendor.body(request)
        return sha256_of(canonical_json({"at": self._vendor.place, "body": body}))

    def shrink(self, count: int) -> bool:
        """Make batches half as large as one that was too large; False when it was the smallest."""
        self._most = max(1, count // 2)
        return count > 1

    def send(self, keys: Sequence[str], wanted: Wanted) -> int:
        """Send one batch of the first of these keys; returns how many of them are dealt with.

        Returns
        -------
        int
            0 when the vendor would not take any just now; `not_before` says when to come again.

        Raises
        ------
        BudgetError
            When not even the first fits.
        ModelError
            When the vendor refuses for good, or does not answer as often as the settings allow.
        """
        if time.monotonic() < self.not_before:
            return 0
        token = secrets.token_hex(8)
        members, loads = self._sized(token, keys, wanted)
        fitting = self._holds.fitting(token, loads)
        members, loads = members[:fitting], loads[:fitting]

        def entries() -> Iterator[dict[str, Any]]:
            for member in members:
                body = self._vendor.body(wanted[member.key]())
                yield self._vendor.entry(entry_id(token, member.number), body)

        self._journal.intend(
            token,
            members,
            sum(load.tokens for load in loads),
            sum(load.dollars for load in loads),
        )
        try:
            prepared = self._vendor.prepare(token, entries)
        except AttemptError as fault:
            return self._not_taken(token, fault)
        self._journal.mark(token, "sending", prepared=prepared)
        try:
            vendor_id = self._vendor.submit(token, prepared, entries)
        except AttemptError as fault:
            if fault.answered:
                return self._not_taken(token, fault)
            self._wait_after(fault)  # in doubt, and looked for from here on
            return fitting
        self._journal.mark(token, "submitted", vendor_id=vendor_id)
        self._failed, self.trouble = 0, None
        return fitting

    def _sized(
        self, token: str, keys: Sequence[str], wanted: Wanted
    ) -> tuple[list[Member], list[Load]]:
        """As many of the first keys as one batch holds."""
        members: list[Member] = []
        loads: list[Load] = []
        size, total = 0, Load(0, 0.0)
        for number, key in enumerate(keys[: min(self._most, self._vendor.limits.requests)]):
            request = wanted[key]()
            entry = self._vendor.entry(entry_id(token, number), self._vendor.body(request))
            size += len(json.dumps(entry)) + 2
            if members and size > self._vendor.limits.bytes:
                break
            shape = request.shape.name if request.shape is not None else None
            mode = self._vendor.mode(request)
            load = load_of(self._name, request, self._settings)
            total = Load(total.tokens + load.tokens, total.dollars + load.dollars)
            if members and self._holds.beyond(total):
                break
            members.append(Member(number, key, request.content_hash, shape, mode))
            loads.append(load)
        return members, loads

    def _not_taken(self, token: str, fault: AttemptError) -> int:
        """The keys are free again, after a wait."""
        self._journal.mark(token, "void", note=fault.code or fault.kind)
        self._holds.free(token)
        self._wait_after(fault)
        return 0

    def _wait_after(self, fault: AttemptError) -> None:
        """Send no more for a while, or not at all."""
        self._failed += 1
        hint = ""
        if fault.kind == "refused_key":
            variable = variable_of(self._name, self._settings)
            hint = f"the key is read from the environment variable {variable}"
        error = fault.as_model_error(self._name, self._failed, hint)
        if not fault.again or self._failed >= self._settings.max_attempts:
            raise error from None
        self.trouble = str(error)
        doubled = self._settings.first_wait * 2.0 ** (self._failed - 1)
        waited = min(doubled, self._settings.longest_wait) * random.uniform(0.5, 1)
        self.not_before = time.monotonic() + max(waited, fault.wait or 0.0)
