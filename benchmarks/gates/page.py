"""Figures as Markdown, alone and inside docs/authority.md."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from benchmarks.suite.section import Goal, Section

__all__ = ["filled", "markdown", "to_json"]


def to_json(run: dict[str, Any], sections: Sequence[Section], goals: Sequence[Goal]) -> str:
    """Everything, for machines."""
    data = run | {
        "goals": [vars(goal) for goal in goals],
        "sections": {section.name: section.rows for section in sections},
    }
    return json.dumps(_rounded(data), indent=1, ensure_ascii=False) + "\n"


def markdown(sections: Sequence[Section], goals: Sequence[Goal]) -> str:
    """All tables, those of the goals first."""
    parts = ["## Goals", _goals(goals)]
    for section in sections:
        parts += [f"## {section.title}", _table(section)]
    return "\n".join(parts) + "\n"


def filled(page: str, sections: Sequence[Section], goals: Sequence[Goal]) -> str:
    """The page with its tables brought up to date.

    A table stands between `<!-- figures: NAME -->` and `<!-- end -->`; NAME `goals` are the goals,
    and a name that several sections begin with brings them all, with headings. A table without
    figures in this run stays as it is.
    """

    def table(found: re.Match[str]) -> str:
        name = found.group(1)
        named = [each for each in sections if each.name == name]
        chosen = named or [each for each in sections if each.name.startswith(f"{name} ")]
        if name == "goals" and goals:
            text = _goals(goals)
        elif named:
            text = _table(named[0])
        elif chosen:
            text = "\n".join(f"### {each.title}\n{_table(each)}" for each in chosen)
        else:
            return found.group()
        return f"<!-- figures: {name} -->\n{text}\n<!-- end -->"

    return re.sub(r"<!-- figures: ([^>]+?) -->\n.*?<!-- end -->", table, page, flags=re.DOTALL)


def _goals(goals: Sequence[Goal]) -> str:
    lines = ["| what | goal | measured | met |", "|---|---|---|---|"]
    lines += [
        f"| {goal.what} | {goal.goal} | {goal.measured} | {'yes' if goal.met else '**no**'} |"
        for goal in goals
    ]
    return "\n".join(lines)


def _table(section: Section) -> str:
    names = list(section.rows[0])
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    lines += [f"| {' | '.join(_spell(row[name]) for name in names)} |" for row in section.rows]
    return "\n".join(lines)


def _spell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list) else value
