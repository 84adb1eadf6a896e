"""What the report shows, gathered from a run's products alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vepa.bench import metrics
from vepa.bench.lineage import ancestry, origins
from vepa.bench.runs import Run
from vepa.bench.scores import Answers, worked_off
from vepa.policy.authority import Authority, posterior
from vepa.policy.matching import ABSTAIN, CompiledPolicy
from vepa.policy.policy import Policy
from vepa.policy.rule import Provenance, Rule

__all__ = ["Method", "ReportData", "gather", "round_log", "rule_rows", "wrong_rows"]

Codes = npt.NDArray[np.int8]
_NAMES = {
    "vepa": "VEPA",
    "forest": "random forest",
    "ripper": "RIPPER",
    "hoeffding": "Hoeffding tree",
    "hoeffding_tuned": "Hoeffding tree, tuned",
}
#: Attempts listed of a round at most.
_ATTEMPTS = 100


@dataclass(frozen=True, eq=False)
class Method:
    """What one method said about every event.

    Attributes
    ----------
    key
        Name among the baselines; `vepa` for the policy.
    answers
        Its answers, in the order of arrival.
    """

    key: str
    answers: Answers

    @property
    def name(self) -> str:
        """The name that people read."""
        if self.key.startswith("lookup."):
            return f"look-up on {self.key.removeprefix('lookup.')}"
        return _NAMES.get(self.key, self.key)

    @property
    def verdicts(self) -> Codes:
        """Codes of its decisions."""
        return self.answers.verdicts


@dataclass(frozen=True, eq=False)
class ReportData:
    """The whole run, in arrays.

    Attributes
    ----------
    run
        The run.
    policies
        Policy 0 to the last.
    records
        The record of each round's update.
    order, truth
        Rows of the stream's table in the order of arrival, and their labels.
    ends
        Where each round ends in that order.
    vepa
        The policy's own decisions.
    others
        The baselines.
    """

    run: Run
    policies: Sequence[Policy]
    records: Sequence[Mapping[str, Any]]
    order: npt.NDArray[np.intp]
    truth: Codes
    ends: Sequence[int]
    vepa: Method
    others: Sequence[Method]

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return len(self.ends)

    @property
    def covered(self) -> npt.NDArray[np.bool_]:
        """Events that the policy decided."""
        decided: npt.NDArray[np.bool_] = self.vepa.verdicts != ABSTAIN
        return decided

    def curve(self, method: Method, *, covered: bool) -> list[tuple[float, float | None]]:
        """Macro-F1 over all rounds so far; on the events that the policy covers, or on all."""
        points: list[tuple[float, float | None]] = []
        for number, end in enumerate(self.ends, 1):
            keep = self.covered[:end] if covered else np.ones(end, dtype=np.bool_)
            score = metrics.macro_f1(self.truth[:end][keep], method.verdicts[:end][keep])
            points.append((number, score if keep.any() else None))
        return points

    def outcome(self, number: int) -> tuple[int, int, int]:
        """Right, wrong and abstained events of a round."""
        part = slice(self.ends[number - 2] if number > 1 else 0, self.ends[number - 1])
        said, truth = self.vepa.verdicts[part], self.truth[part]
        right = int((said == truth).sum())
        abstained = int((said == ABSTAIN).sum())
        return right, len(said) - right - abstained, abstained


def gather(run: Run, others: Mapping[str, Answers]) -> ReportData:
    """Read a run's policies and records and decide its events again.

    Parameters
    ----------
    run
        A run whose rounds are done.
    others
        Baseline -> what it answered.
    """
    loop = run.replayed(run.profile.rounds)
    answers = worked_off(run.stream, loop.outcomes)
    return ReportData(
        run,
        [loop.outcomes[0].before, *(outcome.after for outcome in loop.outcomes)],
        [outcome.record for outcome in loop.outcomes],
        run.stream.order,
        answers.truth,
        np.cumsum([len(part.indices) for part in run.stream.rounds]).tolist(),
        Method("vepa", answers),
        [Method(key, found) for key, found in others.items()],
    )


def rule_rows(data: ReportData) -> list[dict[str, Any]]:
    """The final rules, active ones first, then by support."""
    gate = data.run.gate
    known = origins(data.policies, data.records)
    rows = [_rule_row(rule, gate, known) for rule in data.policies[-1].rules]
    return sorted(rows, key=lambda row: (not row["active"], -row["support"], row["id"]))


def _rule_row(rule: Rule, gate: Authority, known: Mapping[str, Provenance]) -> dict[str, Any]:
    found = rule.evidence
    support, against = (found.support, found.contradictions) if found else (0, 0)
    threshold = gate.thresholds[rule.decision]
    born = rule.provenance
    return {
        "id": rule.id,
        "decision": rule.decision,
        "active": rule.active,
        "support": support,
        "contradictions": against,
        "posterior": posterior(support, against, threshold.target, threshold.prior),
        "target": threshold.target,
        "confidence": threshold.confidence,
        "when": [
            (name, predicate.operator.replace("_", " "), predicate.values)
            for name, predicate in rule.when.items()
        ],
        "round": born.round if born else None,
        "operation": born.operation if born else None,
        "lineage": ancestry(rule.id, known),
        "rationale": rule.rationale,
    }


def wrong_rows(data: ReportData, most: int) -> list[dict[str, Any]]:
    """Events that the policy decided wrongly, in the order of arrival."""
    table = data.run.stream.table
    wrong = np.flatnonzero(data.covered & (data.vepa.verdicts != data.truth))[:most]
    rows = []
    for at in wrong.tolist():
        number = int(np.searchsorted(data.ends, at, side="right")) + 1
        codes = table.codes[data.order[at]].tolist()
        policy = CompiledPolicy(data.policies[number - 1])
        answer = policy.decide_fields(table.schema.decode(codes), table.unit)
        rows.append(
            {
                "id": table.ids[data.order[at]],
                "round": number,
                "verdict": answer.verdict,
                "label": "refuse" if answer.verdict == "allow" else "allow",
                "rules": answer.rules,
                "event": table.schema.decode(codes),
            }
        )
    return rows


def round_log(data: ReportData) -> list[dict[str, Any]]:
    """What every update tried, what the verifier said, and what was kept."""
    return [
        _log_entry(number, record, data.policies[number])
        for number, record in enumerate(data.records, 1)
    ]


def _log_entry(number: int, record: Mapping[str, Any], after: Policy) -> dict[str, Any]:
    attempts = record["attempts"]
    front = {entry["candidate"] for entry in record["front"]}
    accepted = record["accepted"]
    return {
        "number": number,
        "tried": len(attempts),
        "rejected": sum(not attempt["verified"] for attempt in attempts),
        "accepted": len(accepted),
        "archive": len(after),
        "active": len(after.active),
        "score": record["score"],
        "front": sorted(record["front"], key=lambda entry: entry["candidate"]),
        "picked": record["picked"],
        "notes": record["notes"],
        "hidden": max(0, len(attempts) - _ATTEMPTS),
        "attempts": [
            {
                "number": attempt["number"],
                "base": attempt["base"],
                "edits": [_edit(edit) for edit in attempt["patch"]["edits"]],
                "verified": attempt["verified"],
                "feedback": attempt["feedback"],
                "score": attempt["score"],
                "front": attempt["number"] in front,
                "accepted": attempt["patch"] in accepted,
            }
            for attempt in attempts[:_ATTEMPTS]
        ],
    }


def _edit(edit: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "operation": edit["operation"],
        "targets": edit["targets"],
        "rules": [
            {
                "id": rule["id"],
                "decision": rule["decision"],
                "when": [
                    (name, operator.replace("_", " "), values)
                    for name, predicate in rule["when"].items()
                    for operator, values in predicate.items()
                ],
            }
            for rule in edit["rules"]
        ],
    }
