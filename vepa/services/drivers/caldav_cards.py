"""Contacts as plain data, and plain data as vCards (RFC 2426, the few fields of an office)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["read", "written"]

#: Field -> property of a vCard; each once.
_FIELDS = {
    "id": "UID",
    "name": "FN",
    "organization": "ORG",
    "title": "TITLE",
    "mail": "EMAIL",
    "phone": "TEL",
    "note": "NOTE",
}
_ESCAPES = {"\\": "\\\\", "\n": "\\n", ",": "\\,", ";": "\\;"}
_LINE_OCTETS = 75


def read(text: str, book: str) -> dict[str, Any]:
    """One contact of a vCard text; fields that it has not are empty."""
    values: dict[str, str] = {}
    for line in re.sub(r"\r?\n[ \t]", "", text).splitlines():
        name, colon, value = line.partition(":")
        word = name.partition(";")[0].upper()
        if colon and word not in values:
            values[word] = re.sub(r"\\(.)", _unescape, value)
    entry = {field: values.get(word, "") for field, word in _FIELDS.items()}
    return {"id": entry.pop("id"), "book": book, **entry}


def written(fields: Mapping[str, Any]) -> str:
    """The vCard text of a contact; unknown fields are left out."""
    family = str(fields["name"]).rpartition(" ")
    lines = ["BEGIN:VCARD", "VERSION:3.0", f"N:{_escaped(family[2])};{_escaped(family[0])};;;"]
    for field, word in _FIELDS.items():
        value = fields.get(field)
        if value:
            lines.append(f"{word}:{_escaped(str(value))}")
    lines.append("END:VCARD")
    return "".join(f"{_folded(line)}\r\n" for line in lines)


def _escaped(text: str) -> str:
    plain = "\n".join(text.splitlines())
    return "".join(_ESCAPES.get(sign, sign) for sign in plain)


def _unescape(match: re.Match[str]) -> str:
    return "\n" if match[1] in "nN" else match[1]


def _folded(line: str) -> str:
    """A line cut as vCards ask, never inside a character."""
    parts, part, size = [], "", 0
    for sign in line:
        octets = len(sign.encode())
        if size + octets > _LINE_OCTETS - 1:
            parts.append(part)
            part, size = "", 0
        part += sign
        size += octets
    return "\r\n ".join([*parts, part])
