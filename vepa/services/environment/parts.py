"""The parts of an environment file that say how its service runs, answers, is seeded and reset."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

__all__ = [
    "ROLES",
    "Account",
    "Assertion",
    "Check",
    "Clock",
    "Docker",
    "Health",
    "Part",
    "People",
    "Process",
    "Reset",
    "Seed",
    "Software",
    "State",
    "Step",
    "Stop",
    "VolatileKind",
]

#: Every environment has an account for each of these persona roles.
ROLES = ("employee", "finance", "hr", "support", "it", "manager")

_PIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9,_-]+\])?==[A-Za-z0-9.+!_-]+")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def _pinned(requirement: str) -> str:
    if not _PIN.fullmatch(requirement):
        raise ValueError(f"{requirement!r} is not a pinned requirement like `radicale==3.9.0`")
    return requirement


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(f"{text!r} is not a name of lower-case letters, digits and underscores")
    return text


def _inside(path: str) -> str:
    parts = path.split("/")
    if path.startswith("/") or ".." in parts or "" in parts:
        raise ValueError(f"{path!r} is not a path inside the service's folder")
    return path


Name = Annotated[str, AfterValidator(_name)]
Requirement = Annotated[str, AfterValidator(_pinned)]
InsidePath = Annotated[str, AfterValidator(_inside)]
Seconds = Annotated[float, Field(gt=0, le=600)]


class Part(BaseModel):
    """Base of all parts: closed, strict, frozen."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Software(Part):
    """What runs.

    Attributes
    ----------
    name, version
        As its makers call it.
    licence
        SPDX identifier, where known.
    """

    name: str
    version: str
    licence: str | None = None


class Stop(Part):
    """How a process is asked to end.

    Attributes
    ----------
    signal
        TERM, INT or QUIT.
    seconds
        Time it gets before the whole process group is killed.
    """

    signal: Literal["TERM", "INT", "QUIT"] = "TERM"
    seconds: Seconds = 10.0


class Process(Part):
    """The service as a plain process.

    Templates know `python`, `bin`, `site` (of the services' own environment), `folder` (this
    environment's files), `data` (the only place that a reset restores), `run` (rendered files, not
    reset), `host`, `ports.NAME`, `world`, `secrets.ID` and `accounts.ROLE`.

    Attributes
    ----------
    packages
        Pinned Python packages.
    programs
        Executables that have to be on the path, such as git.
    ports
        Name -> port; 0 is any free one.
    files
        Path below the service's folder (`run/...` or `data/...`) -> text template, written anew
        before every start.
    prepare
        Commands that fill an empty data folder, before the first start.
    command
        The server's arguments.
    environment
        Environment variables; nothing else is inherited but PATH, HOME and the locale.
    unprivileged
        As root the process drops to `nobody` (PostgreSQL refuses to run as root).
    stop
        How it is asked to end.
    """

    packages: list[Requirement] = []
    programs: list[str] = []
    ports: dict[Name, Annotated[int, Field(ge=0, le=65535)]] = Field(min_length=1)
    files: dict[InsidePath, str] = {}
    prepare: list[list[str]] = []
    command: list[str] = Field(min_length=1)
    environment: dict[str, str] = {}
    unprivileged: bool = False
    stop: Stop = Stop()


class Docker(Part):
    """The service as a container.

    Without `image` an image is built that runs the same packages with the same command as the
    process form. With `image`, the keys below say how that image is run. Its templates know the
    names of `process.command` as the container sees them: `run` has the rendered files of
    `process.files`, `folder` the environment's own, and `python` is the image's `python3`.

    Attributes
    ----------
    image
        The official image, `NAME:TAG`.
    digest
        `sha256:...` of the image; the tag is not trusted where it stands. Without one, the digest
        of the first pull is recorded in the cache, and another one is an error from then on.
    ports
        Name -> port inside the container (the names of `process.ports`).
    entrypoint
        The program that is started, where the image's own does not do.
    command
        Arguments, where the image's own do not do.
    environment
        Variables of the container.
    files
        Absolute path in the container -> text template.
    data
        Folder in the container that holds the state, moved out of any volume of the image.
    user
        User (and group) of the container's process.
    memory
        Limit in MiB.
    """

    image: Annotated[str, Field(pattern=r"^[^\s@]+:[^\s@:/]+$")] | None = None
    digest: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")] | None = None
    ports: dict[Name, Annotated[int, Field(ge=1, le=65535)]] = {}
    entrypoint: list[str] | None = None
    command: list[str] | None = None
    environment: dict[str, str] = {}
    files: dict[str, str] = {}
    data: str = "/office/data"
    user: str | None = None
    memory: Annotated[int, Field(ge=32, le=16384)] = 512

    @model_validator(mode="after")
    def _image_has_what_it_needs(self) -> Docker:
        own = self.digest or self.entrypoint or self.command is not None or self.files
        if self.image is None and own:
            raise ValueError("digest, entrypoint, command and files belong to an `image`")
        if self.image is not None and not self.ports:
            raise ValueError("an `image` needs `ports`: name -> port inside the container")
        return self


class Check(Part):
    """One sign of life.

    Attributes
    ----------
    port
        Name of a port.
    path
        With a path: an HTTP GET of it.
    status
        HTTP statuses that count as healthy.
    banner
        Without a path: text that the first bytes must contain; nothing: a connection suffices.
    """

    port: Name
    path: str | None = None
    status: list[int] = [200]
    banner: str | None = None


class Health(Part):
    """How to tell that the service answers.

    Attributes
    ----------
    checks
        All of them must hold.
    seconds
        Time limit of a start.
    """

    checks: list[Check] = Field(min_length=1)
    seconds: Seconds = 60.0


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
