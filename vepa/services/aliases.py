"""Stable names for what differs from run to run: ids, event ids, tokens, times.

A model sees `payment#3` where the service said `pi_Hs8fJx…`, and the seed's clock where the service
said the time of day. Aliases are numbered in the order in which an episode meets them, after those
of the seed, which have their numbers in the seed's order. So the same episode run twice reads the
same, byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from functools import partial
from typing import Any

from vepa.services.environment import VolatileKind
from vepa.services.environment.parts import Clock

__all__ = ["AliasTable"]

_ALIAS = re.compile(r"\b[a-z][a-z0-9_]*#[1-9][0-9]*\b")
#: A shorter value may stand in a text for something else.
_TELLING = 8


class AliasTable:
    """The aliases of one episode over all its environments.

    Parameters
    ----------
    seed
        (kind, value) of the seed, in its order; they get the first numbers of their kinds.
    clock
        The seed's clock.
    started
        When the episode began, in the services' own time; times before it are the seed's.
    """

    def __init__(self, seed: Iterable[tuple[str, str]] = (), *, clock: datetime, started: datetime):
        self._clock = clock
        self._started = started
        self._alias: dict[tuple[str, str], str] = {}
        self._value: dict[str, str] = {}
        self._count: dict[str, int] = {}
        self._told: dict[str, str] = {}
        self._minutes: dict[float, int] = {}
        self._call = 0
        for kind, value in seed:
            self.alias(kind, value)

    def begin_call(self) -> int:
        """Count a call; its number, from 1."""
        self._call += 1
        return self._call

    @property
    def now(self) -> datetime:
        """The episode's own time: the seed's clock plus a minute a call."""
        return self._clock + timedelta(minutes=self._call)

    def alias(self, kind: str, value: str) -> str:
        """The alias of a value; a new one where it has none."""
        known = self._alias.get((kind, value))
        if known is None:
            number = self._count[kind] = self._count.get(kind, 0) + 1
            known = self._alias[kind, value] = f"{kind}#{number}"
            self._value[known] = value
        return known

    def reveal(self, data: Any) -> Any:
        """Arguments with every known alias replaced by the service's own value."""
        if isinstance(data, str):
            return _ALIAS.sub(self._own_value, data)
        if isinstance(data, Mapping):
            return {key: self.reveal(item) for key, item in data.items()}
        if isinstance(data, (list, tuple)):
            return [self.reveal(item) for item in data]
        return data

    def _own_value(self, match: re.Match[str]) -> str:
        value = self._value.get(match[0])
        if value is None:
            return match[0]
        if len(value) >= _TELLING:
            self._told[value] = match[0]
        return value

    def hide(self, data: Any, kinds: Mapping[str, VolatileKind]) -> Any:
        """An answer with the volatile values of these kinds replaced by their aliases.

        Values are met in the order of the answer, so the same answer gives the same aliases. A
        value that stood in arguments for an alias is hidden everywhere: a mail about a payment
        shows the payment as the agent wrote it, though mail knows no payments.
        """
        return self._hidden(data, kinds, None)

    def _hidden(self, data: Any, kinds: Mapping[str, VolatileKind], key: str | None) -> Any:
        if isinstance(data, Mapping):
            return {
                self._text(str(name), kinds, None): self._hidden(item, kinds, str(name))
                for name, item in data.items()
            }
        if isinstance(data, (list, tuple)):
            return [self._hidden(item, kinds, key) for item in data]
        if isinstance(data, bool) or data is None:
            return data
        if key is not None:
            for kind, what in kinds.items():
                if what.clock is not None and key in what.clock.fields:
                    return self._time(data, what.clock)
                if what.pattern is None and key in what.fields and str(data) != "":
                    return self.alias(kind, str(data))
        return self._text(data, kinds, key) if isinstance(data, str) else data

    def _text(self, text: str, kinds: Mapping[str, VolatileKind], key: str | None) -> str:
        for value in sorted(self._told, key=len, reverse=True):
            if value in text:
                whole = rf"(?<!\w){re.escape(value)}(?!\w)"
                text = re.sub(whole, self._told[value], text)
        for kind, what in kinds.items():
            if what.pattern is None or (what.fields and key not in what.fields):
                continue
            text = re.sub(what.pattern, partial(self._swap, kind), text)
        return text

    def _swap(self, kind: str, match: re.Match[str]) -> str:
        if "id" not in match.re.groupindex or match["id"] is None:
            return self.alias(kind, match[0])
        start, end = match.start("id") - match.start(), match.end("id") - match.start()
        return match[0][:start] + self.alias(kind, match["id"]) + match[0][end:]

    def _time(self, value: Any, clock: Clock) -> Any:
        try:
            when = _read_time(value, clock.form)
        except (ValueError, TypeError, OverflowError, OSError):  # no time, or none that is
            return value
        # A second's grace: services that cut off the fraction would date a new thing before us.
        if when < self._started - timedelta(seconds=1):
            told = self._clock
        else:
            minutes = self._minutes.setdefault(when.timestamp(), self._call)
            told = self._clock + timedelta(minutes=minutes)
        return _write_time(told, "iso" if clock.iso else clock.form, value)


def _read_time(value: Any, form: str) -> datetime:
    if form == "epoch_s":
        return datetime.fromtimestamp(float(value), UTC)
    if form == "epoch_ms":
        return datetime.fromtimestamp(float(value) / 1000, UTC)
    if form == "rfc822":
        when = parsedate_to_datetime(str(value))
    else:
        when = datetime.fromisoformat(str(value))
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _write_time(when: datetime, form: str, like: Any) -> Any:
    if form == "epoch_s":
        return type(like)(int(when.timestamp()))
    if form == "epoch_ms":
        return type(like)(int(when.timestamp() * 1000))
    if form == "rfc822":
        return format_datetime(when)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")
