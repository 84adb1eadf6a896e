"""`vepa run`: the main job, shown while it happens."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from vepa.cli.console import AsJson, Output, ProjectDir

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
        bool, typer.Option("--fresh", help="Make everything again, even what is done.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show Prefect's log too.")] = False,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Let a policy evolve over a stream of events; ends with a report.

    A run that was interrupted goes on where it stopped; one that is finished is not made again.
    """
    from vepa.bench.runs.conduct import check_packages, conduct
    from vepa.bench.runs.run import begin, plan
    from vepa.cli.run_views import tell_plan, tell_result
    from vepa.cli.run_watch import Watcher
    from vepa.project import Project

    out = Output(json)
    place = Project(project)
    planned = plan(place, profile)
    if dry_run:
        tell_plan(out, planned)
        return
    begun = time.monotonic()
    stood = planned.finished and not fresh
    if not stood:
        check_packages(planned)
        begin(planned, fresh=fresh)
        try:
            with Watcher(planned):
                conduct(planned, place, verbose=verbose)
        except KeyboardInterrupt:
            out.note("interrupted; what is done is kept, and the same command goes on from there")
            raise
    tell_result(out, planned, stood, time.monotonic() - begun)
