"""The parts of an environment file that say who asks its service for what.

Accounts, requests, and the seed, the reset, the state and the assertions that are made of requests;
and which values of its answers differ from run to run.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from vepa.services.environment.base import InsidePath, Name, Part

__all__ = [
    "ROLES",
    "Account",
    "Assertion",
    "Clock",
    "People",
    "Reset",
    "Seed",
    "State",
    "Step",
    "VolatileKind",
]

#: Every environment has an account for each of these persona roles.
ROLES = ("employee", "finance", "hr", "support", "it", "manager")


class Account(Part):
    """Who may do what.

    Attributes
    ----------
    rights
        What the account may do, in words.
    user, password
        Templates that know `world` and `secrets`. Without them it is the account of the person
        who has the role of that name in the world.
    """

    rights: str
    user: str | None = None
    password: str | None = None

    @model_validator(mode="after")
    def _both_or_neither(self) -> Account:
        if (self.user is None) != (self.password is None):
            raise ValueError("user and password belong together")
        return self


class People(Part):
    """Everybody's account; a step uses one with `as: person:ID`.

    Attributes
    ----------
    user, password
        Templates that know `person`, beside `world` and `secrets`.
    """

    user: str = "{{ person.id }}"
    password: str = "{{ person.password }}"  # noqa: S105 - a template


class Step(BaseModel):
    """One request through a driver; the driver's name is the key of its request.

    Attributes
    ----------
    account
        Whose account is used (`as` in YAML): a role, or `person:ID`; the caller's when left out.
        May be a template.
    each
        An expression (`for` in YAML); the step runs once an item, which templates call `item`.
    when
        An expression; the step is left out where it is false.
    request
        Driver and its arguments, from the remaining key.
    expect
        Statuses that are no error, beside the driver's own.
    save
        Name under which later templates see the answer (a list with `for`).
    capture
        Kind of a volatile value -> expression: values of the seed that get the first aliases of
        their kind, in the order of the seed. Only in seed steps.
    """

    model_config = ConfigDict(extra="allow", strict=True, frozen=True, populate_by_name=True)

    account: str | None = Field(default=None, alias="as")
    each: str | None = Field(default=None, alias="for")
    when: str | None = None
    expect: list[int] = []
    save: Name | None = None
    capture: dict[Name, str] = {}

    @model_validator(mode="after")
    def _one_driver(self) -> Step:
        if len(self.model_extra or {}) != 1:
            raise ValueError(
                "a step has exactly one request, named after its driver (http, mail, caldav, "
                "webdav, sql), beside as, for, when, expect, save, capture"
            )
        return self

    @property
    def driver(self) -> str:
        """Name of the driver."""
        return next(iter(self.model_extra or {}))

    @property
    def request(self) -> Any:
        """Arguments of the driver, as templates."""
        return (self.model_extra or {})[self.driver]


class Seed(Part):
    """How the seed gets in, through the real protocol, once.

    Attributes
    ----------
    files
        Files below the environment's folder; all their keys together are `seed` in templates.
    steps
        Requests, in this order; as `admin` unless a step says otherwise.
    """

    files: list[InsidePath] = []
    steps: list[Step] = []


class Reset(Part):
    """How the state goes back to the seed.

    Attributes
    ----------
    how
        `live`: the data folder is mirrored from the snapshot under the running server;
        `steps`: requests do it (a template database); `restart`: stop, restore, start.
    paths
        `live`: parts of the data folder to mirror; all of it when left out.
    signal
        `live`: a signal that makes the server read its state again.
    steps
        `steps`: the requests.
    """

    how: Literal["live", "steps", "restart"] = "restart"
    paths: list[InsidePath] = []
    signal: Literal["HUP", "USR1", "USR2"] | None = None
    steps: list[Step] = []


class State(Part):
    """The whole state as seen through the protocol.

    Attributes
    ----------
    steps
        Requests; as `admin` unless a step says otherwise.
    value
        An expression over the saved answers: what is compared with the seed's.
    """

    steps: list[Step] = Field(min_length=1)
    value: str


class Assertion(Part):
    """A named check of the state, for tasks.

    Attributes
    ----------
    name, description
        For people and tasks.
    parameters
        Names of the arguments (`args` in templates).
    steps
        Requests; as `admin` unless a step says otherwise.
    check
        An expression that is true when the assertion holds.
    example
        Arguments for which it does not hold on the seed.
    """

    name: Name
    description: str
    parameters: list[Name] = []
    steps: list[Step] = Field(min_length=1)
    check: str
    example: dict[str, Any] = {}


class Clock(Part):
    """Times that the service makes.

    Attributes
    ----------
    fields
        Keys of an answer that hold a time.
    form
        How it is written.
    iso
        Whether a model sees it as an ISO time in any case.
    """

    fields: list[str] = Field(min_length=1)
    form: Literal["epoch_s", "epoch_ms", "iso", "rfc822"]
    iso: bool = False


class VolatileKind(Part):
    """Values that differ from run to run, mapped to aliases such as `payment#1`.

    Attributes
    ----------
    pattern
        A regular expression; wherever it matches in an answer the match (or its group `id`) is
        the value.
    fields
        Keys of an answer whose whole value it is; with a pattern, only there it is looked for.
    clock
        The value is a time; it becomes the seed clock plus one minute a call.
    """

    pattern: str | None = None
    fields: list[str] = []
    clock: Clock | None = None

    @model_validator(mode="after")
    def _something(self) -> VolatileKind:
        if self.clock is None and self.pattern is None and not self.fields:
            raise ValueError("a volatile kind needs `pattern`, `fields` or `clock`")
        if self.pattern is not None:
            try:
                re.compile(self.pattern)
            except re.error as error:
                raise ValueError(f"pattern: {error}") from None
        return self
