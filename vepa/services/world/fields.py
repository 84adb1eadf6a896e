"""The forms that single values of the world must have.

Each function returns the value or raises `ValueError` with what is wrong, for pydantic to place.
"""

from __future__ import annotations

import re
from datetime import date, datetime

__all__ = ["MOMENT", "address", "canary", "day", "domain", "iban", "identifier", "moment", "words"]

#: How a moment is written.
MOMENT = "%Y-%m-%dT%H:%M:%SZ"

_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_DOMAIN = re.compile(r"([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+(test|example)")
_LOCAL = re.compile(r"[a-z0-9]+([._-][a-z0-9]+)*")
_IBAN = re.compile(r"[A-Z]{2}00TEST\d{10}")
_CANARY = re.compile(r"VEPA-SEED(-[A-Z0-9]{3,})+")


def identifier(text: str) -> str:
    """A short stable id."""
    if len(text) > 32 or not _ID.fullmatch(text):
        raise ValueError(f"{text!r} is not an id: lower-case letters, digits and single hyphens")
    return text


def domain(text: str) -> str:
    """A domain that cannot exist."""
    if not _DOMAIN.fullmatch(text):
        raise ValueError(f"{text!r} is not a domain that ends in .test or .example")
    return text


def address(text: str) -> str:
    """A plain mail address under such a domain."""
    local, _, host = text.partition("@")
    if not _LOCAL.fullmatch(local) or not _DOMAIN.fullmatch(host):
        raise ValueError(
            f"{text!r} is not a mail address like ada.example@company.test "
            "(lower case; the domain ends in .test or .example)"
        )
    return text


def iban(text: str) -> str:
    """An account number that no bank can have: check digits 00, and the word TEST."""
    if not _IBAN.fullmatch(text):
        raise ValueError(f"{text!r} is not an inert account number like DE00TEST0000000001")
    return text


def canary(text: str) -> str:
    """A credential that a scanner can tell from a real one."""
    if not _CANARY.fullmatch(text):
        raise ValueError(f"{text!r} is not a canary of the form VEPA-SEED-NAME-4HX2")
    return text


def day(text: str) -> str:
    """A calendar day."""
    try:
        if date.fromisoformat(text).isoformat() == text:
            return text
    except ValueError:
        pass
    raise ValueError(f'{text!r} is not a day like "2026-03-02"')


def moment(text: str) -> str:
    """A moment in UTC, to the second."""
    try:
        datetime.strptime(text, MOMENT)
    except ValueError:
        raise ValueError(f'{text!r} is not a moment like "2026-03-02T09:00:00Z"') from None
    return text


def words(text: str) -> str:
    """Some text on one line, without spaces around it."""
    if not text or text != text.strip() or not text.isprintable():
        raise ValueError("some text on one line belongs here, without spaces around it")
    return text
