"""Checks of the files that a Prefect server is set up with: deployments and automations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vepa.cli.findings import as_feedback
from vepa.errors import InputError, Where
from vepa.files import read_text
from vepa.policy.document import Document, parse_document
from vepa.policy.feedback import Feedback

__all__ = ["check_automations", "check_deployments"]

_PAGE = "docs/operations.md says what stands there"


def check_deployments(file: Path, _schemas: Any = None) -> list[Feedback]:
    """Prefect checks the rest when they are made; held here is that each leads to a flow."""
    document = parse_document(read_text(file), str(file))
    return [as_feedback(error) for error in _deployments(document, file)]


def check_automations(file: Path, _schemas: Any = None) -> list[Feedback]:
    """What every automation needs; the server checks its trigger."""
    document = parse_document(read_text(file), str(file))
    found = _entries(document, "automations")
    if isinstance(found, InputError):
        return [as_feedback(found)]
    return [
        as_feedback(_wrong(document, ("automations", at), f"`{key}` is missing"))
        for at, each in enumerate(found)
        for key in ("name", "trigger", "actions")
        if not each.get(key)
    ]


def _deployments(document: Document, file: Path) -> Iterator[InputError]:
    found = _entries(document, "deployments")
    if isinstance(found, InputError):
        yield found
        return
    for at, each in enumerate(found):
        place = ("deployments", at)
        for key in ("name", "entrypoint", "work_pool"):
            if not each.get(key):
                yield _wrong(document, place, f"`{key}` is missing")
        path, _, function = str(each.get("entrypoint", "")).partition(":")
        source = file.parent / path
        if not path:
            continue
        if not source.is_file():
            yield _wrong(document, (*place, "entrypoint"), f"no such file: {path}")
        elif not re.search(rf"^def {re.escape(function)}\(", read_text(source), re.MULTILINE):
            yield _wrong(document, (*place, "entrypoint"), f"{path} has no flow {function!r}")


def _entries(document: Document, key: str) -> list[dict[str, Any]] | InputError:
    data = document.data.get(key) if isinstance(document.data, dict) else None
    if isinstance(data, list) and all(isinstance(each, dict) for each in data):
        return data
    return _wrong(document, (key,), f"`{key}` is a list of mappings")


def _wrong(document: Document, place: tuple[str | int, ...], message: str) -> InputError:
    where = Where(document.file, document.line(place), ".".join(map(str, place)))
    return InputError(message, where=where, remedy=_PAGE)
