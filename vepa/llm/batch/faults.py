"""What went wrong in a call to a vendor, and above all: can it have been taken?"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from vepa.llm.failures import AttemptError, retry_after

__all__ = ["calling", "kind_of_status", "plain_word", "quiet", "result_lines", "unreadable"]

_WORD = re.compile(r"[a-z]+(?:_[a-z]+)+")
_NOT_SENT = {"ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol"}
#: Their debug lines hold requests.
_TALKATIVE = ("anthropic", "httpcore", "httpcore2", "httpx", "httpx2", "openai")


def quiet() -> None:
    """Keep the clients' own loggers from writing requests down."""
    for name in _TALKATIVE:
        logger = logging.getLogger(name)
        logger.setLevel(max(logger.level, logging.WARNING))


def kind_of_status(status: int) -> str:
    """Of a `ModelError`, by HTTP status."""
    if status in (401, 403):
        return "refused_key"
    if status == 429:
        return "rate_limited"
    if status in (503, 529):
        return "overloaded"
    return "failed" if status >= 500 or status == 408 else "bad_request"


def plain_word(value: Any) -> str | None:
    """A vendor's word for a fault, where no text and no key can hide in it."""
    fits = isinstance(value, str) and len(value) <= 48 and _WORD.fullmatch(value)
    return value if fits else None


def unreadable() -> AttemptError:
    """An answer of the vendor that is none: it may have done what it was asked."""
    return AttemptError("failed", 200, "unreadable_answer", again=True, answered=False)


@contextmanager
def calling() -> Iterator[None]:
    """Tell every fault of a vendor's client as `AttemptError`.

    Its `answered` is True only where the vendor refused, or nothing was sent: a call that cost
    nothing.
    """
    try:
        yield
    except AttemptError:
        raise
    except Exception as error:  # noqa: BLE001 - clients raise many kinds; each is read
        raise _read(error) from None


def _read(error: Exception) -> AttemptError:
    status = getattr(error, "status_code", None)
    if not isinstance(status, int):
        sent = not _NOT_SENT & set(_names(error))
        return AttemptError("unreachable", again=True, answered=not sent, sent=sent)
    if status < 400:  # a success that its client could not read
        return unreadable()
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, Mapping) else {}
    inner = inner if isinstance(inner, Mapping) else {}
    code = plain_word(inner.get("code")) or plain_word(inner.get("type"))
    headers = getattr(getattr(error, "response", None), "headers", {})
    return AttemptError(
        kind_of_status(status),
        status,
        code,
        again=status in (408, 409, 429) or status >= 500,
        wait=retry_after(dict(headers)),
        answered=status < 500 and status != 408,
    )


def _names(error: BaseException) -> Iterator[str]:
    at: BaseException | None = error
    for _ in range(8):
        if at is None:
            return
        yield from (kind.__name__ for kind in type(at).__mro__)
        at = at.__cause__ or at.__context__


def result_lines(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The lines of a file of results by their ids; what cannot be read is left out."""
    import json

    for line in text.split("\n"):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        name = found.get("custom_id") if isinstance(found, dict) else None
        if isinstance(name, str):
            yield name, found
