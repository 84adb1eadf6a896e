"""Models that several processes ask for one run: one budget for all, and a part of each limit.

What each process takes stands in a file that all of them read.
"""

from __future__ import annotations

import fcntl
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from uuid import uuid4

from vepa.errors import RunError
from vepa.files import write_atomic
from vepa.llm.budget import Budget, Hold
from vepa.llm.messages import Usage
from vepa.llm.settings import ModelSettings, Rates

__all__ = ["SharedBudget", "dealt"]


def dealt(settings: ModelSettings, workers: int) -> ModelSettings:
    """The part of one process in a provider's limits, at least one of each.

    Parameters
    ----------
    settings
        What is meant for all processes together.
    workers
        How many there are.
    """

    def part(limit: int) -> int:
        return max(1, limit // workers)

    rates = Rates(
        requests=None if settings.rates.requests is None else part(settings.rates.requests),
        tokens=None if settings.rates.tokens is None else part(settings.rates.tokens),
    )
    return settings.model_copy(update={"concurrency": part(settings.concurrency), "rates": rates})


@dataclass
class _State:
    """What stands in the file: taken so far, on its way by holder, and since when."""

    tokens: int = 0
    dollars: float = 0.0
    began: float | None = None
    holds: dict[str, tuple[int, float]] = field(default_factory=dict)


class SharedBudget(Budget):
    """A budget whose limits hold over all processes that open the same file.

    Every request reads and writes the file under a lock of the file system, before anything is
    sent: together the processes cannot overshoot, just as threads cannot. What a process that was
    killed had on its way counts with its worst case once its holder is opened again, and until
    then: somebody may have been paid for it.

    Parameters
    ----------
    path
        The file; `SharedBudget.begin` makes it.
    holder
        Who takes from it. One name is used by one process at a time.
    tokens, seconds, dollars, name
        As of `Budget`. Time runs from when the first holder opened the file.
    clock
        Seconds that are the same in all processes.

    Raises
    ------
    RunError
        When the file cannot be read or written.
    """

    def __init__(
        self,
        path: Path,
        holder: str,
        *,
        tokens: int | None = None,
        seconds: float | None = None,
        dollars: float | None = None,
        name: str = "budget",
        clock: Callable[[], float] = time.time,
    ):
        super().__init__(tokens=tokens, seconds=seconds, dollars=dollars, name=name, clock=clock)
        self._path = path
        self._prefix = f"{holder}/"
        self._me = f"{self._prefix}{uuid4().hex}"
        with self._state() as state:
            for other in [each for each in state.holds if each.startswith(self._prefix)]:
                taken = state.holds.pop(other)
                state.tokens, state.dollars = state.tokens + taken[0], state.dollars + taken[1]
            if state.began is None:
                state.began = clock()
            self._began = state.began

    @staticmethod
    def begin(path: Path, spent: Usage | None = None) -> None:
        """Make the file, with what an earlier part of the run took."""
        path.parent.mkdir(parents=True, exist_ok=True)
        state = _State()
        if spent is not None:
            state.tokens, state.dollars = spent.prompt + spent.completion, spent.dollars or 0.0
        write_atomic(path, json.dumps(asdict(state)))

    @staticmethod
    def taken(path: Path) -> tuple[int, float]:
        """Tokens and dollars that were taken, and at most taken by what was killed on its way."""
        state = _read(path)
        return (
            state.tokens + sum(tokens for tokens, _ in state.holds.values()),
            state.dollars + sum(dollars for _, dollars in state.holds.values()),
        )

    def _enter(self, hold: Hold) -> None:
        with self._state() as state:
            self._see(state)
            super()._enter(hold)
            self._tell(state)

    def _leave(self, hold: Hold) -> None:
        with self._state() as state:
            super()._leave(hold)
            state.tokens += hold.tokens
            state.dollars += hold.dollars
            self._tell(state)
            self._see(state)

    def _see(self, state: _State) -> None:
        """What all others took, or have on their way, is used up for this process."""
        others = [taken for holder, taken in state.holds.items() if holder != self._me]
        with self._lock:
            self._used_tokens = state.tokens + sum(tokens for tokens, _ in others)
            self._used_dollars = state.dollars + sum(dollars for _, dollars in others)

    def _tell(self, state: _State) -> None:
        with self._lock:
            held = list(self._holds)
        state.holds.pop(self._me, None)
        if held:
            state.holds[self._me] = (
                sum(each.tokens for each in held),
                sum(each.dollars for each in held),
            )

    @contextmanager
    def _state(self) -> Iterator[_State]:
        """The file's state, alone; what was changed is written, unless an error comes out."""
        try:
            with open(self._path.with_suffix(".lock"), "ab") as handle:
                fcntl.flock(handle, fcntl.LOCK_EX)
                state = _read(self._path)
                yield state
                write_atomic(self._path, json.dumps(asdict(state)))
        except OSError as error:
            raise _unusable(self._path, error.strerror or str(error)) from error


def _read(path: Path) -> _State:
    try:
        data = json.loads(path.read_bytes())
        data["holds"] = {name: (taken[0], taken[1]) for name, taken in data["holds"].items()}
        return _State(**data)
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from error
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise _unusable(path, "it is damaged") from error


def _unusable(path: Path, why: str) -> RunError:
    return RunError(f"the budget of the run cannot be kept in {path}: {why}")
