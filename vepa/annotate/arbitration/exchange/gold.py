"""Steps whose answer is known, from a file of cases with a judgement each."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vepa.annotate.arbitration.exchange.answers import fault
from vepa.annotate.arbitration.exchange.reading import case_line, records_in
from vepa.annotate.arbitration.queue import ArbitrationQueue
from vepa.annotate.arbitration.records import Case
from vepa.annotate.items import StepItem
from vepa.annotate.shape import check_evidence
from vepa.corpus.labels import Judgement
from vepa.corpus.taxonomy import Taxonomy
from vepa.corpus.trajectory import Trajectory
from vepa.errors import InputError
from vepa.files import name_of

__all__ = ["GoldReport", "add_gold"]

_EXPORT = "`vepa arbitrate export DIR --all --to jsonl` writes such cases"


@dataclass
class GoldReport:
    """What became of a file of gold cases.

    Attributes
    ----------
    records, added, known
        Lines, new gold cases, and those that were there.
    unanswered
        Lines without a judgement.
    malformed
        Lines that could not be taken.
    """

    records: int = 0
    added: int = 0
    known: int = 0
    unanswered: int = 0
    malformed: list[InputError] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "records": self.records,
            "added": self.added,
            "known": self.known,
            "unanswered": self.unanswered,
            "malformed": len(self.malformed),
            "faults": [str(each) for each in self.malformed],
        }


def add_gold(queue: ArbitrationQueue, path: str | Path) -> GoldReport:
    """Add the cases of a file that have a judgement as gold.

    Parameters
    ----------
    queue
        The queue.
    path
        JSON Lines as `export_cases` writes them, with `judgement`; `-` is standard input.

    Raises
    ------
    InputError
        When the file cannot be read.
    """
    report = GoldReport()
    known: list[tuple[Case, Judgement]] = []
    for record in records_in(path):
        report.records += 1
        try:
            line = case_line(record)
            if line.judgement is None:
                report.unanswered += 1
                continue
            case = _case(line.item, line.step, line.shown)
            _check(line.judgement, case, queue.taxonomy)
            known.append((case, line.judgement))
        except InputError as error:
            report.malformed.append(record.told(error, name_of(path)))
    report.added = queue.add_gold(known)
    report.known = len(known) - report.added
    return report


def _check(judgement: Judgement, case: Case, taxonomy: Taxonomy) -> None:
    try:
        judgement.check_against(taxonomy)
        check_evidence(judgement, case.shown)
    except InputError as error:
        raise fault(error.message, f"judgement.{error.where.field}", error.remedy) from None


def _case(item: str, step: int | None, shown: Trajectory | None) -> Case:
    """The case, with nothing in it that people are not shown; its hash is what it says."""
    if shown is None or step is None:
        raise fault("a gold case tells its step and what is shown", "shown", _EXPORT)
    if step != len(shown.steps) - 1:
        raise fault("the judged step is the last one that is shown", "step", _EXPORT)
    neutral = Trajectory(
        id="",
        tools=shown.tools,
        offered=shown.offered,
        premises=shown.premises,
        system=shown.system,
        steps=shown.steps,
    )
    if StepItem("", step, neutral).hash != item:
        raise fault("what is shown is not what `item` stands for", "item", _EXPORT)
    return Case(item, step, neutral)
