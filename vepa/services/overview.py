"""Offices from outside: which are up, how their services are, and taking them down."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

from vepa.errors import InputError
from vepa.services import records
from vepa.services.office import Office
from vepa.services.places import Places, places
from vepa.services.runtimes import RuntimeName, make_runtime

__all__ = [
    "OfficeView",
    "ServiceView",
    "look",
    "open_office",
    "service_views",
    "take_down",
]


@dataclass(frozen=True, slots=True)
class ServiceView:
    """How one service of an office is.

    Attributes
    ----------
    name
        Of the service.
    state
        `running`, `stopped` or `failed`.
    host, ports
        Where it listens; no host and no ports while it does not run.
    memory_mib
        Resident memory in MiB; None when unknown.
    written
        Whether it may differ from its seed by what is on record.
    reason
        Why it failed.
    """

    name: str
    state: Literal["running", "stopped", "failed"]
    host: str | None
    ports: dict[str, int]
    memory_mib: float | None
    written: bool
    reason: str


@dataclass(frozen=True, slots=True)
class OfficeView:
    """How an office is.

    Attributes
    ----------
    id, runtime
        Its name, and how its services run.
    services
        By name.
    problem
        Why nothing can be told of its services: a file that it was started from is gone.
    """

    id: str
    runtime: RuntimeName
    services: tuple[ServiceView, ...]
    problem: str = ""

    @property
    def healthy(self) -> bool:
        """Whether every service runs."""
        running = all(service.state == "running" for service in self.services)
        return running and not self.problem


def look(office_id: str | None = None, *, root: Places | None = None) -> list[OfficeView]:
    """How offices are: the named one, or all.

    Raises
    ------
    SettingError
        When the named one is not up.
    """
    root = root or places()
    if office_id is not None:
        return [_view(records.find_office(root, office_id), root)]
    return [_view(record, root) for record in records.offices(root)]


def open_office(office_id: str | None = None, *, root: Places | None = None) -> Office:
    """An office to look at: also one whose environment files have changed since it was started.

    Raises
    ------
    InputError
        When it is not up, or a file that it was started from is gone or wrong.
    """
    root = root or places()
    return Office.of_record(records.find_office(root, office_id), root)


def service_views(office: Office) -> tuple[ServiceView, ...]:
    """How the services of an office are, sorted by name."""
    written, names = office.unclean(), sorted(office.environments)
    with ThreadPoolExecutor(max_workers=len(names) or 1) as pool:
        conditions = list(pool.map(office.condition, names))
    return tuple(
        ServiceView(
            name,
            found.state,
            found.endpoint.host if found.endpoint else None,
            dict(found.endpoint.ports) if found.endpoint else {},
            None if found.memory is None else round(found.memory, 1),
            name in written,
            found.reason,
        )
        for name, found in zip(names, conditions, strict=True)
    )


def take_down(office_id: str | None = None, *, root: Places | None = None) -> str:
    """Stop an office and remove its folder; its id.

    An office whose files are gone or wrong goes down too, by its record alone.

    Parameters
    ----------
    office_id
        The office; the only one when left out.
    root
        Where offices are kept.

    Raises
    ------
    SettingError
        When it is not up, or several are and none was named.
    """
    root = root or places()
    record = records.find_office(root, office_id)
    try:
        Office.of_record(record, root).stop()  # all services at once
    except InputError:
        make_runtime(record.runtime, root).sweep([record.id])
        records.remove(root.office(record.id))
    return record.id


def _view(record: records.OfficeRecord, root: Places) -> OfficeView:
    try:
        office = Office.of_record(record, root)
        return OfficeView(record.id, record.runtime, service_views(office))
    except InputError as error:
        return OfficeView(record.id, record.runtime, (), problem=str(error))
