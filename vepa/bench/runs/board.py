"""What the processes of one scaled-out stage share: a few files below the folder of its products.

`run.json` says whose run it is; a part is done by whoever holds its lock; what came of it stands in
a file that is written when it is settled. A process that is killed lets go of its lock, and whoever
looks next does what is missing of that part.
"""

from __future__ import annotations

import fcntl
import json
import secrets
import shutil
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from vepa import __version__
from vepa.errors import RunError, SettingError, Where
from vepa.files import write_atomic

__all__ = ["SHARES", "Board"]

#: Below the folder of the products, while a run is scaled out.
SHARES = "shares"
#: Seconds between two signs of life.
_BEAT = 5.0


class Board:
    """The shared files of one run.

    Parameters
    ----------
    folder
        Of the products.
    token
        Of the run.
    """

    def __init__(self, folder: Path, token: str):
        self.folder = folder / SHARES
        self._locks = folder / f".{SHARES}"  # not swept away with the board of a dead run
        self.token = token
        self._run = self.folder / "run.json"
        self._stopped = self.folder / f"{token}.stopped"
        self._outcomes = self.folder / token

    @classmethod
    def begin(cls, folder: Path, inputs: str, workers: int) -> Board:
        """Put up the board of a new run; that of an earlier one is taken over.

        Parameters
        ----------
        folder
            As above; the caller holds it.
        inputs
            Hash over what is done: processes that would do something else have another.
        workers
            Processes.
        """
        board = cls(folder, secrets.token_hex(8))
        shutil.rmtree(board.folder, ignore_errors=True)
        about = {"token": board.token, "inputs": inputs, "vepa": __version__, "workers": workers}
        board._outcomes.mkdir(parents=True)
        write_atomic(board._run, json.dumps(about, indent=1) + "\n")
        return board

    @property
    def budget(self) -> Path:
        """Where the run's budget is kept."""
        return self.folder / "budget.json"

    def about(self) -> dict[str, Any]:
        """What the run said when it began.

        Raises
        ------
        SettingError
            When this process does not see the folder of the run.
        RunError
            When another run has taken the folder over.
        """
        try:
            about: dict[str, Any] = json.loads(self._run.read_bytes())
        except (OSError, ValueError):
            raise SettingError(
                f"the worker on {socket.gethostname()} does not see this folder as the run does",
                where=Where(str(self.folder.parent)),
                remedy="mount the folder of artifacts at the same path on every machine with a "
                "worker, or leave `scale.address` out",
            ) from None
        if about.get("token") != self.token:
            raise RunError(f"another run has taken over {self.folder.parent}")
        return about

    def check(self, inputs: str) -> None:
        """Raise unless this process would do the same as the run that asks it to.

        Raises
        ------
        SettingError
            When its checkout, its packages or its profile are others. As `about`, too.
        """
        about = self.about()
        if (about["inputs"], about["vepa"]) != (inputs, __version__):
            raise SettingError(
                f"the worker on {socket.gethostname()} would make something else than the run "
                "that asks it to",
                where=Where(str(self.folder.parent)),
                remedy="bring checkout, packages and profile of every machine to the same state",
            )

    @contextmanager
    def claim(self, part: str) -> Iterator[bool]:
        """Hold a part, if nobody else does; whether it is held. Raises as `about`."""
        self.about()
        self._locks.mkdir(exist_ok=True)
        with open(self._locks / f"{part}.lock", "ab") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True

    def put(self, part: str, outcome: Mapping[str, Any]) -> None:
        """Say what came of a part. Raises as `about`."""
        self.about()
        write_atomic(self._outcomes / f"{part}.json", json.dumps(dict(outcome)))

    def done(self, part: str) -> bool:
        """Whether a part is settled in this run."""
        return (self._outcomes / f"{part}.json").is_file()

    def count(self) -> int:
        """How many parts are settled."""
        return sum(1 for _ in self._outcomes.glob("*.json"))

    def outcomes(self) -> list[dict[str, Any]]:
        """What came of the parts that are settled, by their names."""
        return [json.loads(path.read_bytes()) for path in sorted(self._outcomes.glob("*.json"))]

    @contextmanager
    def alive(self, name: str) -> Iterator[None]:
        """Give signs of life inside, so that whoever waits knows that somebody is at work."""
        ended = threading.Event()

        def beat() -> None:
            file = self._outcomes / f"{name}.{secrets.token_hex(4)}.alive"
            while True:
                try:
                    file.touch()
                except OSError:  # the board is down
                    return
                if ended.wait(_BEAT):
                    return

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        except TimeoutError as error:  # to whoever waits it would say that nothing came yet
            raise RunError(f"a wait took too long: {error}") from error
        finally:
            ended.set()
            thread.join()

    def pulse(self) -> int:
        """A number that is another one whenever somebody gave a sign of life since the last time.

        Clocks of other machines may be wrong: it only ever says something beside an earlier one.
        """
        total = 0
        for path in self._outcomes.iterdir() if self._outcomes.is_dir() else ():
            with suppress(OSError):
                total += path.stat().st_mtime_ns
        return total

    def stop(self, reason: str) -> None:
        """Let all processes of the run begin nothing more."""
        write_atomic(self._stopped, reason)

    @property
    def stopped(self) -> str | None:
        """What ended the run early."""
        try:
            return self._stopped.read_text("utf-8")
        except OSError:
            return None

    def withdraw(self) -> None:
        """End early: processes that are still at work leave before the next part.

        The locks stay where they are; what is at work somewhere still holds them.
        """
        shutil.rmtree(self.folder, ignore_errors=True)

    def end(self) -> None:
        """Everything is settled: nothing of it stays."""
        self.withdraw()
        shutil.rmtree(self._locks, ignore_errors=True)
