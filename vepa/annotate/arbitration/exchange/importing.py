"""Verdicts from other tools into the queue, every one of them accounted for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vepa.annotate.arbitration.exchange.answers import Answer, Names, Record, verdict_of
from vepa.annotate.arbitration.exchange.argilla import located, read_records
from vepa.annotate.arbitration.exchange.cases import quoted
from vepa.annotate.arbitration.exchange.label_studio import read_tasks
from vepa.annotate.arbitration.exchange.reading import format_of, read_lines_of_cases, records_in
from vepa.annotate.arbitration.queue import ArbitrationQueue
from vepa.corpus.labels import Label
from vepa.errors import InputError, SettingError, Where
from vepa.files import name_of
from vepa.policy.schema import nearest

__all__ = ["ImportReport", "import_verdicts"]

AUTO = "auto"
_READERS: dict[str, Callable[[Iterable[Record]], Iterator[Answer]]] = {
    "jsonl": read_lines_of_cases,
    "label-studio": read_tasks,
    "argilla": read_records,
}
#: What can become of a verdict that was understood.
_FATES = ("taken", "known", "settled", "unknown", "lent")


@dataclass
class ImportReport:
    """What became of a file.

    Attributes
    ----------
    file, format
        What was read, and as what.
    records, unanswered
        Records of the file, and those of them that nobody answered.
    fates
        `taken`; `known`: in the queue already; `settled`: another verdict stands and is left alone;
        `unknown`: no such case; `lent`: somebody works on it just now.
    skipped
        Answers that say nothing: skipped in the tool, discarded, or not handed in.
    malformed
        What could not be taken, each with file, record and field.
    by
        Name -> verdicts taken.
    """

    file: str
    format: str
    records: int = 0
    unanswered: int = 0
    fates: Counter[str] = field(default_factory=Counter)
    skipped: int = 0
    malformed: list[InputError] = field(default_factory=list)
    by: Counter[str] = field(default_factory=Counter)

    @property
    def answers(self) -> int:
        """Answers that came in; the sum of what became of them."""
        return sum(self.fates.values()) + self.skipped + len(self.malformed)

    @property
    def clean(self) -> bool:
        """Whether nothing was left out that somebody may miss."""
        return not (self.malformed or self.fates["unknown"] or self.fates["lent"])

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "file": self.file,
            "format": self.format,
            "records": self.records,
            "unanswered": self.unanswered,
            "answers": self.answers,
            **{name: self.fates[name] for name in _FATES},
            "skipped": self.skipped,
            "malformed": len(self.malformed),
            "by": dict(sorted(self.by.items())),
            "faults": [
                {
                    "line": each.where.line,
                    "field": each.where.field,
                    "place": each.where.label,
                    "message": each.message,
                    "remedy": each.remedy,
                }
                for each in self.malformed
            ],
        }


def import_verdicts(
    queue: ArbitrationQueue,
    path: str | Path,
    *,
    format: str = AUTO,
    names: Sequence[str] = (),
    strict: bool = False,
) -> ImportReport:
    """Take the verdicts of a file; the same file again adds nothing.

    Parameters
    ----------
    queue
        The queue.
    path
        As another tool exported it; `-` is standard input.
    format
        One of `exporting.FORMATS`, or `auto`.
    names
        Who answered: `NAME`, or `ID=NAME` for each person of the file.
    strict
        Whether to take nothing when something is malformed.

    Raises
    ------
    InputError
        When the file cannot be read; under `strict`, for the first thing that is malformed.
    SettingError
        When the format is not known, or one name is given for several people.
    """
    if format not in (AUTO, *_READERS):
        raise SettingError(
            f"{format!r} is no format",
            where=Where(field="--from"),
            remedy=nearest(format, [AUTO, *_READERS], "formats"),
        )
    records = records_in(path)
    kind = format_of(records, path) if format == AUTO else format
    report = ImportReport(name_of(path), kind, records=len(records))
    verdicts = _understood(queue, list(_READERS[kind](records)), Names(names), report)
    if strict and report.malformed:
        raise report.malformed[0]
    for verdict in verdicts:
        fate = queue.record(verdict)
        report.fates[fate] += 1
        report.by[verdict.annotator] += fate == "taken"
    report.by += Counter()  # drops those who have none
    return report


def _understood(
    queue: ArbitrationQueue, answers: Sequence[Answer], names: Names, report: ImportReport
) -> list[Label]:
    names.check(each for each in answers if each.given)
    verdicts = []
    for answer in answers:
        report.unanswered += answer.unanswered
        report.skipped += answer.skipped
        if answer.unanswered or answer.skipped:
            continue
        try:
            if answer.error is not None:
                raise answer.error
            verdicts.append(_verdict(queue, answer, names))
        except InputError as error:
            report.malformed.append(answer.record.told(error, report.file, answer.place))
    return verdicts


def _verdict(queue: ArbitrationQueue, answer: Answer, names: Names) -> Label:
    named = f"{queue.taxonomy.id}/{queue.taxonomy.version}"
    evidence = list(answer.given.get("evidence", ()))
    spans, parts = answer.given.get("spans", ()), answer.given.get("parts", ())
    dispute = queue.dispute(answer.item) if spans or parts else None
    if dispute is not None:
        evidence += [located(dispute, *span) for span in spans]
        evidence += [quoted(dispute, *part) for part in parts]
    verdict = verdict_of(answer, names.of(answer), named, evidence)
    queue.check(verdict)
    return verdict
