"""What the services of one office share at the container engine: network, labels, reaper.

Names and labels carry a mark of the cache folder (`root`), so that two caches on one engine never
touch each other's offices.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from vepa.errors import RunError
from vepa.files import sha256_of
from vepa.services.runtimes.base import Slot
from vepa.services.runtimes.docker_plan import NETWORK_OPTIONS
from vepa.services.runtimes.images import LABELS, connect
from vepa.services.runtimes.launcher import started

__all__ = ["Offices"]

_REAPER = Path(__file__).with_name("reaper.py")


class Offices:
    """The offices of one cache folder at the engine.

    Parameters
    ----------
    root
        The cache folder.
    """

    def __init__(self, root: Path):
        self.mark = sha256_of(str(root.resolve()))[:8]
        self._lock = threading.Lock()
        self._reapers: dict[str, subprocess.Popen[bytes]] = {}

    def container_name(self, slot: Slot) -> str:
        """Of the container of a service."""
        return f"vepa-{self.mark}-{slot.office}-{slot.name}"

    def network_name(self, office: str) -> str:
        """Of the private network of an office."""
        return f"vepa-{self.mark}-{office}"

    def labels(self, slot: Slot, content: str) -> dict[str, str]:
        """Of the container of a service."""
        return {
            LABELS["root"]: self.mark,
            LABELS["office"]: slot.office,
            LABELS["service"]: slot.name,
            LABELS["environment"]: slot.environment.name,
            LABELS["content"]: content,
        }

    def find(self, slot: Slot) -> Any:
        """The container of a service, or None."""
        from docker.errors import NotFound

        try:
            return connect().containers.get(self.container_name(slot))
        except NotFound:
            return None

    def containers(self, office: str | None = None) -> list[Any]:
        """All containers of an office, or of all offices; only their lists' entries are known."""
        listed: list[Any] = connect().containers.list(
            all=True, filters={"label": self._filter(office)}, sparse=True
        )
        return listed

    def open(self, slot: Slot) -> str:
        """Make sure that the office has its network and its reaper; the network's name.

        Raises
        ------
        RunError
            When the engine refuses a network.
        """
        with self._lock:
            self._watch(slot)
            return self._network(slot.office)

    def close(self, office: str) -> None:
        """Remove the network and the reaper of an office that has no container any more."""
        with self._lock:
            if self.containers(office):
                return
            self._remove_networks(office)
            reaper = self._reapers.pop(office, None)
            if reaper is not None:
                reaper.kill()
                reaper.wait()

    def sweep(self, office: str) -> list[str]:
        """Remove whatever is left of an office; what it was, in words."""
        swept = []
        for container in self.containers(office):
            with _already_gone():
                container.remove(force=True, v=True)
                name = container.attrs["Labels"].get(LABELS["service"], "?")
                swept.append(f"{office}: {name} (container {container.short_id})")
        self.close(office)
        return swept

    def known(self) -> set[str]:
        """Ids of the offices that have something at the engine."""
        networks = connect().networks.list(filters={"label": self._filter(None)})
        holders = [item.attrs.get("Labels") or {} for item in [*networks, *self.containers()]]
        return {labels[LABELS["office"]] for labels in holders if LABELS["office"] in labels}

    def _filter(self, office: str | None) -> list[str]:
        wanted = [f"{LABELS['root']}={self.mark}"]
        return [*wanted, f"{LABELS['office']}={office}"] if office is not None else wanted

    def _network(self, office: str) -> str:
        from docker.errors import APIError

        name = self.network_name(office)
        if not connect().networks.list(names=[f"^{name}$"]):
            try:
                connect().networks.create(
                    name,
                    driver="bridge",
                    labels={LABELS["root"]: self.mark, LABELS["office"]: office},
                    options=NETWORK_OPTIONS,
                )
            except APIError as error:
                raise RunError(
                    f"the network of office {office!r} cannot be made: {error.explanation}"
                ) from None
        return name

    def _remove_networks(self, office: str) -> None:
        for network in connect().networks.list(filters={"label": self._filter(office)}):
            with _already_gone():
                network.remove()

    def _watch(self, slot: Slot) -> None:
        """Start the process that outlives a killed owner."""
        if slot.owner is None or slot.office in self._reapers:
            return
        start = started(slot.owner) or 0
        argv = [sys.executable, "-I", str(_REAPER), str(slot.owner), str(start)]
        self._reapers[slot.office] = subprocess.Popen(
            [*argv, slot.office, self.mark],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )


@contextmanager
def _already_gone() -> Iterator[None]:
    """Somebody else may remove the same thing at the same time."""
    from docker.errors import APIError, NotFound

    with suppress(NotFound):
        try:
            yield
        except APIError as error:
            if error.status_code != 409 or "already in progress" not in str(error.explanation):
                raise
