"""`vepa run` of a profile that collects a corpus: the whole lifecycle, shown while it happens."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from vepa.cli.console import Output

if TYPE_CHECKING:
    from vepa.lifecycle.plan import Lifecycle

__all__ = ["run_lifecycle"]


def run_lifecycle(
    out: Output,
    whole: Lifecycle,
    *,
    fresh: bool,
    start: str | None,
    verbose: bool,
    stop_after: int | None = None,
) -> None:
    """Do what is to be done, and tell what stands in the end."""
    from vepa.bench.runs.run import begin
    from vepa.cli.run_stopped import tell_stopped
    from vepa.cli.run_views import near, tell_result
    from vepa.lifecycle.conduct import conduct_lifecycle, prepare
    from vepa.lifecycle.report.page import PAGE
    from vepa.lifecycle.watching import watched_by

    begun = time.monotonic()
    missing = _tell_corpus(out, whole)
    for run in (whole.own(), whole.benchmark) if fresh else ():
        if run is not None:
            begin(run, fresh=True)
    if start is not None:
        whole.forget(start)
    # By their ids: labels that changed meanwhile make another run of the corpus' policy.
    stood = {run.id for run in (whole.own(), whole.benchmark) if run is not None and run.finished}
    if whole.open():
        prepare(whole, out.note)
        try:
            with watched_by(lambda stage: _watch(out, whole, stage, missing)):
                conduct_lifecycle(whole, verbose=verbose, stop_after=stop_after)
        except KeyboardInterrupt:
            out.note("interrupted; what is done is kept, and the same command goes on from there")
            raise
    own = whole.own()
    if stop_after is not None:
        tell_stopped(out, [run for run in (own, whole.benchmark) if run is not None])
        return
    if own is None and "evolve-corpus" in whole.stages:
        out.note("no policy evolves on the corpus' steps: none of them has a label yet")
    tell_result(
        out,
        whole.benchmark,
        whole.benchmark.id in stood,
        time.monotonic() - begun,
        own=own,
        own_stood=own is not None and own.id in stood,
        corpus=_grown(whole, missing),
    )
    out.note(f"all stages on one page: {near(whole.folder / PAGE)}")


def _tell_corpus(out: Output, whole: Lifecycle) -> int:
    """How many episodes are to be played."""
    from vepa.cli.run_watch import corpus_line

    assert whole.corpus is not None
    missing = len(whole.corpus.missing())
    out.note(corpus_line(whole.corpus, missing))
    return missing


def _watch(
    out: Output, whole: Lifecycle, stage: str, missing: int
) -> AbstractContextManager[object]:
    """Whoever shows the progress of a stage."""
    from vepa.cli.run_labels import LabelWatcher
    from vepa.cli.run_watch import EpisodeWatcher, Watcher

    if stage == "collect" and whole.corpus is not None:
        return EpisodeWatcher(whole.corpus, missing)
    if stage == "annotate" and whole.annotation is not None:
        return LabelWatcher(whole.annotation)
    if stage == "evolve-benchmark":
        return Watcher(whole.benchmark)
    own = whole.own() if stage == "evolve-corpus" else None
    if own is not None:
        return Watcher(own)
    out.note(stage)
    return nullcontext()


def _grown(whole: Lifecycle, missing: int) -> dict[str, Any]:
    """Figures of the corpus, of its labels and of its release."""
    from vepa.collect.runs.stages import read_figures
    from vepa.lifecycle.releasing import released_now

    corpus, annotation = whole.corpus, whole.annotation
    assert corpus is not None
    figures = read_figures(corpus.folder)
    grown: dict[str, Any] = {
        **figures,
        "folder": str(corpus.folder),
        "report": str(corpus.folder / "report.html"),
        "outcomes": [{"model": name, **row} for name, row in figures["by_model"].items()],
        "played": missing,
    }
    if annotation is not None:
        known = annotation.figures()
        grown["annotation"] = {**(known or {}), "folder": str(annotation.folder)}
        made = released_now(corpus, annotation) if whole.profile.release is not None else None
        if made is not None:
            version = made.manifest.version
            grown["release"] = {
                "version": version,
                "folder": str(made.folder),
                "changes": _changes(whole, version),
            }
    return grown


def _changes(whole: Lifecycle, version: str) -> dict[str, Any] | None:
    """What the lifecycle's summary says of this release against the one before."""
    from json import loads

    from vepa.lifecycle.plan import SUMMARY

    try:
        release = loads((whole.folder / SUMMARY).read_bytes()).get("release", {})
    except (OSError, ValueError):
        return None
    found: dict[str, Any] | None = release.get("changes")
    return found if release.get("version") == version else None
