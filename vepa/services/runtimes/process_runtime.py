"""The default runtime: services as plain processes, from one Python environment of their own."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vepa.errors import InputError, RunError, SettingError, Where
from vepa.files import canonical_json, sha256_of
from vepa.services.drivers import Endpoint
from vepa.services.environment import Environment
from vepa.services.install import Layout, install, installed, layout
from vepa.services.places import Places, make_private, places
from vepa.services.runtimes import marks, processes
from vepa.services.runtimes.base import Condition, Progress, RuntimeName, Slot
from vepa.services.runtimes.health import BannerCheck, HttpCheck, TcpCheck, wait_healthy
from vepa.services.runtimes.memory import proportional_memory
from vepa.services.runtimes.mirror import copy, mirror
from vepa.services.runtimes.requirements import constraints_of, requirements_of
from vepa.services.steps import base_context
from vepa.services.templates import render

__all__ = ["ProcessRuntime"]

_HOST = "127.0.0.1"
_UNPRIVILEGED = "nobody"
#: A command of `prepare` that takes longer has hung.
_PREPARE_SECONDS = 120


class ProcessRuntime:
    """Runs services as processes (see `Runtime`)."""

    name: RuntimeName = "process"

    def __init__(self, root: Places | None = None):
        self._places = root or places()

    def ready(
        self,
        environments: Sequence[Environment],
        progress: Progress | None = None,  # noqa: ARG002 - nothing here takes long
    ) -> None:
        """See `Runtime.ready`; packages are installed by `install`, never silently."""
        for environment in environments:
            for program in environment.process.programs:
                if shutil.which(program) is None:
                    raise SettingError(
                        f"{environment.name} needs the program {program!r}, which is not on PATH",
                        where=Where(str(environment.file), field="process.programs"),
                        remedy=f"install it (Debian: apt-get install {program})",
                    )
            self._venv(environment)

    def install(
        self, environments: Sequence[Environment], progress: Progress | None = None
    ) -> list[Path]:
        """Install the packages of these environments; the Python environments that hold them."""
        made: dict[Path, None] = {}
        for environment in environments:
            wanted, constraints = requirements_of(environment), constraints_of(environment)
            if wanted:
                made[install(wanted, constraints, progress, services=self._places.services)] = None
        return list(made)

    def fingerprint(self, environment: Environment) -> str:
        """See `Runtime.fingerprint`."""
        return sha256_of(
            canonical_json(["process", sys.version_info[:2], environment.process.packages])
        )

    def has_snapshot(self, environment: Environment, key: str) -> bool:
        """See `Runtime.has_snapshot`."""
        return self._snapshot(environment, key).is_dir()

    def start(self, slot: Slot, snapshot: str | None) -> Endpoint:
        """See `Runtime.start`."""
        data = slot.folder / "data"
        make_private(slot.folder)
        spec = self._spec(slot, snapshot)
        if snapshot is None:
            self._prepare(slot, spec)
        else:
            copy(self._snapshot(slot.environment, snapshot), data)
        handle = processes.start(spec)
        try:
            self._wait(slot, handle)
        except BaseException:
            processes.stop(handle)
            raise
        return Endpoint(_HOST, handle.ports)

    def keep(self, slot: Slot, key: str) -> None:
        """See `Runtime.keep`."""
        self.stop(slot)
        target = self._snapshot(slot.environment, key)
        make_private(target.parent)
        # In the folder of the office, which is swept when its owner dies in the middle.
        work = slot.folder / "kept"
        copy(slot.folder / "data", work)
        work.rename(target)

    def drop_snapshot(self, environment: Environment, key: str) -> None:
        """See `Runtime.drop_snapshot`."""
        shutil.rmtree(self._snapshot(environment, key).parent, ignore_errors=True)

    def restore(self, slot: Slot, key: str) -> Endpoint:
        """See `Runtime.restore`."""
        handle = self._handle(slot)
        reset = slot.environment.reset
        if reset.how == "live" and processes.death(handle) is None:
            snapshot, data = self._snapshot(slot.environment, key), slot.folder / "data"
            for part in reset.paths or ["."]:
                mirror(snapshot / part, data / part)
            if reset.signal is not None:
                status = processes.status(slot.folder)
                if status is not None and status.process is not None:
                    marks.send(status.process, signal.Signals[f"SIG{reset.signal}"])
        else:
            processes.restart(handle, restore=True)
            self._wait(slot, handle)
        return Endpoint(_HOST, handle.ports)

    def condition(self, slot: Slot) -> Condition:
        """See `Runtime.condition`."""
        handle = processes.handle(slot.folder)
        if handle is None:
            return Condition("stopped")
        reason = processes.death(handle)
        if reason is not None:
            status = processes.status(slot.folder)
            stopped = status is not None and status.state == "stopped"
            return Condition("stopped") if stopped else Condition("failed", reason=reason)
        return Condition(
            "running",
            Endpoint(_HOST, handle.ports),
            memory=proportional_memory(handle.launcher.pid),
        )

    def logs(self, slot: Slot, lines: int) -> str:
        """See `Runtime.logs`."""
        return processes.log_tail(slot.folder, lines)

    def stop(self, slot: Slot) -> None:
        """See `Runtime.stop`."""
        handle = processes.handle(slot.folder)
        if handle is not None:
            processes.stop(handle)

    def sweep(self, offices: Sequence[str]) -> list[str]:
        """See `Runtime.sweep`."""
        root = self._places.root
        for marked in processes.launchers(root, list(offices)):
            handle = processes.handle(self._places.office(marked.office) / marked.service)
            if handle is not None:
                processes.stop(handle)
        swept = processes.sweep(root, list(offices))
        return [f"{each.office}: {each.service} (pid {each.process.pid})" for each in swept]

    # --- inside

    def _snapshot(self, environment: Environment, key: str) -> Path:
        return self._places.snapshots / f"{environment.name}-{key[:16]}" / "data"

    def _handle(self, slot: Slot) -> processes.Handle:
        handle = processes.handle(slot.folder)
        if handle is None:
            raise RunError(f"{slot.name} does not run in office {slot.office!r}")
        return handle

    def _venv(self, environment: Environment) -> Layout:
        wanted, constraints = requirements_of(environment), constraints_of(environment)
        if not wanted:
            return Layout(Path(sys.executable), Path(sys.prefix) / "bin", Path())
        found = installed(wanted, constraints, services=self._places.services)
        if found is None:
            raise SettingError(
                f"the software of {environment.name} is not installed",
                where=Where(str(environment.file), field="process.packages"),
                remedy="vepa services install",
            )
        return layout(found)

    def _context(self, slot: Slot, ports: Mapping[str, Any]) -> dict[str, Any]:
        venv = self._venv(slot.environment)
        return {
            **base_context(slot.environment, slot.world, Endpoint(_HOST, ports)),
            "python": str(venv.python),
            "bin": str(venv.bin),
            "site": str(venv.site),
            "folder": str(slot.environment.folder),
            "data": str(slot.folder / "data"),
            "run": str(slot.folder / "files" / "run"),
        }

    def _spec(self, slot: Slot, snapshot: str | None) -> processes.ProcessSpec:
        process = slot.environment.process
        # Ports are known only once the launcher holds them; it fills these marks.
        names = self._context(slot, {name: f"@PORT:{name}@" for name in process.ports})
        kept = None if snapshot is None else self._snapshot(slot.environment, snapshot)
        files = {
            _below(slot, path): str(render(text, names)) for path, text in process.files.items()
        }
        return processes.ProcessSpec(
            office=slot.office,
            service=slot.name,
            folder=slot.folder,
            argv=_texts(render(process.command, names)),
            ports=process.ports,
            env={key: str(value) for key, value in render(process.environment, names).items()},
            files=files,
            snapshot=kept,
            user=_UNPRIVILEGED if process.unprivileged and os.geteuid() == 0 else None,
            stop_signal=process.stop.signal,
            grace=process.stop.seconds,
            owner=slot.owner,
        )

    def _prepare(self, slot: Slot, spec: processes.ProcessSpec) -> None:
        """Fill the empty data folder: each command runs as the service itself would."""
        names = self._context(slot, {name: f"@PORT:{name}@" for name in spec.ports})
        for number, command in enumerate(slot.environment.process.prepare):
            handle = processes.start(replace(spec, argv=_texts(render(command, names))))
            try:
                _wait_for_end(slot, number, handle)
            finally:
                processes.stop(handle)

    def _wait(self, slot: Slot, handle: processes.Handle) -> None:
        health = slot.environment.health
        checks: list[HttpCheck | BannerCheck | TcpCheck] = []
        for check in health.checks:
            if check.path is not None:
                checks.append(HttpCheck(check.port, check.path, tuple(check.status)))
            elif check.banner is not None:
                checks.append(BannerCheck(check.port, check.banner.encode()))
            else:
                checks.append(TcpCheck(check.port))
        wait_healthy(
            checks,
            handle.ports,
            health.seconds,
            lambda: processes.death(handle),
            name=slot.name,
            log=lambda: processes.log_tail(slot.folder),
        )


def _texts(values: Sequence[Any]) -> list[str]:
    return [str(value) for value in values]


def _below(slot: Slot, path: str) -> str:
    """`data/...` lies in the data folder; everything else below the launcher's own files."""
    return str(slot.folder / path) if path.startswith("data/") else path


def _wait_for_end(slot: Slot, number: int, handle: processes.Handle) -> None:
    where = Where(str(slot.environment.file), field=f"process.prepare.{number}")
    deadline = time.monotonic() + _PREPARE_SECONDS
    while processes.death(handle) is None:
        if time.monotonic() > deadline:
            raise RunError(f"{where}: the command did not end within {_PREPARE_SECONDS} s")
        time.sleep(0.01)
    status = processes.status(slot.folder)
    if status is None or status.exit_code != 0:
        raise InputError(
            f"{slot.name}: a command of `prepare` failed: {processes.death(handle)}\n"
            + processes.log_tail(slot.folder, 8),
            where=where,
            remedy="run the command by hand to see why",
        )
