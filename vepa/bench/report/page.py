"""The report of a run: one HTML page that needs no network, no script and no other file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vepa.bench import metrics
from vepa.bench.comparison import counted, errors_by_kind, standing
from vepa.bench.report import charts
from vepa.bench.report.charts import Line
from vepa.bench.report.data import (
    Method,
    ReportData,
    gather,
    rule_rows,
    wrong_rows,
)
from vepa.bench.report.edits import edit_rows
from vepa.bench.report.evidence import gate_words
from vepa.bench.report.lineage import lanes
from vepa.bench.report.round_log import round_log
from vepa.bench.runs.run import Run
from vepa.bench.scores import Answers
from vepa.errors import MissingExtraError
from vepa.policy.matching import ABSTAIN

__all__ = ["render", "report"]

#: Where the axis of a score may begin; five steps from there to 1 are round numbers.
_FLOORS = (0.0, 0.5, 0.75, 0.8, 0.9, 0.95)
#: Wrong decisions listed at most.
_WRONG = 200


def report(run: Run, others: Mapping[str, Answers], summary: Mapping[str, Any]) -> str:
    """The page of a run whose rounds and baselines are done.

    Parameters
    ----------
    run
        The run.
    others
        Baseline -> what it answered.
    summary
        The run's figures.
    """
    data = gather(run, others)
    rules = rule_rows(data)
    most = max((row["support"] + row["contradictions"] for row in rules), default=1)
    for row in rules:
        row["bar"] = charts.evidence_bar(
            row["support"],
            row["contradictions"],
            most,
            **{name: row[name] for name in ("reached", "asked", "weighed", "active")},
        )
    shown = _shown(data)
    wrong = wrong_rows(data, _WRONG)
    return render(
        {
            "run": run,
            "summary": summary,
            "covered": int(data.covered.sum()),
            "wrong_total": int((data.covered & (data.vepa.verdicts != data.truth)).sum()),
            "wrong": wrong,
            "rules": rules,
            "methods": _method_rows(data, shown),
            "lookups": _lookup_rows(data),
            "rounds": [
                {**row, "confusion": figures["confusion"]}
                for row, figures in zip(_round_rows(data), summary["rounds"], strict=True)
            ],
            "log": round_log(data.policies, data.records, data.deciding),
            "edits": edit_rows(run),
            "errors": errors_by_kind(summary["confusion"]),
            "standing": standing(summary),
            "gate": gate_words(run.gate, data.wrong_feedback[-1]),
            "mode": run.gate.name,
            "wrong_feedback": data.wrong_feedback[-1],
            "end": _end(data),
            "charts": _charts(data, shown),
            "risk": _risk_rows(data, shown),
            "final": data.policies[-1],
        }
    )


def render(context: Mapping[str, Any]) -> str:
    """Fill the template; every value is escaped."""
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("jinja2", "pipeline") from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["percent"] = lambda value: f"{100 * value:.1f} %"
    environment.filters["share"] = lambda value: f"{100 * value:g} %"
    environment.filters["counted"] = counted
    environment.filters["score"] = lambda value: f"{value:.3f}"
    return environment.get_template("report.html.j2").render(context)


def _shown(data: ReportData) -> list[Method]:
    """The baselines that get a curve: all but the look-ups, and the best of those."""
    lookups = [method for method in data.others if method.key.startswith("lookup.")]
    shown = [method for method in data.others if method not in lookups]
    if lookups:
        shown.append(max(lookups, key=lambda found: (_scores(data, found)["covered"], found.key)))
    return shown


def _scores(data: ReportData, method: Method) -> dict[str, float]:
    keep = data.covered
    return {
        "covered": metrics.macro_f1(data.truth[keep], method.verdicts[keep]),
        "full": metrics.macro_f1(data.truth, method.verdicts),
        "coverage": metrics.coverage(method.verdicts),
    }


def _style(key: str) -> str:
    return key.split(".", maxsplit=1)[0].replace("_", "-")


def _method_rows(data: ReportData, shown: Sequence[Method]) -> list[dict[str, Any]]:
    return [
        {"name": method.name, "style": _style(method.key), **_scores(data, method)}
        for method in (data.vepa, *shown)
    ]


def _lookup_rows(data: ReportData) -> list[dict[str, Any]]:
    rows = [
        {"field": method.key.removeprefix("lookup."), **_scores(data, method)}
        for method in data.others
        if method.key.startswith("lookup.")
    ]
    return sorted(rows, key=lambda row: (-row["covered"], row["field"]))


def _round_rows(data: ReportData) -> list[dict[str, Any]]:
    covered = data.curve(data.vepa, covered=True)
    full = data.curve(data.vepa, covered=False)
    rows = []
    for number in range(1, data.rounds + 1):
        right, wrong, abstained = data.outcome(number)
        policy = data.policies[number]
        rows.append(
            {
                "number": number,
                "events": right + wrong + abstained,
                "right": right,
                "wrong": wrong,
                "abstained": abstained,
                "coverage": (right + wrong) / max(right + wrong + abstained, 1),
                "covered": covered[number - 1][1],
                "full": full[number - 1][1],
                "archive": len(policy),
                "active": len(policy.active),
                "wrong_feedback": data.wrong_feedback[number - 1],
            }
        )
    return rows


def _risk_rows(data: ReportData, shown: Sequence[Method]) -> list[dict[str, Any]]:
    return [
        {
            "name": method.name,
            "style": _style(method.key),
            "curve": method.answers.curve(),
        }
        for method in (data.vepa, *shown)
    ]


def _end(data: ReportData) -> dict[str, float] | None:
    """Coverage and risk of all that the policy decided; None when it decided nothing."""
    decided = data.covered
    if not decided.any():
        return None
    wrong = data.vepa.verdicts[decided] != data.truth[decided]
    return {"coverage": float(decided.mean()), "risk": float(wrong.mean())}


def _charts(data: ReportData, shown: Sequence[Method]) -> dict[str, Any]:
    rows = _round_rows(data)
    ends = ", ".join(f"{row['name']} {row['covered']:.3f}" for row in _method_rows(data, shown))
    full = ", ".join(f"{row['name']} {row['full']:.3f}" for row in _method_rows(data, shown))
    history = lanes(data.policies, data.changes)
    return {
        "covered": _learning(
            "Macro-F1 on covered events, all rounds so far",
            f"At the end: {ends}.",
            data,
            shown,
            covered=True,
        ),
        "full": _learning(
            "Macro-F1 on all events, all rounds so far",
            f"At the end: {full}.",
            data,
            shown,
            covered=False,
        ),
        "outcomes": charts.outcomes(
            "Decisions by round",
            "Stacked: right, wrong and abstained events of every round.",
            [(row["number"], row["right"], row["wrong"], row["abstained"]) for row in rows],
        ),
        "growth": charts.growth(
            "Rules by round",
            "Verified rules after every round; the filled part is active.",
            [(row["number"], row["archive"], row["active"]) for row in rows],
        ),
        "risk": _risk_chart(data, shown),
        "wrong_feedback": _wrong_feedback(data),
        "lineage": charts.lineage(
            "The life of every rule",
            f"{len(history)} rules as lanes over {data.rounds} rounds; lines lead from the rules "
            "that a patch took out to those that it put in.",
            history,
            data.rounds,
        )
        if history
        else "",
    }


def _learning(
    title: str, description: str, data: ReportData, shown: Sequence[Method], *, covered: bool
) -> Any:
    series = [
        Line(method.name, _style(method.key), data.curve(method, covered=covered))
        for method in (data.vepa, *shown)
    ]
    lowest = min((y for line in series for _, y in line.points if y is not None), default=0.0)
    return charts.lines(
        title,
        description,
        series,
        x_ticks=_round_ticks(data.rounds),
        x_label="round",
        y_range=(max(floor for floor in _FLOORS if floor <= lowest), 1.0),
    )


def _wrong_feedback(data: ReportData) -> Any:
    """The estimated share of wrong feedback by round; nothing where a mode estimates none."""
    points = list(enumerate(data.wrong_feedback, 1))
    known = [share for _, share in points if share is not None]
    if not known:
        return ""
    return charts.lines(
        "Estimated share of wrong feedback, by round",
        f"After the last round: {100 * known[-1]:.1f} %.",
        [Line("estimate", "vepa", [(float(at), share) for at, share in points])],
        x_ticks=_round_ticks(data.rounds),
        x_label="round",
        y_range=(0.0, max(np.ceil(max(known) * 20) / 20, 0.05)),
        unit="percent",
    )


def _risk_chart(data: ReportData, shown: Sequence[Method]) -> Any:
    series = [
        Line(
            row["name"],
            row["style"],
            [(100 * point["coverage"], point["risk"]) for point in row["curve"]],
        )
        for row in _risk_rows(data, shown)
    ]
    end = _end(data)
    if end:  # the curve is sampled; where it really ends lies between two samples
        sampled = [point for point in series[0].points if point[0] < 100 * end["coverage"]]
        ours = [*sampled, (100 * end["coverage"], end["risk"])]
        series[0] = replace(series[0], points=ours)
    highest = max((y for line in series for _, y in line.points if y is not None), default=0.1)
    decided = int((data.vepa.verdicts != ABSTAIN).sum())
    return charts.lines(
        "Risk by coverage",
        "Share of wrong decisions when each method decides only what it is surest of; VEPA "
        f"decides {decided} of {len(data.truth)} events.",
        series,
        x_ticks=[(0, ""), (25, "25 %"), (50, "50 %"), (75, "75 %"), (100, "100 %")],
        x_label="coverage",
        y_range=(0.0, max(np.ceil(highest * 20) / 20, 0.05)),
        unit="percent",
    )


def _round_ticks(rounds: int) -> list[tuple[float, str]]:
    if rounds == 1:
        return [(1.0, "1")]
    every = max(1, -(-rounds // 12))
    ticks = [(float(n), str(n)) for n in range(1, rounds + 1, every)]
    if ticks[-1][0] != rounds:  # the axis ends with the last round
        ticks[-1] = (float(rounds), str(rounds))
    return ticks
