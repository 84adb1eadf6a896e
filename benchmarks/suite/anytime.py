"""The tables of docs/anytime.md, from the figures of `benchmarks.anytime`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["tables"]

NONE = "-"


def tables(parts: Mapping[str, Any]) -> str:
    """Markdown of every part that was measured."""
    loops = [value for key, value in sorted(parts.items()) if key.startswith("loop/")]
    data = [value for key, value in sorted(parts.items()) if key.startswith("data/")]
    made = [_counts(parts["counts"])] if "counts" in parts else []
    if loops:
        made += [_errors(loops), _bands(loops), _gains(loops)]
    if data:
        made.append(_price(data))
    return "\n\n".join(made) + "\n"


def _counts(rows: Sequence[Mapping[str, Any]]) -> str:
    return _table(
        ("mode", "labels", "precision", "ever active, drawn", "95 % interval", "exact", "median"),
        (
            (
                row["mode"],
                f"{row['looks']:,}",
                f"{row['precision']:.2f}",
                _percent(row["share"]),
                _ends(row["interval"]),
                _percent(row["exact"]),
                NONE if row["labels"] is None else f"{row['labels']:.0f}",
            )
            for row in rows
        ),
    )


def _errors(loops: Sequence[Mapping[str, Any]]) -> str:
    return _table(
        ("search", "judged by", "bad rules", "95 % interval", "runs with one", "95 % interval"),
        (
            (
                run["mode"],
                found["judge"],
                *_hits(found["bad"]),
                *_hits(found["runs_with_bad"]),
            )
            for run in loops
            for found in run["judged"]
        ),
    )


def _bands(loops: Sequence[Mapping[str, Any]]) -> str:
    names = list(loops[0]["judged"][0]["bands"])
    return _table(
        ("search", "judged by", *names),
        (
            (run["mode"], found["judge"], *(_hits(found["bands"][name])[0] for name in names))
            for run in loops
            for found in run["judged"]
        ),
    )


def _gains(loops: Sequence[Mapping[str, Any]]) -> str:
    head = ("search", "judged by", "runs", "labels to half", "good half decided", "all decided")
    return _table(
        (*head, "wrong of them", "good rules active", "rounds to authority"),
        (
            (
                run["mode"],
                found["judge"],
                str(found["runs_with_bad"]["of"]),
                f"{found['labels_to_half']:.0f}" + _never(found["never_half"]),
                _percent(found["calm"]),
                _percent(found["coverage"]),
                _percent(found["wrong"]),
                _hits(found["good"])[0],
                NONE if found["rounds_to_authority"] is None else str(found["rounds_to_authority"]),
            )
            for run in loops
            for found in run["judged"]
        ),
    )


def _never(runs: int) -> str:
    return f" ({runs} never)" if runs else ""


def _price(rows: Sequence[Mapping[str, Any]]) -> str:
    return _table(
        ("events", "wrong feedback", "mode", "final coverage", "covered macro-F1"),
        (
            (
                row["events"],
                _percent(row["flip"]),
                row["mode"],
                f"{row['final_coverage']:.3f}",
                f"{row['covered_macro_f1']:.3f}",
            )
            for row in rows
        ),
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _hits(found: Mapping[str, Any]) -> tuple[str, str]:
    return f"{found['active']} of {found['of']}", _ends(found["interval"])


def _ends(interval: Sequence[float] | None) -> str:
    return NONE if interval is None else f"{100 * interval[0]:.1f} to {100 * interval[1]:.1f} %"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
