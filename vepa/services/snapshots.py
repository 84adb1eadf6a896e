"""The seed of a service: put in once through the real protocol, then kept as a snapshot.

A snapshot's key is a hash over all that it comes from: the environment's files, the world, and what
the runtime adds (packages, image). A changed seed is another key, so nothing stale is ever used.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vepa.errors import InputError, RunError, ServiceError
from vepa.files import canonical_json, sha256_of, write_atomic
from vepa.services import records
from vepa.services.drivers import Deadline, Endpoint, Unreachable
from vepa.services.environment import Environment, content_hash, load_seed, where_in
from vepa.services.places import Places, make_private
from vepa.services.runtimes.base import Progress, Runtime, Slot
from vepa.services.steps import Connection, StepRefused
from vepa.services.templates import evaluate
from vepa.services.world import World

__all__ = [
    "SeedRecord",
    "ensure_snapshot",
    "known_seed",
    "plant",
    "read_state",
    "snapshot_key",
    "state_hash",
]

#: Bump when what a snapshot holds changes its meaning.
_FORMAT = 1
#: Time for all requests of a seed, and for those of a state.
_SEED_SECONDS = 180.0
_STATE_SECONDS = 60.0
#: No episode begins sooner after the last request of a seed.
_GRACE_SECONDS = 1.05


@dataclass(frozen=True, slots=True)
class SeedRecord:
    """What is known of a snapshot.

    Attributes
    ----------
    key
        Of the snapshot.
    state
        SHA-256 of the state that was read through the protocol right after seeding.
    captured
        (kind, value) of the seed's volatile values, in the seed's order.
    seconds
        How long seeding took, start included.
    """

    key: str
    state: str
    captured: tuple[tuple[str, str], ...]
    seconds: float


def snapshot_key(environment: Environment, world_file: Path, runtime: Runtime) -> str:
    """The key of an environment's snapshot under a runtime."""
    content = content_hash(environment, world_file)
    return sha256_of(canonical_json([_FORMAT, content, runtime.fingerprint(environment)]))


def plant(connection: Connection) -> tuple[tuple[str, str], ...]:
    """Put the seed in through the protocol; the captured volatile values.

    Raises
    ------
    ServiceError
        When the service refuses a part of it, or does not answer.
    """
    environment = connection.environment
    captured: list[tuple[str, str]] = []
    try:
        connection.run(
            environment.seed.steps,
            "admin",
            Deadline.after(_SEED_SECONDS),
            {"seed": load_seed(environment)},
            captured,
        )
    except (StepRefused, Unreachable) as error:
        at = error.path if isinstance(error, StepRefused) else ("seed", "steps")
        raise ServiceError(
            f"{environment.name}: the seed could not be put in: {error}",
            where=where_in(environment, at),
            remedy="what the service said stands above; docs/adding-a-service.md describes seeds",
        ) from None
    except InputError as error:
        raise error.at(file=str(environment.file)) from None
    return tuple(captured)


def read_state(connection: Connection) -> Any:
    """The whole state as plain data, read through the protocol as `admin`.

    Raises
    ------
    RunError
        When it cannot be read.
    """
    environment = connection.environment
    context = {"seed": load_seed(environment)}
    try:
        saved = connection.run(
            environment.state.steps, "admin", Deadline.after(_STATE_SECONDS), context
        )
    except (StepRefused, Unreachable) as error:
        raise RunError(f"{environment.name}: the state could not be read: {error}") from None
    try:
        return evaluate(environment.state.value, {**connection.base, **context, **saved})
    except InputError as error:
        error.where = where_in(environment, ("state", "value"))
        raise


def state_hash(state: Any) -> str:
    """SHA-256 of a state's canonical JSON."""
    return sha256_of(canonical_json(state))


def known_seed(
    environment: Environment, world_file: Path, runtime: Runtime, root: Places
) -> SeedRecord | None:
    """What is known of the snapshot of an environment as it is now; None where there is none."""
    key = snapshot_key(environment, world_file, runtime)
    return _known(root.snapshots / f"{environment.name}-{key[:16]}" / "seed.json", key)


def ensure_snapshot(
    environment: Environment,
    world: World,
    world_file: Path,
    runtime: Runtime,
    root: Places,
    progress: Progress | None = None,
) -> SeedRecord:
    """The snapshot of an environment; made when it is not there yet.

    Callers of several processes wait for the one that makes it.

    Raises
    ------
    RunError
        When the service does not start, or refuses its seed.
    """
    key = snapshot_key(environment, world_file, runtime)
    record = root.snapshots / f"{environment.name}-{key[:16]}" / "seed.json"
    with _locked(root.snapshots / f".{environment.name}-{key[:16]}.lock"):
        known = _known(record, key)
        if known is not None and runtime.has_snapshot(environment, key):
            return known
        if progress:
            progress(f"{environment.name}: seeding")
        runtime.drop_snapshot(environment, key)
        seeded = _make(environment, world, key, runtime, root)
        make_private(record.parent)
        write_atomic(
            record,
            canonical_json(
                {
                    "key": seeded.key,
                    "state": seeded.state,
                    "captured": [list(pair) for pair in seeded.captured],
                    "seconds": round(seeded.seconds, 3),
                }
            ),
        )
        return seeded


def _make(
    environment: Environment, world: World, key: str, runtime: Runtime, root: Places
) -> SeedRecord:
    started = time.monotonic()
    office = f"seed-{environment.name}-{os.getpid()}-{time.monotonic_ns() % 10**6}"
    folder = records.claim(root, office, runtime.name)
    slot = Slot(office, folder / environment.name, environment, world, owner=os.getpid())
    try:
        endpoint: Endpoint = runtime.start(slot, None)
        try:
            with Connection(environment, endpoint, world) as connection:
                captured = plant(connection)
                planted = time.monotonic()
                state = state_hash(read_state(connection))
            runtime.keep(slot, key)
        finally:
            runtime.stop(slot)
        # An episode takes what is younger than a second before it for its own (see `aliases`).
        time.sleep(max(0.0, planted + _GRACE_SECONDS - time.monotonic()))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return SeedRecord(key, state, captured, time.monotonic() - started)


def _known(file: Path, key: str) -> SeedRecord | None:
    try:
        data = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if data.get("key") != key:
        return None
    captured = tuple((str(kind), str(value)) for kind, value in data["captured"])
    return SeedRecord(key, data["state"], captured, data["seconds"])


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process at a time; the kernel lets go when its holder dies."""
    make_private(path.parent)
    with open(path, "a", encoding="ascii") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
