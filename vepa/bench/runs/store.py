"""The folder of a run: stages that are done once, hashed products, safe against kill -9.

A run is a fixed list of stages. A stage is done when its record `done/STAGE.json` exists, the
products named in it have the hashes named in it, and the stages that it was made from still have
the content that it was made from. The record is written last, so a run that is killed at any moment
goes on where it stopped; a product that is missing or damaged is made again.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from vepa.errors import RunError, SettingError, Where
from vepa.files import canonical_json, sha256_of, write_atomic

__all__ = ["RunStore", "StageRecord"]


@dataclass(frozen=True)
class StageRecord:
    """What a finished stage left behind.

    Attributes
    ----------
    stage
        Name of the stage.
    needs
        Stage -> content hash of what this stage was made from.
    products
        Path within the run's folder -> SHA-256.
    figures
        Small results that others show.
    seconds
        How long it took; not part of the content.
    """

    stage: str
    needs: Mapping[str, str]
    products: Mapping[str, str]
    figures: Mapping[str, Any]
    seconds: float

    @property
    def content(self) -> dict[str, Any]:
        """All that is the same in every run with the same inputs."""
        return {
            "stage": self.stage,
            "needs": dict(self.needs),
            "products": dict(self.products),
            "figures": dict(self.figures),
        }

    @property
    def sha256(self) -> str:
        """Hash of the content."""
        return sha256_of(canonical_json(self.content))


class RunStore:
    """The folder of one run.

    Parameters
    ----------
    folder
        `artifacts/runs/<id>`.
    """

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)

    def path(self, product: str) -> Path:
        """Where a product lies."""
        return self.folder / product

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder: two processes on the same run work one after the other.

        The system lets go of the lock when a process dies, however it dies.
        """
        with self._lock_file() as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def _lock_file(self) -> BinaryIO:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            return open(self.folder / ".lock", "wb")
        except OSError as error:
            raise SettingError(
                f"the run's folder cannot be written to: {error.strerror}",
                where=Where(str(self.folder)),
                remedy="set VEPA_ARTIFACTS to a folder that you may write to",
            ) from None

    def record(self, stage: str) -> StageRecord | None:
        """The record of a stage as it stands there, unverified; None without a readable one."""
        try:
            data = json.loads(self._record_path(stage).read_bytes())
            content = data["content"]
            record = StageRecord(
                content["stage"],
                content["needs"],
                content["products"],
                content["figures"],
                float(data["seconds"]),
            )
            return record if data["sha256"] == record.sha256 and record.stage == stage else None
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError):
            return None  # a damaged record is no record: the stage is made again

    def done(self, stage: str, needs: Sequence[str] = ()) -> StageRecord | None:
        """The record of a stage whose products and needs all stand; else None."""
        record = self.record(stage)
        if record is None or list(record.needs) != list(needs):
            return None
        for name, expected in record.needs.items():
            needed = self.record(name)
            if needed is None or needed.sha256 != expected:
                return None
        intact = all(self._has(name, digest) for name, digest in record.products.items())
        return record if intact else None

    def finish(
        self,
        stage: str,
        products: Mapping[str, str | bytes],
        *,
        needs: Sequence[str] = (),
        figures: Mapping[str, Any] | None = None,
        seconds: float = 0.0,
    ) -> StageRecord:
        """Write the products of a stage, then its record.

        Raises
        ------
        RunError
            When a stage that it was made from is not done, or the folder cannot be written to.
        """
        known = {}
        for name in needs:
            needed = self.record(name)
            if needed is None:
                raise RunError(f"{stage} of {self.folder} needs {name}, which is not done")
            known[name] = needed.sha256
        hashes = {name: sha256_of(data) for name, data in products.items()}
        record = StageRecord(stage, known, hashes, dict(figures or {}), seconds)
        document = {"content": record.content, "sha256": record.sha256, "seconds": seconds}
        try:
            for name, data in products.items():
                write_atomic(self.path(name), data)
            write_atomic(self._record_path(stage), json.dumps(document, indent=1) + "\n")
        except OSError as error:
            raise RunError(
                f"{stage} cannot be written to {self.folder}: {error.strerror}\n"
                "  remedy: make room or set VEPA_ARTIFACTS, then start again; "
                "what was finished is kept"
            ) from None
        return record

    def sweep(self) -> None:
        """Remove what a killed process left half-written; call it with the lock held."""
        for part in self.folder.rglob(".*.part"):
            part.unlink(missing_ok=True)

    def _record_path(self, stage: str) -> Path:
        return self.folder / "done" / f"{stage}.json"

    def _has(self, product: str, digest: str) -> bool:
        try:
            return sha256_of(self.path(product).read_bytes()) == digest
        except OSError:
            return False
