"""Requests to a service outside any episode: assertions, what a task plants, resets by requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vepa.errors import InputError, RunError
from vepa.services.drivers import Deadline, Unreachable
from vepa.services.environment import Step, where_in
from vepa.services.steps import Connection, StepRefused
from vepa.services.templates import evaluate

__all__ = ["ask", "send"]

#: Time for all requests of one chain.
_SECONDS = 30.0
#: Statuses of something that is not there: HTTP's, and SQL's for a table and a role.
_ABSENT = ("404", "410", "42P01", "42704")


def send(
    connection: Connection, steps: Sequence[Step], names: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Send a chain of requests as `admin`; the saved answers.

    Raises
    ------
    RunError
        When the service refuses one, or does not answer.
    """
    try:
        return connection.run(steps, "admin", Deadline.after(_SECONDS), names)
    except (StepRefused, Unreachable) as error:
        raise RunError(str(error)) from None


def ask(connection: Connection, assertion: str, arguments: Mapping[str, Any]) -> bool:
    """Whether a named assertion of the environment holds now.

    What is said of something that is not there (the service answers 404, say) does not hold.

    Raises
    ------
    InputError
        When there is no such assertion, or its arguments are wrong.
    RunError
        When the service does not let itself be asked.
    """
    environment = connection.environment
    known = {each.name: each for each in environment.assertions}
    wanted = known.get(assertion)
    if wanted is None:
        raise InputError(
            f"{environment.name} has no assertion {assertion!r}",
            remedy="one of " + (", ".join(sorted(known)) or "none"),
        )
    if set(arguments) != set(wanted.parameters):
        raise InputError(
            f"{environment.name}: assertion {assertion!r} takes {wanted.parameters}, "
            f"not {sorted(arguments)}"
        )
    names = {"args": dict(arguments)}
    try:
        saved = connection.run(wanted.steps, "admin", Deadline.after(_SECONDS), names)
    except StepRefused as error:
        if str(error.answer.status) in _ABSENT:
            return False
        raise RunError(str(error)) from None
    except Unreachable as error:
        raise RunError(str(error)) from None
    try:
        return bool(evaluate(wanted.check, {**connection.base, **names, **saved}))
    except InputError as error:
        at = ("assertions", environment.assertions.index(wanted), "check")
        error.where = where_in(environment, at)
        raise
