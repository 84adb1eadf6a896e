"""`vepa run`: the main job, shown while it happens."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

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
    verbose: Annotated[bool, typer.Option("--verbose", help="Show Prefect's log too.")] = False,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Run the lifecycle of a profile: collect, annotate, release, evolve; ends with reports.

    A run that was interrupted goes on where it stopped; what is finished is not made again.
    """
    from vepa.bench.runs.run import plan
    from vepa.cli.run_views import tell_plan, tell_result
    from vepa.project import Project

    out = Output(json)
    place = Project(project)
    whole = _lifecycle(place, profile)
    planned = plan(place, profile) if whole is None else whole.benchmark
    if dry_run:
        tell_plan(out, planned, _corpus_document(whole) if whole else None)
        return
    begun = time.monotonic()
    if whole is None:
        _check_start(start)
        stood = _evolve(out, planned, place, fresh=fresh, verbose=verbose)
        tell_result(out, planned, stood, time.monotonic() - begun)
    else:
        from vepa.cli.run_lifecycle import run_lifecycle

        run_lifecycle(out, whole, fresh=fresh, start=start, verbose=verbose)


def _lifecycle(place: Project, profile: str) -> Lifecycle | None:
    """The lifecycle of a profile that collects a corpus; None for one that does not."""
    import yaml

    from vepa.bench.runs.profile import find_profile
    from vepa.files import read_text

    # A profile without the block needs none of the packages behind it.
    document = yaml.safe_load(read_text(find_profile(place, profile)))
    if not isinstance(document, dict) or document.get("corpus") is None:
        return None
    from vepa.lifecycle.plan import plan_lifecycle

    return plan_lifecycle(place, profile)


def _check_start(start: str | None) -> None:
    if start not in (None, "evolve-benchmark"):
        from vepa.errors import SettingError, Where

        raise SettingError(
            f"there is no stage {start!r}: the profile collects no corpus",
            where=Where(field="--from"),
            remedy="its only stage is evolve-benchmark; --fresh makes it again",
        )


def _corpus_document(whole: Lifecycle) -> dict[str, Any]:
    """What would be collected and annotated, and what it costs."""
    from vepa.collect.estimating import estimate_orders
    from vepa.services.world import load_world

    corpus = whole.corpus
    assert corpus is not None
    missing = corpus.missing()
    world = load_world(corpus.materials.world_file)
    costs = estimate_orders(missing, corpus.materials, corpus.profile.collect, world)
    return {
        "folder": str(corpus.folder),
        "tasks": len(corpus.orders),
        "episodes": len(corpus.all_orders),
        "to_play": len(missing),
        "offices": corpus.profile.collect.offices,
        "runtime": corpus.profile.runtime,
        "models": [asdict(each) for each in costs],
        "annotation": _annotation_document(whole),
        "stages": {"all": list(whole.stages), "open": whole.open()},
    }


def _annotation_document(whole: Lifecycle) -> dict[str, Any] | None:
    """Who would judge; what it costs is told by `vepa annotate --dry-run` once steps are there."""
    annotation = whole.annotation
    if annotation is None:
        return None
    return {
        "panel": annotation.profile.panel,
        "readers": {seat.name: seat.model for seat in annotation.panel.seats},
        "budget": annotation.panel.budget.model_dump(),
        "done": annotation.finished,
    }


def _evolve(out: Output, planned: Run, place: Project, *, fresh: bool, verbose: bool) -> bool:
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
            conduct(planned, place, verbose=verbose)
    except KeyboardInterrupt:
        out.note("interrupted; what is done is kept, and the same command goes on from there")
        raise
    return False
