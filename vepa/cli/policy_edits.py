"""`vepa policy current`, `adopt` and `withdraw`: a person edits the policy of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vepa.cli.console import AsJson, Output, ProjectDir

if TYPE_CHECKING:
    from vepa.bench.runs.adopting import Adoption
    from vepa.bench.runs.run import Run

__all__ = ["adopt", "current", "edits_told", "withdraw"]

RunArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN", help="A run: its folder, its id, or the profile (name or path) it is of."
    ),
]


def current(run: RunArgument, json: AsJson = False, project: ProjectDir = None) -> None:
    """Print where the policy lies that decides the next round of a run; edit a copy of it.

    Once all rounds are done, it is the final policy.
    """
    from vepa.bench.runs.adopting import rounds_done
    from vepa.cli.run_views import near
    from vepa.errors import SettingError

    out, found = Output(json), _run(run, project)
    done = rounds_done(found)
    if done == 0:
        raise SettingError(
            f"no round of {found.id} is done: there is no policy yet",
            remedy="`vepa run --stop-after-round 1` makes the first",
        )
    file = found.deciding(done + 1)
    out.document(
        {
            "run": found.id,
            "folder": str(found.folder),
            "policy": str(found.folder / file),
            "policy_hash": found.policy_in(file).policy_hash,
            "rounds": {"all": found.profile.rounds, "done": done},
            "interventions": [each.told for each in found.interventions],
        }
    )
    out.text(near(found.folder / file))


def adopt(
    run: RunArgument,
    policy: Annotated[
        Path, typer.Argument(metavar="POLICY", help="The edited policy (- is stdin).")
    ],
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Who edited it.")],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, in one line.")],
    after_round: Annotated[
        int | None,
        typer.Option(
            "--after-round",
            metavar="K",
            help="Go on from it after round K; the last round that is done when left out. Rounds "
            "that follow are made again, in a run of its own.",
        ),
    ] = None,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Let a run go on from a policy that you edited.

    It is verified first; what is rejected changes nothing (exit 2). Its rules decide by the
    evidence of the run: a file gives no rule authority, but `held: true` keeps one inactive. The
    next `vepa run` goes on from there, in a folder of its own; the run as it was stays.
    """
    from datetime import UTC, datetime

    from vepa.bench.runs.adopting import adopt as adopted
    from vepa.cli.findings import rejected, tell_rejection
    from vepa.errors import VerificationError
    from vepa.files import name_of, read_text

    out, file = Output(json), name_of(policy)
    text = read_text(policy)
    when = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        found = adopted(
            _run(run, project), text, file, by=by, reason=reason, when=when, after=after_round
        )
    except VerificationError as error:
        tell_rejection(out, error.feedback, file)
        out.note("the run was not touched")
        out.document({**rejected(error.feedback), "adopted": False})
        raise typer.Exit(2) from None
    _tell(out, found)


def withdraw(run: RunArgument, json: AsJson = False, project: ProjectDir = None) -> None:
    """Take back the last edit that was adopted; the next `vepa run` goes on without it."""
    from vepa.bench.runs.adopting import withdraw as taken_back

    out = Output(json)
    before, last = taken_back(_run(run, project))
    out.document({"run": before.id, "folder": str(before.folder), "withdrawn": last.told})
    out.text(
        f"taken back: the edit by {last.record['by']} after round {last.after}; "
        f"the next `vepa run` goes on as {before.id}"
    )


def _tell(out: Output, found: Adoption) -> None:
    from vepa.cli.run_views import near

    run, record = found.run, found.intervention.record
    file = run.folder / found.intervention.file
    out.document(
        {
            "adopted": True,
            "already_adopted": found.known,
            "run": run.id,
            "folder": str(run.folder),
            "before": found.before,
            "policy": str(file),
            "policy_hash": record["policy"],
            "made_again": list(found.again),
            "intervention": dict(record),
        }
    )
    if found.known:
        out.text(f"this file was adopted after round {record['after']} before; nothing changed")
        return
    for remark in record["remarks"]:
        out.note(f"rule {remark['rule']!r} {remark['message']}")
    edits = ", ".join(f"{count} {name}" for name, count in found.intervention.told["edits"].items())
    standing = record["standing"].values()
    active = sum(rule["status"] == "active" for rule in standing)
    out.text(f"adopted after round {record['after']}: {edits}")
    out.text(f"rules   {active} of {len(standing)} active")
    out.text(f"policy  {near(file)}")
    if found.again:
        first, last = found.again[0], found.again[-1]
        rounds = f"round {first}" if first == last else f"rounds {first} to {last}"
        out.text(f"{rounds} will be made again; {found.before} keeps what was made before")
    out.text(f"run     {run.id}: the next `vepa run` goes on there")


def _run(name: str, project: Path | None) -> Run:
    """The run that is meant; where edits were adopted, the one that goes on from them."""
    from vepa.bench.runs.interventions import latest
    from vepa.bench.runs.run import open_run, plan
    from vepa.project import Project

    place = Project(project)
    for folder in (Path(name), place.artifacts_path / "runs" / name):
        if (folder / "manifest.json").is_file():
            return latest(open_run(folder))
    return plan(place, name)


def edits_told(rows: list[dict[str, Any]]) -> str:
    """Edits by people, in a line."""
    return "; ".join(f"after round {row['after']} by {row['by']}: {row['reason']}" for row in rows)
