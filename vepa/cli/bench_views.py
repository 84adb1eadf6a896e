"""What `vepa bench run` shows of its figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vepa.cli.console import Output

__all__ = ["show"]

#: How a baseline is scored; see `vepa.bench.scores.score_baselines`.
_KINDS = ("covered", "full", "hybrid", "at_coverage")


def show(out: Output, document: Mapping[str, Any]) -> None:
    """Tables for people, one a file and view."""
    for name, figures in document.get("files", {"": document}).items():
        for view, shown in figures.get("views", {"": figures}).items():
            title = ", ".join(part for part in (name, view) if part)
            _show_figures(out, shown, title)
    if "lookup" not in document["config"]["baselines"]:
        out.text(
            "single-field look-ups were not asked for; --baselines lookup shows how far one field "
            "alone carries"
        )
    seeds = document["config"]["seeds"]
    told = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    out.text(f"{told}, {document['seconds']:.1f} s")


def _show_figures(out: Output, figures: Mapping[str, Any], title: str) -> None:
    from vepa.bench.comparison import FIGURES

    alone = len(figures["by_seed"]) == 1
    rows = [(name, _spread(figures[key], alone)) for key, name in FIGURES.items()]
    began = figures["start40"]
    rows.append(
        ("first 40 labels", f"coverage {began['coverage']:.3f}, covered F1 {began['f1']:.3f}")
    )
    by_round = " ".join(f"{value:.2f}" for value in figures["coverage_by_round"])
    rows.append(("coverage by round", by_round))
    rules = figures["rules"]
    rows.append(("rules", f"{rules['archive']:.1f}, {rules['active']:.1f} of them active"))
    if "wrong_feedback" in figures:
        rows.append(("wrong feedback, estimated", _spread(figures["wrong_feedback"], alone)))
    if "model" in figures:
        rows.append(("questions to the model", _model(figures["model"], len(figures["by_seed"]))))
    if "asked" in figures:
        rows.append(("questions of the baselines", _taken(figures["asked"])))
    if "gap" in figures:
        best = figures["baselines"]["lookup"]["field"]
        rows.append((f"above the look-up on {best}", _spread(figures["gap"], alone)))
    out.table(("figure", "mean ± sd"), rows, title=title or None)
    if "baselines" in figures:
        _show_baselines(out, figures, alone)


def _model(taken: Mapping[str, Any], seeds: int) -> str:
    told = _taken(taken)
    if taken["ended"]:
        told += f"; BUDGET USED UP in {taken['ended']} of {seeds} seeds, which went on without it"
    return told


def _taken(taken: Mapping[str, Any]) -> str:
    return (
        f"{taken['questions']:,}, {taken['kept']:,} of them answered before; "
        f"{taken['tokens']:,} tokens, {taken['dollars']:.4f} USD"
    )


def _show_baselines(out: Output, figures: Mapping[str, Any], alone: bool) -> None:
    from vepa.bench.comparison import method_name

    ours = (figures["covered_macro_f1"], figures["full_macro_f1"])
    rows = [("VEPA", *(_spread(figure, alone) for figure in ours), "", "")]
    for name, found in figures["baselines"].items():
        if name.startswith("lookup."):
            continue  # the best of them stands below them as `lookup`
        key = f"lookup.{found['field']}" if "field" in found else name
        rows.append((method_name(key), *(_spread(found[kind], alone) for kind in _KINDS)))
    heads = ("macro-F1", "where VEPA decides", "everywhere", "as its fallback", "surest, as many")
    out.table(heads, rows)


def _spread(value: Mapping[str, float], alone: bool) -> str:
    """Mean and deviation; one seed alone has no deviation."""
    return f"{value['mean']:.3f} ± {'–' if alone else format(value['sd'], '.3f')}"
