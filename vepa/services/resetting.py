"""Which services a reset brings back, and what it says of that."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

__all__ = ["CHECKED_SHARE", "ResetReport", "drawn"]

#: Share of the services without a recorded write whose state is compared all the same.
CHECKED_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class ResetReport:
    """What a reset did.

    Attributes
    ----------
    reset
        Services that were brought back to their seed.
    checked
        Services without a recorded write whose state was compared.
    unexpected
        Those without a recorded write that differed all the same, or had died; reset too.
    seconds
        Name -> time of its reset.
    total
        Time of the whole.
    """

    reset: tuple[str, ...]
    checked: tuple[str, ...]
    unexpected: tuple[str, ...]
    seconds: Mapping[str, float] = field(default_factory=dict)
    total: float = 0.0


def drawn(clean: Iterable[str], draw: random.Random) -> list[str]:
    """The services without a recorded write whose state is looked at."""
    return [name for name in sorted(clean) if draw.random() < CHECKED_SHARE]
