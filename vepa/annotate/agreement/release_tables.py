"""Tables of drift, and of triggers against what people marked."""

from __future__ import annotations

from collections.abc import Sequence

from vepa.annotate.agreement.figures import Share
from vepa.annotate.agreement.records import Change, Drift, MarkedScore, PairDrift
from vepa.annotate.agreement.tables import NOTHING, Section, ends, percent, table_of, told, value

__all__ = ["drift_section", "marked_section"]

_FLAG = "beyond the interval"


def drift_section(drift: Drift) -> Section:
    """Then and now."""
    about = (
        f"{drift.items_then:,} contents then, {drift.items_now:,} now, {drift.items_both:,} in "
        f"both. Of {drift.judged_both:,} judgements of the same content by the same annotator, "
        f"{percent(drift.decision_changed)} have another decision now, "
        f"{percent(drift.triggers_changed)} another set of triggers, "
        f"{percent(drift.primary_changed)} another primary trigger."
    )
    if drift.reason:
        about = f"{about} {drift.reason[0].upper()}{drift.reason[1:]}."
    columns = ["said", "then", "now", "points", "95 % interval", "note"]
    tables = [
        table_of(
            "prevalence",
            "Share of steps",
            columns,
            [_change(each) for each in drift.prevalence],
            "said|note",
        )
    ]
    if drift.kappa:
        columns = ["annotators", "said", "then", "now", "change", "95 % interval", "note"]
        rows = [_moved(each) for each in drift.kappa]
        tables.append(table_of("kappa", "κ", columns, rows, "annotators|said|note"))
    return Section("Against the earlier labels", about, tables if drift.prevalence else [])


def _change(each: Change) -> tuple[object, ...]:
    change = each.change
    interval = NOTHING
    if change.low is not None and change.high is not None:
        interval = f"{_points(change.low)} to {_points(change.high)}"
    return (
        each.key,
        percent(each.then),
        percent(each.now),
        _points(change.value or 0.0),
        interval,
        _FLAG if each.flagged else "",
    )


def _points(share: float) -> str:
    text = f"{100 * share:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def _moved(each: PairDrift) -> tuple[object, ...]:
    note = _FLAG if each.flagged else told(each.change)
    return (
        f"{each.a} and {each.b}",
        each.key,
        value(each.then),
        value(each.now),
        value(each.change),
        ends(each.change),
        note,
    )


def marked_section(scores: Sequence[MarkedScore]) -> Section:
    """One row a reader."""
    rows = [
        (
            each.reader,
            ", ".join(each.origins) or NOTHING,
            f"{each.scored} of {len(each.logs)}",
            _share(each.hit),
            percent(each.by_chance),
            _share(each.first),
            _share(each.agent),
            f"{each.early} / {each.exact} / {each.late} / {each.silent}",
            NOTHING if each.median_distance is None else f"{each.median_distance:+g}",
            _share(each.precision),
        )
        for each in scores
    ]
    columns = [
        "reader",
        "origin",
        "logs scored",
        "marked step has a trigger",
        "by chance",
        "it is the first",
        "right agent first",
        "early / exact / late / silent",
        "median distance",
        "precision of triggers",
    ]
    return Section(
        "Against the steps that people marked",
        "Logs count in which the marked step is one of an agent and was judged. Distance: the "
        "first step with a trigger minus the marked one; below zero is early.",
        [table_of("marked", "Marked mistakes", columns, rows, "reader|origin")],
    )


def _share(share: Share) -> str:
    if share.value is None or share.low is None or share.high is None:
        return NOTHING
    ends_ = f"{100 * share.low:.0f} to {100 * share.high:.0f}"
    return f"{share.count} of {share.of} ({100 * share.value:.0f} %, {ends_})"
