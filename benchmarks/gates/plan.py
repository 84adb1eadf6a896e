"""What `python -m benchmarks.authority` works out, part by part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.gates import badrules, learners, speed, trials
from benchmarks.gates.store import FILES, Spec

__all__ = ["CHOSEN", "FLIPS", "VIEWS", "WORK", "Size", "parts"]

#: The streams and views that the default was chosen on.
CHOSEN = (("Security", "full"), ("Security", "observable"), ("R-Judge", "full"))
VIEWS = (("Security", "full"), ("R-Judge", "full"))
FLIPS = (0.0, 0.1)

#: Kind of figures -> what works them out.
WORK: Mapping[str, Callable[[Spec], dict[str, Any]]] = {
    "trial": trials.trial,
    "answers": learners.answers,
    "random": badrules.random_rules,
    "planted": badrules.planted_regions,
    "seconds": speed.seconds,
}


@dataclass(frozen=True)
class Size:
    """How much is run.

    Attributes
    ----------
    seeds, fresh
        Shuffles that constants were chosen on, and others.
    rules, regions
        Random rules and planted regions a shuffle.
    """

    seeds: tuple[int, ...] = tuple(range(10))
    fresh: tuple[int, ...] = tuple(range(10, 30))
    rules: int = 2000
    regions: int = 40


def parts(size: Size) -> dict[str, list[dict[str, Any]]]:
    """Part -> the specs of its figures, in the order in which they are worked out."""
    some = size.seeds[:6]
    return {
        "modes": trials.specs(CHOSEN[::-1], FLIPS, size.seeds, trials.MODES[::-1]),
        "many flips": trials.specs(CHOSEN[::-1], (0.2,), size.seeds, ("noise-aware",)),
        "ATBench": trials.specs(
            (("ATBench", "full"),), FLIPS, size.seeds, ("paper", "noise-aware")
        ),
        "learners": _each("answers", FILES, FLIPS, size.seeds, view="full"),
        "random rules": _each("random", ("R-Judge", "Security"), FLIPS, some, rules=size.rules),
        "planted regions": _each(
            "planted", ("R-Judge", "Security"), FLIPS, some, regions=size.regions
        ),
        "fresh seeds": trials.specs(CHOSEN[::-1], FLIPS, size.fresh, ("noise-aware", "paper")),
        "parts left out": trials.specs(
            VIEWS[::-1], FLIPS, size.seeds, ("noise-aware",), tuple(trials.PARTS)[1:]
        )
        + trials.specs(VIEWS[::-1], FLIPS, size.seeds, ("paper",), ("front",)),
        "speed": [
            {"kind": "seconds", "stream": "Security", "flip": flip, "seed": 0, "mode": mode}
            for mode in ("paper", "noise-aware")
            for flip in FLIPS
        ],
    }


def _each(
    kind: str, streams: Any, flips: tuple[float, ...], seeds: tuple[int, ...], **more: Any
) -> list[dict[str, Any]]:
    return [
        {"kind": kind, "stream": stream, "flip": flip, "seed": seed, **more}
        for stream in streams
        for flip in flips
        for seed in seeds
    ]
