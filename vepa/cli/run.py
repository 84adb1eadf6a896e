"""`vepa run`: the main job, shown while it happens."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from vepa.cli.console import AsJson, Output, ProjectDir

if TYPE_CHECKING:
    from vepa.bench.runs.run import Run
    from vepa.lifecycle.plan import Lifecycle
    from vepa.project import Project

__all__ = ["run"]


def run(
    profile: Annotated[
        str,
        typer.Option(
            "--profile", metavar="NAME", help="Profile under flows/profiles/, or its path."
        ),
    ] = "demo",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done; write nothing.")
    ] = False,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh", help="Let policies evolve again even where they are done; episodes are kept."
        ),
    ] = False,
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="STAGE",
            help="Make this stage and all that follow again: collect, annotate, release, "
            "evolve-corpus, evolve-benchmark, train or report. Episodes and judgements are kept.",
        ),
    ] = None,
    stop_after: Annotated[
        int | None,
        typer.Option(
            "--stop-after-round",
            metavar="K",
            min=1,
            help="Stop after round K of policies that evolve, so that you can edit one "
            "(`vepa policy current`, `adopt`); the same command without it goes on.",
        ),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show Prefect's log too.")] = False,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Run the lifecycle of a profile: collect, annotate, release, evolve; ends with reports.

    A run that was interrupted goes on where it stopped; what is finished is not made again.
    """
    from vepa.bench.runs.run import plan
    from vepa.cli.run_plan import tell_lifecycle_plan, tell_plan
    from vepa.cli.run_stopped import tell_stopped
    from vepa.cli.run_views import tell_result
    from vepa.project import Project

    out = Output(json)
    place = Project(project)
    whole = _lifecycle(place, profile, awaiting=dry_run)
    if whole is not None and dry_run:
        tell_lifecycle_plan(out, whole)
        return
    planned = plan(place, profile) if whole is None else whole.benchmark
    if dry_run:
        tell_plan(out, planned)
        return
    begun = time.monotonic()
    _check_stop(planned, stop_after, fresh=fresh or start is not None)
    if whole is None:
        _check_start(start)
        stood = _evolve(out, planned, place, fresh=fresh, verbose=verbose, stop_after=stop_after)
        if stop_after is not None:
            tell_stopped(out, [planned])
        else:
            tell_result(out, planned, stood, time.monotonic() - begun)
    else:
        from vepa.cli.run_lifecycle import run_lifecycle

        run_lifecycle(out, whole, fresh=fresh, start=start, verbose=verbose, stop_after=stop_after)


def _lifecycle(place: Project, profile: str, *, awaiting: bool) -> Lifecycle | None:
    """The lifecycle of a profile that collects a corpus; None for one that does not."""
    import yaml

    from vepa.bench.runs.profile import find_profile
    from vepa.files import read_text

    # A profile without the block needs none of the packages behind it.
    document = yaml.safe_load(read_text(find_profile(place, profile)))
    if not isinstance(document, dict) or document.get("corpus") is None:
        return None
    from vepa.lifecycle.plan import plan_lifecycle

    return plan_lifecycle(place, profile, awaiting=awaiting)


def _check_start(start: str | None) -> None:
    if start not in (None, "evolve-benchmark"):
        from vepa.errors import SettingError, Where

        raise SettingError(
            f"there is no stage {start!r}: the profile collects no corpus",
            where=Where(field="--from"),
            remedy="its only stage is evolve-benchmark; --fresh makes it again",
        )


def _check_stop(planned: Run, stop_after: int | None, *, fresh: bool) -> None:
    """Refuse to stop where a run cannot, or has gone further already."""
    from vepa.bench.runs.adopting import rounds_done
    from vepa.errors import SettingError, Where

    if stop_after is None:
        return
    rounds, done = planned.profile.rounds, 0 if fresh else rounds_done(planned)
    where = Where(field="--stop-after-round")
    if stop_after >= rounds:
        last = f"name a round up to {rounds - 1}" if rounds > 1 else "leave it out"
        raise SettingError(f"the run has {rounds} rounds", where=where, remedy=last)
    if done > stop_after:
        raise SettingError(
            f"{done} rounds of {planned.id} are done already",
            where=where,
            remedy=f"name a later round; or edit the policy after round {stop_after} as it is: "
            f"`vepa policy adopt` takes --after-round {stop_after}",
        )


def _evolve(
    out: Output,
    planned: Run,
    place: Project,
    *,
    fresh: bool,
    verbose: bool,
    stop_after: int | None,
) -> bool:
    """Let the policy of a run evolve; whether it was finished before."""
    from vepa.bench.runs.conduct import check_packages, conduct
    from vepa.bench.runs.run import begin
    from vepa.cli.run_watch import Watcher

    if planned.finished and not fresh:
        return True
    check_packages(planned)
    begin(planned, fresh=fresh)
    try:
        with Watcher(planned):
            conduct(planned, place, verbose=verbose, stop_after=stop_after)
    except KeyboardInterrupt:
        out.note("interrupted; what is done is kept, and the same command goes on from there")
        raise
    return False
