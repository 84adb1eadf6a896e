"""Plays that are kept: by the hash of all that they depend on, one file each.

A play is written whole, and last its record with the hash of the file. A process that is killed
leaves nothing that could be taken for a play; a file that was damaged is played again.
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
from vepa.bench.runs.versions import code_of, versions
from vepa.errors import RunError
from vepa.files import canonical_json, sha256_of, write_atomic

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
    """A folder of plays.

    Parameters
    ----------
    folder
        Where they lie; made when something is written.
    """

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)

    def has(self, play: Play) -> bool:
        """Whether the play is there and undamaged."""
        return self._intact(play) is not None

    def read(self, play: Play) -> dict[str, Answered]:
        """The answers of a play by variant.

        Raises
        ------
        RunError
            When it is not there, or damaged.
        """
        data = self._intact(play)
        if data is None:
            raise RunError(f"the play {play.key[:12]} is not in {self.folder}, or was damaged")
        found: dict[str, Answered] = {}
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            told = json.loads(arrays["told"].tobytes().decode())
            for variant, more in told.items():
                parts: dict[str, Any] = {name: arrays[f"{variant}/{name}"] for name in _ARRAYS}
                found[variant] = Answered(**parts, told=more)
        return found

    def write(self, play: Play, answered: Mapping[str, Answered]) -> None:
        """Keep the answers of a play."""
        arrays = {
            f"{variant}/{name}": getattr(each, name)
            for variant, each in answered.items()
            for name in _ARRAYS
        }
        told = canonical_json({variant: dict(each.told) for variant, each in answered.items()})
        buffer = io.BytesIO()
        np.savez_compressed(
            buffer,
            told=np.frombuffer(told.encode(), dtype=np.uint8),
            **arrays,
        )
        data = buffer.getvalue()
        record = {"key": play.key, "sha256": sha256_of(data), "seed": play.seed}
        try:
            write_atomic(self._path(play, "npz"), data)
            write_atomic(self._path(play, "json"), canonical_json(record) + "\n")
        except OSError as error:
            raise RunError(
                f"a play cannot be written to {self.folder}: {error.strerror}\n"
                "  remedy: make room or name another folder, then start again; "
                "what was played is kept"
            ) from None

    def digest(self, plays: Sequence[Play]) -> str:
        """Hash over the answers of plays that are there, in any order."""
        hashes = sorted(self._record(play)["sha256"] for play in plays)
        return sha256_of(canonical_json(hashes))

    def _intact(self, play: Play) -> bytes | None:
        try:
            record = self._record(play)
            data = self._path(play, "npz").read_bytes()
        except (OSError, ValueError):
            return None
        return data if record.get("sha256") == sha256_of(data) else None

    def _record(self, play: Play) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._path(play, "json").read_bytes())
        return found

    def _path(self, play: Play, kind: str) -> Path:
        return self.folder / play.key[:2] / f"{play.key}.{kind}"
