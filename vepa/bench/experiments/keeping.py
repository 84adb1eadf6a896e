"""Plays that are kept: by the hash of all that they depend on, one file each.

They are stages of a store like those of a run: a process that is killed leaves nothing that could
be taken for a play, and one whose file was damaged is played again.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from vepa.bench.experiments.plays import Answered, Condition, Learner, PolicyMethod
from vepa.bench.runs.store import RunStore
from vepa.bench.runs.versions import code_of, versions
from vepa.errors import RunError
from vepa.files import canonical_json, sha256_of

__all__ = ["Play", "PlayStore"]

#: The parts of the package that the answers of a play depend on.
PARTS = (
    "errors.py",
    "files.py",
    "policy",
    "corpus",
    "evolution",
    "bench/baselines",
    "bench/evolving.py",
    "bench/experiments/plays.py",
    "bench/metrics.py",
    "bench/prequential.py",
    "bench/scores.py",
    "bench/streams.py",
    "bench/verdicts.py",
    "bench/views.py",
)
_ARRAYS = tuple(field.name for field in fields(Answered) if field.name != "told")


@dataclass(frozen=True)
class Play:
    """One play that is wanted.

    Attributes
    ----------
    condition, method, seed
        As `perform` takes them.
    events
        File -> hash of its events.
    """

    condition: Condition
    method: PolicyMethod | Learner
    seed: int
    events: Mapping[str, str]

    @property
    def asks(self) -> bool:
        """Whether it asks a language model."""
        if isinstance(self.method, Learner):
            return self.method.asked is not None
        return self.method.evolution.asks_a_model

    @cached_property
    def key(self) -> str:
        """Hash of all that the answers depend on."""
        return sha256_of(
            canonical_json(
                {
                    "condition": self.condition.model_dump(mode="json"),
                    "method": {
                        "kind": type(self.method).__name__,
                        **self.method.model_dump(mode="json"),
                    },
                    "seed": self.seed,
                    "events": [self.events[name] for name in self.condition.events],
                    **_made_with(),
                }
            )
        )


@lru_cache(maxsize=1)
def _made_with() -> dict[str, Any]:
    return {"code": code_of(PARTS), "versions": versions()}


class PlayStore:
    """A folder of plays: the store of runs, with a stage for each play.

    Parameters
    ----------
    folder
        Where they lie; made when something is written.
    """

    def __init__(self, folder: str | Path):
        self._store = RunStore(folder)

    def has(self, play: Play) -> bool:
        """Whether the play is there and undamaged."""
        return self._store.done(play.key) is not None

    def read(self, play: Play) -> dict[str, Answered]:
        """The answers of a play by variant.

        Raises
        ------
        RunError
            When it is not there, or damaged.
        """
        if not self.has(play):
            folder = self._store.folder
            raise RunError(f"the play {play.key[:12]} is not in {folder}, or was damaged")
        found: dict[str, Answered] = {}
        with np.load(self._store.path(_product(play)), allow_pickle=False) as arrays:
            told = json.loads(arrays["told"].tobytes().decode())
            for variant, more in told.items():
                parts: dict[str, Any] = {name: arrays[f"{variant}/{name}"] for name in _ARRAYS}
                found[variant] = Answered(**parts, told=more)
        return found

    def write(self, play: Play, answered: Mapping[str, Answered]) -> None:
        """Keep the answers of a play; raises `RunError` when the folder cannot be written to."""
        arrays = {
            f"{variant}/{name}": getattr(each, name)
            for variant, each in answered.items()
            for name in _ARRAYS
        }
        told = canonical_json({variant: dict(each.told) for variant, each in answered.items()})
        buffer = io.BytesIO()
        np.savez_compressed(buffer, told=np.frombuffer(told.encode(), dtype=np.uint8), **arrays)
        self._store.finish(play.key, {_product(play): buffer.getvalue()})

    def digest(self, plays: Sequence[Play]) -> str:
        """Hash over the answers of plays that are there, in any order."""
        records = [self._store.record(play.key) for play in plays]
        hashes = sorted(h for each in records if each for h in each.products.values())
        return sha256_of(canonical_json(hashes))


def _product(play: Play) -> str:
    return f"answers/{play.key}.npz"
