"""`vepa run`: the main job, shown while it happens."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vepa.cli.console import AsJson, Output, ProjectDir

if TYPE_CHECKING:
    from vepa.annotate.runs.plan import AnnotationPlan
    from vepa.bench.runs.run import Run
    from vepa.collect.runs.session import CorpusPlan
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
    verbose: Annotated[bool, typer.Option("--verbose", help="Show Prefect's log too.")] = False,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Collect a corpus where the profile says so, and let policies evolve; ends with reports.

    A run that was interrupted goes on where it stopped; one that is finished is not made again.
    """
    from contextlib import nullcontext

    from vepa.bench.runs.conduct import prefect_server
    from vepa.bench.runs.run import plan
    from vepa.cli.run_views import tell_plan, tell_result
    from vepa.project import Project

    out = Output(json)
    place = Project(project)
    planned = plan(place, profile)
    corpus = _corpus(place, profile)
    annotation = _annotation(place, profile) if corpus else None
    if dry_run:
        tell_plan(out, planned, _corpus_document(corpus, annotation) if corpus else None)
        return
    begun = time.monotonic()
    artifacts = planned.folder.parents[1]
    missing = _prepare(out, corpus) if corpus else 0
    several = corpus is not None and (
        missing or fresh or not planned.finished or (annotation and not annotation.judged)
    )
    with prefect_server(artifacts / "prefect", verbose=verbose) if several else nullcontext():
        grown = _collect(out, corpus, missing, place, verbose) if corpus else None
        if annotation is not None and grown is not None:
            grown["annotation"] = _annotate(out, annotation, place, verbose)
        stood = _evolve(out, planned, place, fresh=fresh, verbose=verbose)
        own, own_stood = None, True
        if corpus is not None and (corpus.folder / "evolve.yaml").is_file():
            own = plan(place, str(corpus.folder / "evolve.yaml"))
            own_stood = _evolve(out, own, place, fresh=fresh, verbose=verbose)
        elif corpus is not None and corpus.profile.evolve is not None:
            out.note("no policy evolves on the corpus' steps: none of them has a label yet")
    seconds = time.monotonic() - begun
    tell_result(out, planned, stood, seconds, own=own, own_stood=own_stood, corpus=grown)


def _corpus(place: Project, profile: str) -> CorpusPlan | None:
    """What the profile collects; None when it collects nothing."""
    import yaml

    from vepa.bench.runs.profile import find_profile
    from vepa.files import read_text

    # A profile without the block needs none of the packages behind it.
    document = yaml.safe_load(read_text(find_profile(place, profile)))
    if not isinstance(document, dict) or document.get("corpus") is None:
        return None
    from vepa.collect.runs.session import plan_corpus

    return plan_corpus(place, profile)


def _annotation(place: Project, profile: str) -> AnnotationPlan | None:
    """Who judges the steps of the corpus; None when nobody does."""
    from vepa.annotate.runs.plan import plan_annotation

    return plan_annotation(place, profile)


def _corpus_document(corpus: CorpusPlan, annotation: AnnotationPlan | None) -> dict[str, Any]:
    """What would be collected and annotated, and what it costs."""
    from vepa.collect.estimating import estimate_orders
    from vepa.services.world import load_world

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
        "annotation": None if annotation is None else _annotation_document(annotation),
    }


def _annotation_document(annotation: AnnotationPlan) -> dict[str, Any]:
    """Who would judge; what it costs is told by `vepa annotate --dry-run` once steps are there."""
    return {
        "panel": annotation.profile.panel,
        "readers": {seat.name: seat.model for seat in annotation.panel.seats},
        "budget": annotation.panel.budget.model_dump(),
        "done": annotation.finished,
    }


def _prepare(out: Output, corpus: CorpusPlan) -> int:
    """How many episodes are to be played; what could keep them from it is told at once."""
    from vepa.cli.run_watch import corpus_line
    from vepa.collect.runs.conduct import prepare_corpus

    missing = len(corpus.missing())
    out.note(corpus_line(corpus, missing))
    if missing:
        prepare_corpus(corpus, out.note)
    return missing


def _collect(
    out: Output, corpus: CorpusPlan, missing: int, place: Project, verbose: bool
) -> dict[str, Any]:
    """Collect what is missing; the corpus' figures."""
    from vepa.cli.run_watch import EpisodeWatcher
    from vepa.collect.runs.conduct import conduct_corpus
    from vepa.collect.runs.stages import write_products

    artifacts = str(corpus.folder.parents[1])
    where = str(place.directory) if place.directory else None
    try:
        with EpisodeWatcher(corpus, missing):
            if missing:
                figures = conduct_corpus(corpus, place, verbose=verbose)
            else:  # nothing to play, so nothing for the flow; what is derived may be another now
                figures = write_products(str(corpus.file), where, artifacts)
    except KeyboardInterrupt:
        out.note("interrupted; what is done is kept, and the same command goes on from there")
        raise
    return {**figures, "played": missing}


def _annotate(
    out: Output, annotation: AnnotationPlan, place: Project, verbose: bool
) -> dict[str, Any]:
    """Judge what is not judged, take up what was settled; the figures."""
    from vepa.annotate.runs.conduct import conduct_annotation
    from vepa.annotate.runs.stages import read_annotated, settle_again
    from vepa.cli.run_labels import LabelWatcher
    from vepa.collect.runs.stages import write_report

    artifacts = str(annotation.corpus.parents[1])
    where = str(place.directory) if place.directory else None
    if not annotation.judged:
        try:
            with LabelWatcher(annotation):
                conduct_annotation(annotation, place, verbose=verbose)
        except KeyboardInterrupt:
            out.note("interrupted; what was judged is kept, and the same command goes on")
            raise
    elif not annotation.settled:
        settle_again(str(annotation.file), where, artifacts)
    write_report(str(annotation.file), where, artifacts)
    return read_annotated(annotation)


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
