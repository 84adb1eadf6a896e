"""The tables of a run: on the terminal, as JSON, as Markdown, and one line of history."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from benchmarks.suite.section import Section

__all__ = ["history_line", "markdown", "print_section", "to_json"]

_INTRODUCTION = (
    "# Benchmarks\n"
    "`python -m benchmarks.run` (`make verify` runs it too) measures all of this in one run, "
    "prints it and writes it to `artifacts/benchmarks/`. `--record` also rewrites this page and "
    "`benchmarks/results.json` and adds a line to `benchmarks/history.jsonl`; `--only "
    "single,batch` runs a part, `--tiny` checks in seconds that every part works and agrees, "
    "`--peer-seconds` stops the peers earlier. Every part first checks that all engines give the "
    "same answers. The parts are in `benchmarks/suite/`.\n"
)
#: Columns that are written another way on the page; the JSON keeps the numbers.
_UNITS = {
    "p50_us": "p50 µs",
    "p99_us": "p99 µs",
    "cpu_us": "cpu µs",
    "loop_us": "loop µs",
    "median_s": "median s",
    "longest_s": "longest s",
    "last_s": "last s",
    "total_s": "total s",
    "us_per_pair": "µs a pair",
    "events_per_s": "events/s",
}


def to_json(run: dict[str, Any], sections: Sequence[Section]) -> str:
    """Everything, for machines."""
    data = run | {"sections": {section.name: section.to_dict() for section in sections}}
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def history_line(run: dict[str, Any], sections: Sequence[Section]) -> str:
    """One line: when, where, and the figures behind the goals."""
    goals = {goal.what: goal.measured for section in sections for goal in section.goals}
    return json.dumps(run | {"goals": goals}, ensure_ascii=False) + "\n"


def markdown(run: dict[str, Any], sections: Sequence[Section]) -> str:
    """The page of a run."""
    parts = [_INTRODUCTION, _conditions(run)]
    goals = [goal for section in sections for goal in section.goals]
    if goals:
        parts.append("## Goals\n| what | goal | measured | met |\n|---|---|---|---|")
        parts[-1] += "".join(
            f"\n| {goal.what} | {goal.goal} | {goal.measured} | {'yes' if goal.met else 'no'} |"
            for goal in goals
        )
        parts[-1] += "\n"
    parts += [_section(section) for section in sections]
    return "\n".join(parts)


def print_section(section: Section) -> None:
    """The table on the terminal."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console = Console(width=max(console.width, 132))
    table = Table(title=section.title, title_justify="left")
    for name in section.rows[0]:
        numeric = any(isinstance(row[name], (int, float)) for row in section.rows)
        table.add_column(
            _UNITS.get(name, name.replace("_", " ")), justify="right" if numeric else "left"
        )
    for row in section.rows:
        table.add_row(*(_spell(value) for value in row.values()))
    console.print(table)
    for note in section.notes:
        console.print(f"  {note}", markup=False, highlight=False)
    for goal in section.goals:
        met = "met" if goal.met else "NOT MET"
        console.print(f"  {goal.what}: {goal.measured} (goal {goal.goal}): {met}", markup=False)


def _conditions(run: dict[str, Any]) -> str:
    machine = run["machine"]
    packages = ", ".join(f"{name} {number}" for name, number in machine["packages"].items())
    return (
        f"Run of {run['date']}: {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['memory_gib']} GiB, {machine['system']}, {machine['python']}; {packages}. "
        f"Load average {run['load_before']} before and {run['load_after']} after (this run alone "
        f"makes about 1): {run['quiet']}. {run['seconds']:,.0f} s in all.\n"
    )


def _section(section: Section) -> str:
    names = list(section.rows[0])
    lines = [f"## {section.title}"]
    lines.append(f"| {' | '.join(_UNITS.get(name, name.replace('_', ' ')) for name in names)} |")
    lines.append(f"|{'---|' * len(names)}")
    lines += [f"| {' | '.join(_spell(row[name]) for name in names)} |" for row in section.rows]
    lines += ["", *[f"- {note}" for note in section.notes], ""]
    return "\n".join(lines)


def _spell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
    return str(value)
