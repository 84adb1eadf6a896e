"""`settled.jsonl` follows the verdicts: soon after them, and not once for each."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from vepa.errors import VepaError

__all__ = ["Keeper"]


class Keeper:
    """Writes in a thread of its own, when nothing was said for a while.

    Parameters
    ----------
    write
        What is to be done.
    tell
        Told what went wrong; it is tried again after the next verdict.
    quiet, longest
        Seconds without a verdict after which it is done, and after which it is done in any case.
    """

    def __init__(
        self,
        write: Callable[[], object],
        tell: Callable[[str], None],
        quiet: float = 3.0,
        longest: float = 20.0,
    ):
        self._write = write
        self._tell = tell
        self._quiet = quiet
        self._longest = longest
        self._changed = threading.Condition()
        # What an earlier server was told and did not write any more is written now.
        self._first = self._last = time.monotonic()
        self._wanted = True
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="settled", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def changed(self) -> None:
        """A verdict was given or taken back."""
        with self._changed:
            now = time.monotonic()
            if not self._wanted:
                self._first = now
            self._wanted, self._last = True, now
            self._changed.notify()

    def stop(self) -> None:
        """Write what is left, and end."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._ended and not self._due():
                    self._changed.wait(self._quiet / 2 if self._wanted else None)
                wanted, self._wanted = self._wanted, False
                ended = self._ended
            if wanted:
                self._try()
            if ended:
                return

    def _due(self) -> bool:
        now = time.monotonic()
        return self._wanted and (
            now - self._last >= self._quiet or now - self._first >= self._longest
        )

    def _try(self) -> None:
        try:
            self._write()
        except (VepaError, OSError) as error:
            self._tell(f"settled.jsonl could not be written: {error}")
