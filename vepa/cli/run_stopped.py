"""What `vepa run --stop-after-round` says once it stopped, and how a person edits the policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from vepa.cli.console import Output
from vepa.cli.run_views import near

if TYPE_CHECKING:
    from vepa.bench.runs.run import Run

__all__ = ["tell_stopped"]


def tell_stopped(out: Output, runs: Sequence[Run]) -> None:
    """Where the policies lie that decide the next rounds, and what to do with them.

    Parameters
    ----------
    out
        Where it is told.
    runs
        Those that stopped; the last is told at top level of the document.
    """
    rows = [_row(run) for run in runs]
    out.document({**rows[-1], "stopped": rows})
    if out.json:
        return
    for row in rows:
        out.text(f"\n{row['id']}: {row['rounds']['done']} of {row['rounds']['all']} rounds done")
        out.text(f"  policy  {row['near']}")
    open_ = [row for row in rows if row["rounds"]["done"] < row["rounds"]["all"]]
    if open_:
        out.text("\nTo edit a policy, before the same command without --stop-after-round goes on:")
        out.text(f"  cp {open_[-1]['near']} edited.yaml")
        out.text("  vepa policy check edited.yaml")
        out.text(
            f"  vepa policy adopt {open_[-1]['id']} edited.yaml --by NAME --reason 'in one line'"
        )


def _row(run: Run) -> dict[str, Any]:
    from vepa.bench.runs.adopting import rounds_done

    done = rounds_done(run)
    file = run.folder / run.deciding(done + 1)
    return {
        "id": run.id,
        "folder": str(run.folder),
        "rounds": {"all": run.profile.rounds, "done": done},
        "policy": str(file),
        "near": near(file),
    }
