"""What the report shows, gathered from a run's products alone."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vepa.bench import metrics
from vepa.bench.comparison import method_name
from vepa.bench.report.evidence import weighed
from vepa.bench.report.lineage import ancestry, origins
from vepa.bench.runs.run import Run, file_of
from vepa.bench.scores import Answers, worked_off
from vepa.policy.authority import Authority
from vepa.policy.matching import ABSTAIN, CompiledPolicy
from vepa.policy.policy import Policy
from vepa.policy.rule import Evidence, Provenance, Rule

__all__ = ["Method", "ReportData", "gather", "rule_rows", "wrong_rows"]

Codes = npt.NDArray[np.int8]


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
        return method_name(self.key)

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
    deciding
        The policy that decided each round: a person may have edited what the update left.
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
    deciding: Sequence[Policy]
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
    def changes(self) -> list[Mapping[str, Any]]:
        """All that put rules in or took them out: updates and people."""
        return [*self.records, *(each.record for each in self.run.interventions)]

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

    @property
    def wrong_feedback(self) -> list[float | None]:
        """Estimated share of wrong feedback after each round; None where none was estimated."""
        return [record.get("wrong_feedback") for record in self.records]

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
        [outcome.before for outcome in loop.outcomes],
        run.stream.order,
        answers.truth,
        np.cumsum([len(part.indices) for part in run.stream.rounds]).tolist(),
        Method("vepa", answers),
        [Method(key, found) for key, found in others.items()],
    )


def rule_rows(data: ReportData) -> list[dict[str, Any]]:
    """The final rules, active ones first, then by support."""
    gate = data.run.gate
    known = origins(data.policies, data.changes)
    rows = [_rule_row(rule, gate, known) for rule in data.policies[-1].rules]
    return sorted(rows, key=lambda row: (not row["active"], -row["support"], row["id"]))


def _rule_row(rule: Rule, gate: Authority, known: Mapping[str, Provenance]) -> dict[str, Any]:
    found = rule.evidence or Evidence()
    reached, asked, words = weighed(gate, rule.decision, found)
    born = rule.provenance
    return {
        "id": rule.id,
        "decision": rule.decision,
        "active": rule.active,
        "held": rule.held,
        "support": found.support,
        "contradictions": found.contradictions,
        "reached": reached,
        "asked": asked,
        "weighed": words,
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
    file_of_event = file_of(data.run)
    rows = []
    for at in wrong.tolist():
        number = int(np.searchsorted(data.ends, at, side="right")) + 1
        event = table.schema.decode(table.codes[data.order[at]].tolist())
        policy = data.deciding[number - 1]
        answer = CompiledPolicy(policy).decide_fields(event, table.unit)
        tested = {name for rule in answer.rules for name in policy.by_id[rule].when}
        name = table.ids[data.order[at]]
        rows.append(
            {
                "id": name,
                "round": number,
                "verdict": answer.verdict,
                "label": "refuse" if answer.verdict == "allow" else "allow",
                "rules": answer.rules,
                "event": [(field, value, field in tested) for field, value in event.items()],
                "command": _explain(data.run, file_of_event[name], number, name),
            }
        )
    return rows


def _explain(run: Run, file: int, number: int, name: str) -> str:
    """How to ask the policy that decided the round, from the project's folder.

    The report is the same wherever it is made, so no path of this machine stands in it.
    """
    entry = run.profile.events[file]
    among_data = run.files[file].as_posix().endswith(f"data/{entry}")
    policy = f"artifacts/runs/{run.id}/{run.deciding(number)}"
    events = f"data/{entry}" if among_data else entry
    return shlex.join(["vepa", "policy", "explain", policy, events, "--id", name])
