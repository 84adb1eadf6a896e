"""What went wrong at a provider, in this project's words: no key, no text of a request."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from vepa.errors import ModelError
from vepa.llm.engine import load_litellm
from vepa.llm.wire import CutShortError

__all__ = ["AttemptError", "GaveUpError", "read_failure", "retry_after"]

#: A provider's word for a fault: plain enough that no text and no key fits in.
_CODE = re.compile(r"[a-z]+(?:_[a-z]+)+")
_FILTERED = {"content_policy_violation", "content_filter"}
_NOT_SENT = {"ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol"}
_KINDS = {
    400: "bad_request",
    401: "refused_key",
    403: "refused_key",
    404: "bad_request",
    413: "bad_request",
    422: "bad_request",
    429: "rate_limited",
    503: "overloaded",
    529: "overloaded",
}
_WORDS = {
    "unreachable": "the provider cannot be reached, or the connection was cut",
    "rate_limited": "the provider limits the rate of requests",
    "refused_key": "the provider refuses the key, or there is none",
    "bad_request": "the provider refuses the request",
    "overloaded": "the provider is overloaded",
    "failed": "the provider failed",
}


class GaveUpError(Exception):
    """A request ran past its time and was given up."""


@dataclass(eq=False)
class AttemptError(Exception):
    """One attempt that gave no answer.

    Attributes
    ----------
    kind
        As in `ModelError`.
    status
        HTTP status, where there was one.
    code
        The provider's own word, where it is a plain one.
    again
        Whether another attempt makes sense.
    wait
        Seconds that the provider asks for before it.
    answered
        Whether the provider refused without working: nothing was counted there.
    declined
        Whether the provider's filter declined the content.
    sent
        Whether there was an HTTP request at all.
    """

    kind: str
    status: int | None = None
    code: str | None = None
    again: bool = False
    wait: float | None = None
    answered: bool = True
    declined: bool = False
    sent: bool = True

    def as_model_error(self, model: str, requests: int, hint: str = "") -> ModelError:
        """The error that the caller sees."""
        words = _WORDS[self.kind]
        facts = [f"HTTP {self.status}"] if self.status else []
        facts += [self.code] if self.code else []
        facts += [f"{requests} requests sent"] if requests > 1 else []
        text = f"{model}: {words}" + (f" ({', '.join(facts)})" if facts else "")
        return ModelError(f"{text}; {hint}" if hint else text, self.kind)


def read_failure(error: BaseException) -> AttemptError:
    """What an exception of litellm, or one below it, means."""
    litellm = load_litellm()
    if isinstance(error, GaveUpError | CutShortError):
        return AttemptError("unreachable", again=True, answered=False)
    if isinstance(error, litellm.UnsupportedParamsError):
        return AttemptError("bad_request", sent=False)
    original = getattr(error, "original_exception", None)
    if isinstance(error, litellm.exceptions.MidStreamFallbackError) and original is not None:
        return read_failure(original)
    status, code = _status(error), _code(error)
    if isinstance(error, litellm.ContentPolicyViolationError) or code in _FILTERED:
        return AttemptError("bad_request", status, code, declined=True)
    if status is None or _no_response(error):
        sent = not _NOT_SENT & set(_names(error))
        return AttemptError("unreachable", again=True, answered=not sent)
    if status < 500:
        again = status in (408, 409, 429) and code != "insufficient_quota"
        wait = retry_after(_headers(error))
        kind = _KINDS.get(status, "failed" if again else "bad_request")
        return AttemptError(kind, status, code, again, wait)
    wait = retry_after(_headers(error))
    return AttemptError(_KINDS.get(status, "failed"), status, code, True, wait)


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds that a provider asks to wait, by `retry-after-ms` or `Retry-After` (seconds or date).

    Parameters
    ----------
    headers
        Of the response.
    now
        Seconds since the epoch; the clock's without it.

    Returns
    -------
    float or None
        Never negative; None without a header that can be read.
    """
    found = {name.lower(): value.strip() for name, value in headers.items()}
    try:
        if "retry-after-ms" in found:
            return _sane(float(found["retry-after-ms"]) / 1000)
        if "retry-after" in found:
            return _sane(float(found["retry-after"]))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(found["retry-after"])
    except (KeyError, ValueError, TypeError):
        return None
    return max(0.0, moment.timestamp() - (time.time() if now is None else now))


def _sane(seconds: float) -> float | None:
    return max(0.0, seconds) if seconds == seconds and abs(seconds) != float("inf") else None


def _status(error: BaseException) -> int | None:
    """The HTTP status: of the response below, for litellm changes some (529 becomes 500)."""
    for below in _chain(error):
        if any(kind.__name__ == "HTTPStatusError" for kind in type(below).__mro__):
            status = getattr(getattr(below, "response", None), "status_code", None)
            if isinstance(status, int):
                return status
    response = getattr(error, "response", None)
    for place in (getattr(response, "status_code", None), getattr(error, "status_code", None)):
        if isinstance(place, int) and 400 <= place < 600:
            return place
    return None


def _headers(error: BaseException) -> dict[str, str]:
    response = getattr(error, "response", None)
    found: dict[str, str] = {}
    for place in (getattr(error, "litellm_response_headers", None), response):
        headers = getattr(place, "headers", place)
        if isinstance(headers, Mapping):
            found |= {str(name): str(value) for name, value in headers.items()}
    return found


def _code(error: BaseException) -> str | None:
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    places: list[Any] = [getattr(error, "code", None), getattr(error, "type", None)]
    if isinstance(inner, Mapping):
        places = [inner.get("code"), inner.get("type"), *places]
    for place in places:
        if isinstance(place, str) and len(place) <= 48 and _CODE.fullmatch(place):
            return place
    return None


def _no_response(error: BaseException) -> bool:
    """Whether no HTTP response stands behind it: litellm gives such errors a status of its own."""
    litellm = load_litellm()
    names = set(_names(error))
    if "HTTPStatusError" in names:
        return False
    if isinstance(error, litellm.APIConnectionError | litellm.Timeout):
        return True
    return bool(names & {"APIConnectionError", "RemoteProtocolError", "ReadError", *_NOT_SENT})


def _names(error: BaseException) -> Iterator[str]:
    for each in _chain(error):
        yield from (
            kind.__name__ for kind in type(each).__mro__ if "litellm" not in kind.__module__
        )


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        yield at
        at = at.__cause__ or at.__context__
