"""The one tree of errors.

Every error that VEPA raises on purpose derives from `VepaError`::

    VepaError                 exit code 1
    ├── InputError            2   something handed in is wrong: names file, line, field and remedy
    │   ├── SchemaError           an event schema file
    │   ├── EventError            an event or a record of events
    │   ├── PolicyError           a policy file, a patch or a test file of a policy
    │   │   └── VerificationError     a well-formed file whose policy the verifier rejects
    │   ├── UnitMismatchError     events of one unit, a policy of another
    │   ├── SettingError          an option, a profile or a setting
    │   └── ServiceError          a service that does not come up (also a RunError)
    ├── MissingExtraError     2   an optional package is not installed
    └── RunError              1   a run could not go on (what was finished is kept)
        ├── ModelError            a language model gave no usable answer
        └── BudgetError           a budget of tokens, time or money is used up

The command line turns them into one message and the exit code; nothing else needs to be caught.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # pragma: no cover
    from vepa.policy.feedback import Feedback

__all__ = [
    "BudgetError",
    "EventError",
    "InputError",
    "MissingExtraError",
    "ModelError",
    "PolicyError",
    "RunError",
    "SchemaError",
    "ServiceError",
    "SettingError",
    "UnitMismatchError",
    "VepaError",
    "VerificationError",
    "Where",
]


@dataclass(frozen=True, slots=True)
class Where:
    """The place of a fault; each part may be unknown.

    Attributes
    ----------
    file
        The file.
    line
        Line, from 1.
    field
        Dotted path, for machines.
    label
        The field as people call it, where that differs from its path.
    """

    file: str | None = None
    line: int | None = None
    field: str | None = None
    label: str | None = None

    def __str__(self) -> str:
        place = self.file or ""
        if self.line is not None:
            place = f"{place}:{self.line}" if place else f"line {self.line}"
        shown = self.label or self.field
        if shown:
            place = f"{place}: {shown}" if place else shown
        return place


class VepaError(Exception):
    """Base of all errors that VEPA raises on purpose."""

    exit_code = 1

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors cross process boundaries whole, whatever their constructors take."""
        return _restored, (type(self), self.args), self.__dict__


def _restored(kind: type[VepaError], arguments: tuple[Any, ...]) -> VepaError:
    error = kind.__new__(kind)
    error.args = arguments
    return error


class InputError(VepaError):
    """Something handed in is wrong.

    Parameters
    ----------
    message
        What is wrong, in one sentence.
    where
        File, line and field, as far as they are known.
    remedy
        What the user can do about it.
    """

    exit_code = 2

    def __init__(self, message: str, *, where: Where | None = None, remedy: str | None = None):
        super().__init__(message)
        self.message = message
        self.where = where or Where()
        self.remedy = remedy

    def at(self, *, file: str | None = None, line: int | None = None) -> InputError:
        """Fill in what the raiser could not know; returns the error itself."""
        self.where = Where(
            file=self.where.file or file,
            line=self.where.line if self.where.line is not None else line,
            field=self.where.field,
            label=self.where.label,
        )
        return self

    def __str__(self) -> str:
        place = str(self.where)
        text = f"{place}: {self.message}" if place else self.message
        return f"{text}\n  remedy: {self.remedy}" if self.remedy else text


class SchemaError(InputError):
    """An event schema file is not a schema."""


class EventError(InputError):
    """An event, or a record that should hold one, does not fit the schema."""


class PolicyError(InputError):
    """A policy file, a patch or a file of policy tests is malformed."""


class VerificationError(PolicyError):
    """The verifier rejects a policy.

    Parameters
    ----------
    feedback
        The verifier's findings, machine-readable, at least one of them rejecting.
    """

    def __init__(self, feedback: Sequence[Feedback], *, file: str | None = None):
        self.feedback = tuple(feedback)
        rejecting = [item for item in self.feedback if item.rejects]
        first = rejecting[0]
        others = len(rejecting) - 1
        more = f" (and {others} more finding{'s' if others > 1 else ''})" if others else ""
        super().__init__(
            f"{first.message}{more}",
            where=Where(file=file, line=first.line, field=first.field, label=first.place),
            remedy=first.remedy or "`vepa policy check` lists every finding",
        )


class UnitMismatchError(InputError):
    """A policy learned on one unit is asked about events of another."""


class SettingError(InputError):
    """An option, a profile or another setting is not usable."""


class MissingExtraError(VepaError):
    """An optional package that a verb needs is not installed.

    Parameters
    ----------
    package
        What could not be imported.
    extra
        The extra of this project that brings it.
    """

    exit_code = 2

    def __init__(self, package: str, extra: str):
        self.message = f"the package {package!r} is not installed"
        # Never `vepa[extra]` alone: an index may know something else by that name.
        self.remedy = (
            f"it comes with the extra {extra!r}: `pip install '.[{extra}]'` in the folder of "
            f"VEPA's source, or `pip install 'FILE.whl[{extra}]'` with the wheel that you installed"
        )
        super().__init__(f"{self.message}\n  remedy: {self.remedy}")
        self.package = package
        self.extra = extra


class RunError(VepaError):
    """A run could not go on; what it had finished is kept and a second start resumes it."""


class ServiceError(InputError, RunError):
    """A service of an environment does not come up: it dies, hangs, or refuses its seed.

    Bad input, since its environment file says what is started, and a run that cannot go on.
    """


class ModelError(RunError):
    """A language model gave no usable answer, retries and the one repair included.

    Parameters
    ----------
    message
        What happened, without the request's text and without any key.
    kind
        `unreachable`, `rate_limited`, `refused_key`, `bad_request`, `malformed`, `not_recorded`,
        `overloaded` or `failed`.
    """

    def __init__(self, message: str, kind: str = "failed"):
        super().__init__(message)
        self.kind = kind


class BudgetError(RunError):
    """A budget is used up; nothing was sent for the request that met it.

    Parameters
    ----------
    message
        Which budget, its size and what was used.
    budget
        `tokens`, `seconds` or `dollars`.
    owner
        Whose budget: `run`, `episode`, or another name that was given to it.
    """

    def __init__(self, message: str, budget: str, owner: str = "budget"):
        super().__init__(message)
        self.budget = budget
        self.owner = owner
