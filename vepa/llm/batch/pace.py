"""How patient a bulk run is."""

from __future__ import annotations

from dataclasses import dataclass

from vepa.llm.settings import ModelSettings

__all__ = ["Pace"]

#: Batches take minutes to a day: they are asked about ten times more rarely than a busy provider.
_SLOWER = 10.0
_DAY = 86_400.0


@dataclass(frozen=True)
class Pace:
    """Waits, in seconds.

    Attributes
    ----------
    first, longest
        Before a batch is asked about for the first time, doubled each time, and the bound.
    doubt
        How long a batch that may have been taken is looked for before it counts as not taken.
    patience
        How long one run waits for batches; vendors give up after a day.
    """

    first: float = 5.0
    longest: float = 300.0
    doubt: float = 300.0
    patience: float = 26 * 3600.0

    @classmethod
    def of(cls, settings: ModelSettings, patience: float | None = None) -> Pace:
        """Ten times the waits of the settings: 5 s, doubled up to 300 s, unless they say more."""
        longest = _SLOWER * settings.longest_wait
        return cls(
            first=min(_SLOWER * settings.first_wait, longest),
            longest=longest,
            doubt=longest,
            patience=cls.patience if patience is None else patience,
        )

    def wait(self, times: int) -> float:
        """Before the next question, after so many."""
        return float(min(self.first * 2.0 ** min(times, 30), self.longest))
