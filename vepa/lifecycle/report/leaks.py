"""What the leakage report of a release found, in a few words."""

from __future__ import annotations

import json
from dataclasses import dataclass

from vepa.lifecycle.report.reading import count, listed, many, table, text
from vepa.lifecycle.report.stages import Places
from vepa.release.layout import LEAKAGE

__all__ = ["Leaks", "leaks"]

#: What two splits may not share -> where the report counts it.
_SHARED = {
    "Tasks in two splits": ("tasks", "shared"),
    "Planted texts in two splits": ("planted", "shared"),
    "Nearly the same texts in two splits": ("near_duplicates", "pairs"),
}


@dataclass(frozen=True)
class Leaks:
    """A leakage report.

    Attributes
    ----------
    shared
        What two splits share, and how many of how many.
    findings
        Level and sentence, the gravest first.
    """

    shared: list[tuple[str, str]]
    findings: list[tuple[str, str]]

    @property
    def problems(self) -> list[str]:
        """Promises of a release that are broken."""
        return [told for level, told in self.findings if level == "problem"]


def leaks(places: Places) -> Leaks | None:
    """The leakage report of the release; None where there is none that can be read."""
    file = places.release(LEAKAGE)
    if file is None:
        return None
    try:
        report = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return None
    shared = []
    for words, (name, key) in _SHARED.items():
        found, of = (count(report, "overlap", name, each) for each in (key, "of"))
        if found is not None:
            shared.append((words, many(found) if of is None else f"{many(found)} of {many(of)}"))
    findings = [
        (text(each, "level") or "note", told)
        for each in listed(table(report), "findings")
        if (told := text(each, "text")) is not None
    ]
    return Leaks(shared, findings)
