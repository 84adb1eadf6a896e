"""The tables of `python -m benchmarks.authority`, and what they say about its goals."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from benchmarks.gates import badrules, learners, trials
from benchmarks.gates.store import Spec
from benchmarks.suite.section import Section
from vepa.bench.comparison import method_name

__all__ = ["Found", "grouped", "sections"]

#: Specs with their figures.
Found = Sequence[tuple[Spec, Mapping[str, Any]]]
Group = list[Mapping[str, Any]]


def grouped(found: Found, *names: str) -> dict[tuple[Any, ...], Group]:
    """Figures by what their specs say under `names`."""
    groups: dict[tuple[Any, ...], Group] = {}
    for spec, figures in found:
        groups.setdefault(tuple(spec.get(name, "") for name in names), []).append(figures)
    return groups


def mean(group: Iterable[Mapping[str, Any]], name: str) -> float:
    """Mean of a figure over seeds."""
    return statistics.fmean(each[name] for each in group)


def sections(found: Mapping[str, Found]) -> list[Section]:
    """One table a part, and one for every stream at every rate of flips under `modes`."""
    made: list[Section] = []
    for part, build in _BUILDERS.items():
        if found.get(part):
            made += build(found[part])
    return made


def _modes(found: Found) -> list[Section]:
    made = []
    for (stream, view, flip), cell in _cells(found).items():
        by_mode = grouped(cell, "mode")
        rows = [
            {"mode": mode, **_figures(by_mode[(mode,)])}
            for mode in trials.MODES
            if (mode,) in by_mode
        ]
        title = f"{stream}, {view} view, {flip:.0%} wrong feedback".replace("%", " %")
        made.append(Section(f"modes {stream} {view} {flip}", title, rows))
    return made


def _figures(group: Group) -> dict[str, Any]:
    f1 = [each["covered_macro_f1"] for each in group]
    return {
        "covered F1": statistics.fmean(f1),
        "sd": _spread(f1),
        "final coverage": mean(group, "final_coverage"),
        "sd ": _spread([each["final_coverage"] for each in group]),
        "mean coverage": mean(group, "mean_coverage"),
        "start40 coverage": mean(group, "start_coverage"),
        "start40 F1": mean(group, "start_f1"),
        "regression rate": mean(group, "regression_rate"),
        "adaptation F1": mean(group, "adaptation_f1"),
        "unsafe allowed": mean(group, "unsafe_allowed"),
        "rules": mean(group, "rules"),
    }


def _rates(found: Found) -> list[Section]:
    wanted = [(spec, figures) for spec, figures in found if spec["mode"] == "noise-aware"]
    rows = []
    for (stream, view, flip), cell in sorted(_cells(wanted).items(), reverse=True):
        group = [figures for _, figures in cell]
        told = [each["wrong_feedback"] for each in group]
        rows.append(
            {
                "stream": stream,
                "view": view,
                "flips": flip,
                "wrong indeed": mean(group, "wrong"),
                "estimated": statistics.fmean(told),
                "sd": _spread(told),
                "error of the mean": statistics.fmean(told) - flip,
                "mean error of a seed": statistics.fmean(
                    abs(each["wrong_feedback"] - each["wrong"]) for each in group
                ),
            }
        )
    return [Section("rates", "The share of wrong feedback after ten rounds", rows)]


def _fresh(found: Found) -> list[Section]:
    rows = []
    for (stream, view, flip), cell in _cells(found).items():
        for mode in ("paper", "noise-aware"):
            parted = {"0-9": [], "10-29": []}  # type: dict[str, Group]
            for spec, figures in cell:
                if spec["mode"] == mode:
                    parted["0-9" if spec["seed"] < 10 else "10-29"].append(figures)
            for seeds, group in parted.items():
                if group:
                    head = {"stream": stream, "view": view, "flips": flip, "mode": mode}
                    rows.append(head | {"seeds": seeds} | _figures(group))
    return [Section("fresh seeds", "Fresh seeds beside those that constants were chosen on", rows)]


def _beside(found: Found) -> list[Section]:
    covered, hybrid = [], []
    for (stream, view, flip), group in grouped(found, "stream", "view", "flip").items():
        head = {"stream": stream, "view": view, "flips": flip}
        for name in learners.LEARNERS:
            both = learners.compare(group, name)
            row = head | {"learner": method_name(name)}
            covered.append(row | _interval(both["covered"]))
            if name == "forest":
                hybrid.append(head | _interval(both["hybrid"]))
    return [
        Section("learners", "Beside learners, on the events that VEPA decided", covered),
        Section("hybrid", "VEPA with the forest where it abstains, and the forest alone", hybrid),
    ]


def _interval(found: Mapping[str, float]) -> dict[str, float]:
    names = {"ours": "ours", "theirs": "theirs", "difference": "difference"}
    return {told: found[name] for name, told in names.items()} | {
        "low": found["low"],
        "high": found["high"],
    }


def _random(found: Found) -> list[Section]:
    rows = []
    for (stream, flip), group in grouped(found, "stream", "flip").items():
        for band in badrules.BANDS:
            row: dict[str, Any] = {"stream": stream, "flips": flip, "true precision": band}
            for how in ("events", "examples"):
                rules, *active = (sum(each[how][band][at] for each in group) for at in range(3))
                suffix = "" if how == "events" else " (examples)"
                row["rules" + suffix] = rules
                for gate, count in zip(badrules.GATES, active, strict=True):
                    row[gate + suffix] = count / rules if rules else None
            rows.append(row)
    return [Section("random rules", "Random rules: the share that becomes active", rows)]


def _planted(found: Found) -> list[Section]:
    rows = []
    for (stream, flip), group in grouped(found, "stream", "flip").items():
        row: dict[str, Any] = {
            "stream": stream,
            "flips": flip,
            "regions": sum(each["regions"] for each in group),
        }
        for kind in ("wrong", "right"):
            counts = [sum(each[kind][at] for each in group) for at in range(3)]
            row[f"{kind} rules"] = counts[0]
            for gate, count in zip(badrules.GATES, counts[1:], strict=True):
                row[f"{kind}, {gate}"] = count
        rows.append(row)
    return [Section("planted regions", "Planted regions: rules that become active", rows)]


def _left_out(found: Found) -> list[Section]:
    rows = []
    for (stream, flip, mode, part), group in grouped(
        found, "stream", "flip", "mode", "without"
    ).items():
        head = {"stream": stream, "flips": flip, "mode": mode, "without": part or "nothing"}
        rows.append(head | _figures(group))
    rows.sort(key=lambda row: (row["stream"], row["flips"], row["mode"]))
    return [Section("parts left out", "The learner with one part left out", rows)]


def _speed(found: Found) -> list[Section]:
    rows = [{"mode": spec["mode"], "flips": spec["flip"], **figures} for spec, figures in found]
    return [Section("speed", "Seconds of processor time an update takes", rows)]


def _cells(found: Found) -> dict[tuple[str, str, float], Found]:
    cells: dict[tuple[str, str, float], list[tuple[Spec, Mapping[str, Any]]]] = {}
    for spec, figures in found:
        key = (spec["stream"], spec["view"], spec["flip"])
        cells.setdefault(key, []).append((spec, figures))
    order = sorted(cells, key=lambda key: (key[0] == "R-Judge", key[1] != "full", key[2]))
    return {key: cells[key] for key in order}


def _spread(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


_BUILDERS: Mapping[str, Callable[[Found], list[Section]]] = {
    "modes": _modes,
    "rates": _rates,
    "fresh seeds": _fresh,
    "ATBench": _modes,
    "learners": _beside,
    "random rules": _random,
    "planted regions": _planted,
    "parts left out": _left_out,
    "speed": _speed,
}
