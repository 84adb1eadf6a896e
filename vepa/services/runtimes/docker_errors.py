"""What the container engine's refusals mean to a user."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from vepa.errors import InputError, RunError, VepaError, Where
from vepa.services.environment import Environment
from vepa.services.runtimes.base import Slot

__all__ = ["PortInUseError", "told"]

_F = TypeVar("_F", bound=Callable[..., Any])


class PortInUseError(InputError):
    """A port of this machine that a service must have is taken."""


def told(method: _F) -> _F:
    """Turn every error of the SDK, and of the connection below it, into one of ours."""

    @wraps(method)
    def telling(*args: Any, **options: Any) -> Any:
        try:
            return method(*args, **options)
        except VepaError:
            raise
        except Exception as error:
            meant = _meant(error, args[1] if len(args) > 1 else None)
            if meant is None:
                raise
            raise meant from error

    return cast("_F", telling)


def _meant(error: Exception, about: Any) -> VepaError | None:
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    who, where = "", Where()
    if isinstance(about, (Slot, Environment)):
        environment = about.environment if isinstance(about, Slot) else about
        who, where = f"{environment.name}: ", Where(str(environment.file))
    if isinstance(error, RequestException) and not isinstance(error, DockerException):
        if getattr(error, "response", None) is None:
            return RunError(f"{who}the container engine does not answer any more: {error}")
    elif not isinstance(error, DockerException):
        return None
    said = str(getattr(error, "explanation", None) or error)
    if "already allocated" in said or "address already in use" in said:
        return PortInUseError(
            f"{who}a port is in use: {said}",
            where=where,
            remedy="stop what listens there, or set the port to 0 in `process.ports`",
        )
    if "No such image" in said:
        return InputError(
            f"{who}its image is gone: {said}",
            where=where,
            remedy="`vepa services up` makes it anew",
        )
    return RunError(f"{who}the container engine refused: {said}")
