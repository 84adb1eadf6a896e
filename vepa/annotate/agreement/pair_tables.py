"""Tables of two annotators, and of all at once."""

from __future__ import annotations

from vepa.annotate.agreement.figures import Binary, Estimate, Nominal, Overall, Pair
from vepa.annotate.agreement.kappa import FEW
from vepa.annotate.agreement.tables import (
    NOTHING,
    Section,
    Table,
    digits,
    ends,
    percent,
    table_of,
    told,
    value,
)

__all__ = ["overall_section", "pair_tables"]

_NOMINAL = {
    "primary": "κ of the primary trigger",
    "primary_where_both": "κ of it, where both set one",
    "risk_source": "κ of the risk source, likewise",
    "harm": "κ of the harm, likewise",
    "severity": "κ of the severity, likewise",
}


def pair_tables(pair: Pair) -> list[Table]:
    """At a glance, triggers, and where they are there services and risk sources."""
    found = [_overview(pair), _triggers(pair)]
    if pair.services:
        found.append(_services(pair))
    if pair.sources:
        found.append(_sources(pair))
    return found


def _overview(pair: Pair) -> Table:
    step, decision = pair.per_step, pair.decision
    rows: list[tuple[object, ...]] = [
        _line("κ of the decision", pair.items, decision.kappa, value(step.kappa)),
        _line("raw agreement", pair.items, decision.raw, digits(step.raw)),
        _line("agreement on what is refused", decision.both, decision.positive),
        _line("agreement on what is allowed", decision.neither, decision.negative),
        _line(
            "α of the set of triggers (MASI)", pair.items, pair.alpha_sets, value(step.alpha_sets)
        ),
        _line("α of the decision", pair.items, pair.alpha_decision),
        *(_named(each) for each in pair.nominal),
    ]
    columns = ["figure", "contents", "value", "95 % interval", "per step", "note"]
    return table_of("overview", "At a glance", columns, rows, "figure|note")


def _line(name: str, items: int, figure: Estimate, step: str = "") -> tuple[object, ...]:
    return name, items, value(figure), ends(figure), step, told(figure)


def _named(each: Nominal) -> tuple[object, ...]:
    return _line(_NOMINAL[each.key], each.items, each.kappa)


def _triggers(pair: Pair) -> Table:
    rows = [
        (
            *_said(each),
            *_kappa(each),
            value(each.positive),
            value(each.raw),
            _step(pair.per_step.kappa_triggers[each.key]),
            _remark(each),
        )
        for each in pair.triggers
    ]
    columns = [
        "trigger",
        *_columns(pair),
        "κ",
        "95 % interval",
        "positive",
        "raw",
        "κ per step",
        "note",
    ]
    return table_of("triggers", "Each trigger", columns, rows, "trigger|note")


def _step(kappa: float | None) -> str:
    return NOTHING if kappa is None else digits(kappa)


def _columns(pair: Pair) -> list[str]:
    return ["both", f"only {pair.a}", f"only {pair.b}", "neither", "prevalence"]


def _said(each: Binary, name: str | None = None) -> tuple[object, ...]:
    shares = f"{percent(each.prevalence_a)} / {percent(each.prevalence_b)}"
    return name or each.key, each.both, each.only_a, each.only_b, each.neither, shares


def _kappa(each: Binary) -> tuple[str, str]:
    return value(each.kappa), ends(each.kappa)


def _remark(each: Binary) -> str:
    parts = [f"unstable: fewer than {FEW}"] if each.unstable else []
    return "; ".join([*parts, *filter(None, [told(each.kappa)])])


def _services(pair: Pair) -> Table:
    rows = [
        (
            *_said(each.decision, each.service),
            *_kappa(each.decision),
            value(each.alpha_sets),
            ends(each.alpha_sets),
            _remark(each.decision),
        )
        for each in pair.services
    ]
    columns = ["service", *_columns(pair), "κ", "95 % interval", "α of sets", "95 % of α", "note"]
    return table_of("services", "Refused, by service", columns, rows, "service|note")


def _sources(pair: Pair) -> Table:
    rows = [
        (
            *_said(each.named),
            *_kappa(each.named),
            each.either,
            value(each.same_decision),
            _remark(each.named),
        )
        for each in pair.sources
    ]
    columns = ["risk source", *_columns(pair), "κ", "95 % interval", "either", "same decision"]
    return table_of("sources", "Risk sources", [*columns, "note"], rows, "risk source|note")


def overall_section(overall: Overall) -> Section:
    """α over more than two annotators."""
    rows = [
        _line("α of the set of triggers (MASI)", overall.items, overall.alpha_sets),
        _line("α of the decision", overall.items, overall.alpha_decision),
    ]
    columns = ["figure", "contents", "value", "95 % interval", "per step", "note"]
    names = ", ".join(overall.annotators)
    return Section(
        "All annotators at once",
        f"Contents that at least two of {names} judged.",
        [table_of("overall", "α", columns, rows, "figure|note")],
    )
