"""Figures of an annotation: what a summary, a report and an artifact show."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from vepa.annotate.agreement import Agreement
from vepa.annotate.settling import Settlement
from vepa.llm.ledger import Totals

__all__ = [
    "agreement_figures",
    "agreement_rows",
    "cost_figures",
    "cost_markdown",
    "pretty",
    "queue_markdown",
    "settled_figures",
]


def agreement_figures(measured: Agreement) -> dict[str, Any]:
    """Of an agreement what a summary shows."""
    pairs = []
    for pair in measured.pairs:
        decision = pair.decision
        pairs.append(
            {
                "a": pair.a,
                "b": pair.b,
                "items": pair.items,
                "decision": decision.kappa.model_dump(),
                "triggers": {each.key: each.kappa.model_dump() for each in pair.triggers},
            }
        )
    return {"heading": measured.heading, "pairs": pairs}


def queue_markdown(figures: Mapping[str, Any]) -> str:
    """The queue as Markdown."""
    queue = figures["queue"]
    by = ", ".join(f"{who}: {count}" for who, count in queue["by"].items()) or "nobody"
    return (
        f"# Arbitration queue\n\n- {queue['open']} of {queue['total']} disputes are open\n"
        f"- settled by {by}\n- {figures['settled']['steps']} of {figures['labels']['steps']} "
        "steps have a label that stands\n"
    )


def cost_markdown(figures: Mapping[str, Any]) -> str:
    """What annotation cost so far, as Markdown."""
    lines = [
        f"- {purpose}: {each['questions']:,} questions, {each['prompt']:,} tokens read, "
        f"{each['completion']:,} written, "
        + ("price not known" if each["unpriced"] else f"{each['dollars']:.4f} US dollars")
        for purpose, each in figures["cost"].items()
    ]
    return "\n".join(["# Cost of annotation", "", *lines, ""])


def agreement_rows(figures: Mapping[str, Any]) -> list[dict[str, Any]]:
    """κ as a table: the decision first, then a row a trigger; empty where there is no κ."""
    rows = []
    for pair in figures["pairs"]:
        for key, kappa in (("decision", pair["decision"]), *pair["triggers"].items()):
            rows.append(
                {
                    "annotators": f"{pair['a']}, {pair['b']}",
                    "what": key,
                    "kappa": _rounded(kappa["value"]),
                    "low": _rounded(kappa["low"]),
                    "high": _rounded(kappa["high"]),
                }
            )
    return rows


def settled_figures(settlement: Settlement, triggers: Sequence[str]) -> dict[str, Any]:
    """How many labels stand, how they came to, and what they say.

    Parameters
    ----------
    settlement
        What stands.
    triggers
        Keys of the taxonomy, in order.
    """
    labels = settlement.settled
    said = Counter(key for label in labels for key in label.judgement.triggers)
    first = Counter(label.judgement.primary for label in labels)
    return {
        "steps": len(labels),
        "open": sum(len(each.steps) for each in settlement.open),
        "unjudged": sum(len(each.steps) for each in settlement.unjudged),
        "refuse": sum(label.judgement.decision == "refuse" for label in labels),
        "how": dict(sorted(Counter(label.how for label in labels).items())),
        "origins": dict(sorted(Counter(label.origin for label in labels).items())),
        "triggers": {key: said[key] for key in triggers},
        "primary": {key: first[key] for key in triggers},
    }


def cost_figures(totals: Mapping[str, Totals]) -> dict[str, Any]:
    """Purpose -> what it took, of all runs so far."""
    return {purpose: asdict(each) for purpose, each in sorted(totals.items())}


def pretty(data: Any) -> str:
    """JSON for people and machines."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
