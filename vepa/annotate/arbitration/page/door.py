"""Who is let in: a token in a link, a name, and a session that is tied to both.

The tokens live in the memory of the server alone: they are printed once, come back in the body of a
login, and stand in no file, no address that a server sees and no log.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from hashlib import sha256

from vepa.annotate.arbitration.lending import check_name
from vepa.errors import InputError, Where

__all__ = ["Door", "Session", "WrongTokenError"]

#: A session ends when it was not used for so long, and in any case after so long.
_IDLE_SECONDS = 12 * 3600.0
_LONGEST_SECONDS = 72 * 3600.0


class WrongTokenError(InputError):
    """The token is none of this server's, or not this person's."""


@dataclass(slots=True)
class Session:
    """Somebody who is in.

    Attributes
    ----------
    who
        Their name; it stands in their verdicts.
    since, seen
        Seconds of the door's clock: when it began, when it was last used.
    """

    who: str
    since: float
    seen: float


class Door:
    """The tokens of one server, and the sessions.

    Parameters
    ----------
    people
        Who may come in, each with a token of their own; with none, one token is everybody's, and
        people type their names.
    taken
        Names that nobody may have: readers of the panel.
    clock
        Seconds.

    Attributes
    ----------
    tokens
        Name -> token; the name is empty where one token is everybody's.
    """

    def __init__(
        self,
        people: Sequence[str] = (),
        taken: Collection[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ):
        self.tokens = {name: secrets.token_urlsafe(24) for name in people or ("",)}
        self._taken = frozenset(taken)
        self._clock = clock
        self._sessions: dict[bytes, Session] = {}
        self._lock = threading.Lock()

    def enter(self, token: str, name: str) -> tuple[str, Session]:
        """Begin a session; a session of the same name ends with it.

        Parameters
        ----------
        token
            Alone, or the link that ends with it.
        name
            Of the person; plays no part where the token tells it.

        Returns
        -------
        tuple
            The secret of the session, for a cookie, and the session.

        Raises
        ------
        WrongTokenError
            Tells nothing about why.
        InputError
            When the name cannot stand in a verdict, or is a reader's of the panel.
        """
        owner = self._owner(token.strip().rpartition("#")[2])
        if owner is None:
            raise WrongTokenError(
                "this token opens nothing",
                where=Where(field="token"),
                remedy="copy the whole link that `vepa arbitrate serve` printed when it started",
            )
        who = owner or " ".join(name.split())
        check_name(who)
        if who in self._taken:
            raise InputError(
                f"{who!r} is the name of a reader of the panel",
                where=Where(field="name"),
                remedy="take another one: verdicts are told apart by it",
            )
        secret = secrets.token_urlsafe(32)
        with self._lock:
            now = self._clock()
            self._sessions = {
                key: each
                for key, each in self._sessions.items()
                if each.who != who and self._lives(each, now)
            }
            session = self._sessions[_digest(secret)] = Session(who, now, now)
        return secret, session

    def session(self, secret: str) -> Session | None:
        """The session of a cookie; None when there is none."""
        with self._lock:
            now = self._clock()
            session = self._sessions.get(_digest(secret))
            if session is None or not self._lives(session, now):
                return None
            session.seen = now
            return session

    def leave(self, secret: str) -> None:
        """End a session."""
        with self._lock:
            self._sessions.pop(_digest(secret), None)

    def _owner(self, token: str) -> str | None:
        """Whose a token is; every one is compared, in the same time whatever stands in it."""
        given = _digest(token)
        found: str | None = None
        for name, known in self.tokens.items():
            if hmac.compare_digest(given, _digest(known)):
                found = name
        return found

    @staticmethod
    def _lives(session: Session, now: float) -> bool:
        return now - session.seen < _IDLE_SECONDS and now - session.since < _LONGEST_SECONDS


def _digest(secret: str) -> bytes:
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()
