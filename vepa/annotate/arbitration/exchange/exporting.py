"""Cases out of the queue, as files of another tool."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vepa.annotate.arbitration.exchange import argilla, label_studio
from vepa.annotate.arbitration.exchange.cases import CaseLine
from vepa.annotate.arbitration.looking import QueueView
from vepa.annotate.arbitration.records import Dispute
from vepa.files import write_output

__all__ = ["FORMATS", "Exported", "export_cases"]

#: Names of the formats, the default first.
FORMATS = ("jsonl", "label-studio", "argilla")


@dataclass(frozen=True)
class Exported:
    """What was written: the format, how many cases, and the files."""

    format: str
    cases: int
    files: Sequence[Path]

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "format": self.format,
            "cases": self.cases,
            "files": [str(path) for path in self.files],
        }


def export_cases(
    queue: QueueView,
    format: str,
    path: str | Path,
    *,
    everything: bool = False,
    opinions: bool = False,
    guidelines: str = "",
) -> Exported:
    """Write cases as tasks.

    Parameters
    ----------
    queue
        The queue.
    format
        One of `FORMATS`.
    path
        Where the cases go; a configuration goes beside it.
    everything
        Settled cases too; as JSON Lines with the verdict of a person, where there is one.
    opinions
        Whether what the annotators said goes with them; whoever reads it is not blind any more.
    guidelines
        What people are told (Argilla).

    Raises
    ------
    SettingError
        When a file cannot be written.
    """
    path = Path(path)
    disputes = queue.all_disputes() if everything else queue.open_disputes()
    if format == "jsonl":
        write_output(path, _lines(queue, disputes, opinions))
        return Exported(format, len(disputes), [path])
    if format == "label-studio":
        beside = path.with_suffix(".config.xml")
        told = label_studio.label_config(queue.taxonomy, opinions=opinions)
        records: Any = label_studio.tasks_of(disputes, opinions=opinions)
    else:
        beside = path.with_suffix(".settings.json")
        settings = argilla.settings_of(queue.taxonomy, guidelines, opinions=opinions)
        told = _json(settings)
        records = argilla.records_of(disputes, opinions=opinions)
    write_output(path, _json(records))
    write_output(beside, told)
    return Exported(format, len(disputes), [path, beside])


def _lines(queue: QueueView, disputes: Sequence[Dispute], opinions: bool) -> str:
    standing = queue.standing()
    taxonomy = f"{queue.taxonomy.id}/{queue.taxonomy.version}"
    lines = []
    for dispute in disputes:
        verdict = standing.get(dispute.item)
        # A model's verdict is nobody's known answer, and no person's when it comes back.
        own = verdict if verdict is not None and verdict.origin == "person" else None
        line = CaseLine.of(dispute, taxonomy, opinions=opinions, verdict=own)
        lines.append(line.model_dump_json(exclude_defaults=True) + "\n")
    return "".join(lines)


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"
