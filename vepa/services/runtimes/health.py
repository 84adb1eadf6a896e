"""Whether a service answers: short looks until it does, it has died, or the time is over."""

from __future__ import annotations

import http.client
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from vepa.errors import RunError

__all__ = ["BannerCheck", "HttpCheck", "TcpCheck", "wait_healthy"]

#: Seconds from one look to the next, and for how long one look may wait for an answer.
PAUSE, PATIENCE = 0.03, 2.0
_HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class TcpCheck:
    """A port accepts connections."""

    port: str

    def look(self, number: int, seconds: float) -> str | None:
        """Why it is not healthy; None when it is."""
        with socket.create_connection((_HOST, number), seconds):
            return None


@dataclass(frozen=True, slots=True)
class BannerCheck:
    """A port greets with these bytes (anywhere in its first line)."""

    port: str
    expect: bytes

    def look(self, number: int, seconds: float) -> str | None:
        """Why it is not healthy; None when it is."""
        with socket.create_connection((_HOST, number), seconds) as connection:
            limit, got = time.monotonic() + seconds, b""
            while self.expect not in got and b"\n" not in got and len(got) < 4096:
                left = limit - time.monotonic()
                if left <= 0:
                    break
                connection.settimeout(left)
                block = connection.recv(4096)
                if not block:
                    break
                got += block
        if self.expect in got:
            return None
        return f"greeted with {got[:80]!r} instead of {self.expect!r}"


@dataclass(frozen=True, slots=True)
class HttpCheck:
    """A GET is answered with one of these status codes; redirects are not followed."""

    port: str
    path: str = "/"
    accept: tuple[int, ...] = (200,)

    def look(self, number: int, seconds: float) -> str | None:
        """Why it is not healthy; None when it is."""
        connection = http.client.HTTPConnection(_HOST, number, timeout=seconds)
        try:
            connection.request("GET", self.path, headers={"Connection": "close"})
            status = connection.getresponse().status
        finally:
            connection.close()
        return None if status in self.accept else f"answered {status} to GET {self.path}"


def wait_healthy(
    checks: Sequence[HttpCheck | BannerCheck | TcpCheck],
    ports: Mapping[str, int],
    deadline: float,
    alive: Callable[[], str | None],
    *,
    name: str = "",
    log: Callable[[], str] | None = None,
) -> float:
    """Wait until every check is passed.

    Parameters
    ----------
    checks
        All must pass, in any order; one that has passed is not asked again.
    ports
        Name to number.
    deadline
        Seconds from now.
    alive
        None while the service lives, else why it does not: then there is no more waiting.
    name
        How messages call the service.
    log
        The last lines of its log, for messages.

    Returns
    -------
    The seconds that it took.

    Raises
    ------
    RunError
        When the service has died or the time is over; with the last reason and the log.
    """
    began, left, why = time.monotonic(), list(checks), "nothing was asked"
    who = f"the service {name!r}" if name else "the service"
    while True:
        spent = time.monotonic() - began
        death = alive()
        if death is not None:
            raise RunError(f"{who} died before it was healthy: {death}{_tail(log)}")
        if not left:
            return spent
        if spent >= deadline:
            raise RunError(f"{who} was not healthy within {deadline:g} s: {why}{_tail(log)}")
        check = left[0]
        fault = _fault(check, ports[check.port], min(PATIENCE, deadline - spent))
        if fault is None:
            left.pop(0)
            continue
        why = f"port {check.port!r} ({ports[check.port]}): {fault}"
        time.sleep(max(0.0, min(PAUSE, deadline - (time.monotonic() - began))))


def _fault(check: HttpCheck | BannerCheck | TcpCheck, number: int, seconds: float) -> str | None:
    try:
        return check.look(number, max(seconds, 0.01))
    except TimeoutError:
        return f"no answer within {seconds:.2g} s"
    except OSError as error:
        return (error.strerror or str(error)).lower()
    except http.client.HTTPException as error:
        return f"no HTTP answer ({type(error).__name__})"


def _tail(log: Callable[[], str] | None) -> str:
    text = log().strip() if log else ""
    return (
        ""
        if not text
        else "\nits log ends with:\n" + "\n".join(f"  | {line}" for line in text.splitlines())
    )
