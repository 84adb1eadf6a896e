"""Images of environments: built from the same packages and files as the process form.

One Dockerfile (environments/Dockerfile) serves all. What goes into an image decides its tag, so an
unchanged environment is never built twice. Where a build has no network, the packages come along
as wheels, which pip collects outside from wherever this machine is told to take them.
"""

from __future__ import annotations

import io
import os
import sys
import tarfile
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vepa.errors import InputError, MissingExtraError, RunError, SettingError, Where
from vepa.files import canonical_json, sha256_of
from vepa.project import package_content
from vepa.services.runtimes.base import Progress

__all__ = [
    "BASE",
    "LABELS",
    "Recipe",
    "base_id",
    "build_image",
    "carried_files",
    "connect",
    "find_image",
    "image_reference",
    "last_lines",
]

#: What every built image starts from; its Python is the one that the packages were tried with.
BASE = "python:3.11-slim"
#: Labels of images, containers and networks.
LABELS = {
    "environment": "vepa.environment",
    "content": "vepa.content",
    "office": "vepa.office",
    "service": "vepa.service",
    "root": "vepa.root",
}
#: Files of the library that an image carries.
_CARRIED = ("container.py", "mirror.py", "relay.py")
#: What of an environment's folder no running service needs.
_LEFT_OUT = ("environment.yaml", "seed", "__pycache__")
_LINES_SHOWN = 12
#: One client a thread: the SDK's clients are not safe to share, one thread closes another's socket.
_mine = threading.local()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What an image is made of.

    Attributes
    ----------
    name
        The environment.
    packages
        Pinned Python packages.
    folder
        The environment's folder; its files go to `/environment`.
    constraints
        Versions of everything that the packages need, in turn.
    programs
        Debian packages, such as git.
    base
        The image to start from.
    wheels
        Folder with all that is to be installed; None: pip fetches it during the build.
    """

    name: str
    packages: Sequence[str]
    folder: Path
    constraints: Path | None = None
    programs: Sequence[str] = ()
    base: str = BASE
    wheels: Path | None = None


def connect(timeout: float = 300.0) -> Any:
    """This thread's client of the container engine that DOCKER_HOST names, or the usual one.

    Raises
    ------
    MissingExtraError
        When the docker SDK is not installed.
    SettingError
        When no engine answers.
    """
    try:
        import docker
        from docker.errors import DockerException
        from requests.exceptions import RequestException
    except ImportError:
        raise MissingExtraError("docker", "services") from None
    place = (os.getpid(), os.environ.get("DOCKER_HOST"), os.environ.get("DOCKER_TLS_VERIFY"))
    known = getattr(_mine, "connection", None)
    if known is not None and known.place == place:
        return known.client
    client = None
    try:
        client = docker.from_env(timeout=timeout)
        client.ping()
    except (DockerException, RequestException) as error:
        if client is not None:
            client.close()
        raise SettingError(
            f"no container engine answers: {error}",
            where=Where(field="--runtime docker"),
            remedy="start Docker or set DOCKER_HOST; as root on Debian "
            "`scripts/docker_engine.sh start` of the source folder starts one for tests; "
            "the runtime `process` needs none",
        ) from None
    _mine.connection = _Connection(place, client)
    return client


class _Connection:
    """A thread's client; it is closed when the thread ends."""

    def __init__(self, place: tuple[int, str | None, str | None], client: Any):
        self.place = place
        self.client = client

    def __del__(self) -> None:
        if not sys.is_finalizing():  # then the sockets go with the process
            self.client.close()


def build_image(client: Any, recipe: Recipe, progress: Progress | None = None) -> str:
    """Make sure that the image is there.

    Parameters
    ----------
    client
        Of `connect`.
    recipe
        What it is made of.
    progress
        Told when it has to be built.

    Returns
    -------
    str
        Its reference, `vepa/NAME:CONTENT`.

    Raises
    ------
    InputError
        When the base image cannot be had.
    RunError
        When the build fails; with the end of its output.
    """
    reference, content = image_reference(client, recipe)
    if find_image(client, reference) is not None:
        return reference
    if progress:
        progress(f"{recipe.name}: building its image")
    with tempfile.TemporaryFile() as context:
        _pack(context, _parts(recipe), _wheels(recipe))
        _build(client, recipe, context, reference, content)
    return reference


def image_reference(client: Any, recipe: Recipe) -> tuple[str, str]:
    """Name of the image of a recipe, built or not, and the hash of all that goes into it.

    Where its wheels come from does not count: versions decide what they are.

    Raises
    ------
    InputError
        When the base image cannot be had.
    """
    parts = [[name, sha256_of(data)] for name, data in _parts(recipe)]
    made_of = [base_id(client, recipe.base), list(recipe.programs), parts]
    content = sha256_of(canonical_json(made_of))
    return f"vepa/{recipe.name}:{content[:16]}", content


def base_id(client: Any, reference: str, where: Where | None = None) -> str:
    """Id of an image, which is pulled when it is not here.

    Raises
    ------
    InputError
        When it cannot be had.
    """
    from docker.errors import APIError, DockerException

    image = find_image(client, reference)
    if image is None:
        try:
            image = client.images.pull(reference)
        except (APIError, DockerException) as error:
            raise InputError(
                f"the image {reference!r} is not here and cannot be pulled: {_said(error)}",
                where=where,
                remedy="check its name and tag, and that its registry can be reached",
            ) from None
    return str(image.id)


def find_image(client: Any, reference: str) -> Any:
    """The image of that name, or None."""
    from docker.errors import ImageNotFound

    try:
        return client.images.get(reference)
    except ImageNotFound:
        return None


def _arguments(recipe: Recipe) -> dict[str, str]:
    offline = "--no-index --find-links /build/wheels"
    return {
        "BASE": recipe.base,
        "PIP_OPTIONS": offline if recipe.wheels else "",
        "PROGRAMS": " ".join(recipe.programs),
    }


def _wheels(recipe: Recipe) -> list[Path]:
    return sorted(recipe.wheels.glob("*.whl")) if recipe.wheels else []


def _parts(recipe: Recipe) -> list[tuple[str, bytes]]:
    """The context without wheels: (path, content), in a fixed order."""
    dockerfile = package_content() / "environments" / "Dockerfile"
    constraints = recipe.constraints.read_bytes() if recipe.constraints else b""
    parts = [
        ("Dockerfile", dockerfile.read_bytes()),
        ("requirements.txt", "".join(f"{each}\n" for each in recipe.packages).encode()),
        ("constraints.txt", constraints),
    ]
    own = Path(__file__).parent
    parts += [(f"runtime/{name}", (own / name).read_bytes()) for name in _CARRIED]
    parts += [
        (f"environment/{path.relative_to(recipe.folder).as_posix()}", path.read_bytes())
        for path in carried_files(recipe.folder)
    ]
    return parts


def carried_files(folder: Path) -> Iterator[Path]:
    """What of an environment's folder a running service may need."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        hidden = any(part.startswith(".") or part in _LEFT_OUT for part in parts)
        if path.is_file() and not hidden:
            yield path


def _pack(target: Any, parts: Iterable[tuple[str, bytes]], wheels: Iterable[Path]) -> None:
    with tarfile.open(fileobj=target, mode="w") as archive:
        for folder in ("wheels", "environment", "runtime"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        for name, data in parts:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
        for wheel in wheels:
            archive.add(wheel, f"wheels/{wheel.name}", filter=_readable)


def _readable(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.mode, entry.mtime, entry.uid, entry.gid = 0o644, 0, 0, 0
    return entry


#: What an engine says when somebody else removed the image that a step was to stand on, while the
#: build ran; and how often a build is begun then.
_LAYER_GONE, _BUILDS = "unknown parent image", 4


def _build(client: Any, recipe: Recipe, context: Any, reference: str, content: str) -> None:
    from docker.errors import APIError, BuildError

    labels = {LABELS["environment"]: recipe.name, LABELS["content"]: content}
    for left in reversed(range(_BUILDS)):
        context.seek(0)
        try:
            client.images.build(
                fileobj=context,
                custom_context=True,
                tag=reference,
                buildargs=_arguments(recipe),
                labels=labels,
                rm=True,
                forcerm=True,
            )
            return
        except BuildError as error:
            if left and _LAYER_GONE in str(error.msg):
                continue
            lines = "".join(str(item.get("stream", "")) for item in error.build_log).splitlines()
            raise RunError(
                f"the image of {recipe.name} cannot be built: {error.msg}\n"
                + last_lines(line for line in lines if line.strip())
            ) from None
        except APIError as error:
            raise RunError(f"the image of {recipe.name} cannot be built: {_said(error)}") from None


def _said(error: Exception) -> str:
    return str(getattr(error, "explanation", None) or error)


def last_lines(lines: Iterable[str]) -> str:
    """The end of some output, set in for a message."""
    return "\n".join(f"  {line}" for line in list(lines)[-_LINES_SHOWN:])
