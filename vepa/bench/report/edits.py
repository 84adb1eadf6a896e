"""What people did to the policies of a run, for its report."""

from __future__ import annotations

from typing import Any

from vepa.bench.report.round_log import edit_row
from vepa.bench.runs.run import Run

__all__ = ["edit_rows"]


def edit_rows(run: Run) -> list[dict[str, Any]]:
    """One row an intervention: who, when, why, what changed, and what the file could not give."""
    rows = []
    for each in run.interventions:
        record = each.record
        rows.append(
            {
                **{name: record[name] for name in ("after", "by", "reason", "when")},
                "file": each.file,
                "parent": record["parent"],
                "policy": record["policy"],
                "edits": [
                    edit_row(edit) for patch in record["accepted"] for edit in patch["edits"]
                ],
                "remarks": record["remarks"],
                "active": sum(rule["status"] == "active" for rule in record["standing"].values()),
                "archive": len(record["standing"]),
            }
        )
    return rows
