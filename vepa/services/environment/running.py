"""The parts of an environment file that say how its service runs, as a process or a container."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from vepa.services.environment.base import InsidePath, Name, Part, Requirement, Seconds

__all__ = ["Check", "Docker", "Health", "Process", "Software", "Stop"]


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
