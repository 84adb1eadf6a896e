"""What a driver is: one protocol, spoken for one caller to one running service.

A driver gets requests as plain data (templates already filled) and gives back what the service
really said. An answer that reports failure is an answer, not an exception; `Unreachable` is raised
only when no answer came.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from vepa.errors import InputError, RunError, Where
from vepa.policy.document import complaint

__all__ = [
    "Answer",
    "Caller",
    "Deadline",
    "Driver",
    "Endpoint",
    "Parcel",
    "Unreachable",
    "validated",
]


class Unreachable(RunError):  # noqa: N818 - what the service is
    """The service gave no answer: refused, broken off, or over the time limit."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a running service listens.

    Attributes
    ----------
    host
        Loopback address.
    ports
        Name -> port.
    """

    host: str
    ports: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose account is used.

    Attributes
    ----------
    role
        Name of the account in the environment file.
    user, password
        Its credentials.
    """

    role: str
    user: str
    password: str


@dataclass(slots=True)
class Deadline:
    """The time that is left for a call, all its requests together.

    Attributes
    ----------
    at
        Monotonic clock, seconds.
    """

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """A deadline that many seconds from now."""
        return cls(time.monotonic() + seconds)

    def left(self) -> float:
        """Seconds that are left.

        Raises
        ------
        Unreachable
            When there are none.
        """
        left = self.at - time.monotonic()
        if left <= 0:
            raise Unreachable("no answer within the time limit")
        return left


@dataclass(frozen=True, slots=True)
class Answer:
    """What the service said; templates read these attributes.

    Attributes
    ----------
    ok
        Whether the service accepted the request.
    status
        The protocol's own code: HTTP status, SMTP code, SQLSTATE, `OK`/`NO`.
    data
        The content as plain data (parsed JSON, rows, messages), or the text.
    text
        The content as text, as it came.
    headers
        Lower-case name -> value; empty where the protocol has none.
    """

    ok: bool
    status: int | str
    data: Any = None
    text: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


class Driver(Protocol):
    """One protocol to one service; made once a session, used by one thread at a time."""

    def request(self, request: Any, caller: Caller, deadline: Deadline) -> Answer:
        """Send one request.

        Parameters
        ----------
        request
            What the step's YAML says under the driver's name, templates filled.
        caller
            Whose account is used; connections and logins are kept per account.
        deadline
            What is left of the call's time.

        Raises
        ------
        InputError
            When the request has not the driver's form.
        Unreachable
            When no answer came.
        """
        ...

    def close(self) -> None:
        """Drop connections and logins; the next request makes new ones."""
        ...


#: What a driver's module offers the registry: its settings and endpoint in, a driver out.
Maker = Callable[[Mapping[str, Any], Endpoint], Driver]


class Parcel(BaseModel):
    """Base of drivers' settings and requests: closed; numbers may arrive as text from templates."""

    model_config = ConfigDict(extra="forbid", frozen=True)


_P = TypeVar("_P", bound=Parcel)


def validated(kind: type[_P], data: Any, what: str) -> _P:
    """Hold data against a driver's model.

    Raises
    ------
    InputError
        Naming the field.
    """
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        path, message = complaint(error)
        raise InputError(
            f"{what}: {message}",
            where=Where(field=".".join(map(str, path)) or None),
            remedy=f"keys: {', '.join(kind.model_fields)}",
        ) from None
