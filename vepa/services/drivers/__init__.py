"""The drivers: few and generic. Each is imported when an environment uses it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from vepa.errors import InputError, MissingExtraError
from vepa.services.drivers.base import Answer, Caller, Deadline, Driver, Endpoint, Unreachable

__all__ = [
    "DRIVERS",
    "Answer",
    "Caller",
    "Deadline",
    "Driver",
    "Endpoint",
    "Unreachable",
    "make_driver",
]

#: Name in YAML -> module and class.
DRIVERS = {
    "http": ("vepa.services.drivers.http", "HttpDriver"),
    "mail": ("vepa.services.drivers.mail", "MailDriver"),
    "caldav": ("vepa.services.drivers.caldav", "CaldavDriver"),
    "webdav": ("vepa.services.drivers.webdav", "WebdavDriver"),
    "sql": ("vepa.services.drivers.sql", "SqlDriver"),
}


def make_driver(name: str, settings: Mapping[str, Any], endpoint: Endpoint) -> Driver:
    """The driver of that name, for one service.

    Raises
    ------
    InputError
        When there is no such driver, or its settings are wrong.
    MissingExtraError
        When its client package is not installed.
    """
    if name not in DRIVERS:
        raise InputError(f"no driver {name!r}", remedy="one of " + ", ".join(DRIVERS))
    module, kind = DRIVERS[name]
    try:
        made: Driver = getattr(import_module(module), kind)(settings, endpoint)
    except ModuleNotFoundError as error:
        package = str(error.name)
        if package.startswith("vepa"):
            raise
        raise MissingExtraError(package, "services") from None
    return made
