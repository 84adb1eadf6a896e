"""The stages of a lifecycle as they stand, with ways to their own pages."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from vepa.lifecycle.plan import STAGES
from vepa.lifecycle.report.policies import Policy
from vepa.lifecycle.report.reading import count, listed, many, number, part, table, text

__all__ = ["STATES", "Places", "StageRow", "flow"]

State = Literal["made", "stood", "missing", "absent", "here"]
#: State -> what people read.
STATES: Mapping[State, str] = {
    "made": "made now",
    "stood": "stood",
    "missing": "nothing there",
    "absent": "not in this profile",
    "here": "this page",
}
_WORDS = {
    "collect": "Collect",
    "annotate": "Annotate",
    "release": "Release",
    "evolve-corpus": "Evolve on the corpus",
    "train": "Train",
    "evolve-benchmark": "Evolve on a benchmark",
    "report": "Report",
}
#: Stage -> what stands in a summary once it has products.
_PRODUCTS = {
    "collect": "corpus",
    "annotate": "annotation",
    "release": "release",
    "evolve-corpus": "corpus_policy",
    "evolve-benchmark": "benchmark",
    "train": "train",
}


#: Stage of a profile without products -> what that means.
_MISSING = {
    "collect": "no episode was collected",
    "annotate": "no step was judged",
    "release": "there is no release yet",
    "evolve-corpus": "no labelled step to learn from",
    "evolve-benchmark": "no policy yet",
    "train": "no training was asked for",
}


@dataclass(frozen=True)
class StageRow:
    """One stage of the flow.

    Attributes
    ----------
    stage, title
        Its key and what people read.
    state
        Whether it was made now, stood, or is not there.
    seconds
        Wall time when it was made last; None where nobody measured it.
    told
        Its figure in a few words.
    link
        Its own page, relative to this one; None where there is none.
    """

    stage: str
    title: str
    state: State
    seconds: float | None
    told: str
    link: str | None


@dataclass(frozen=True)
class Places:
    """Where the products of a lifecycle lie, seen from its page.

    Attributes
    ----------
    folder
        The lifecycle's, `artifacts/lifecycle/NAME`.
    summary
        What all stages left.
    """

    folder: Path
    summary: Mapping[str, Any]

    @property
    def corpus(self) -> Path:
        """The folder of the corpus."""
        return self.folder.parent.parent / "corpus" / self.folder.name

    def release(self, name: str = "") -> Path | None:
        """A file of the release."""
        folder = text(self.summary, "release", "folder")
        return None if folder is None else Path(folder, name)

    def page(self, stage: str) -> Path | None:
        """A stage's own page."""
        match stage:
            case "collect":
                return self.corpus / "report.html"
            case "annotate":
                return self.corpus / "labels" / "agreement.html"
            case "release":
                return self.release("README.md")
            case "evolve-corpus":
                return self.run("corpus_policy")
            case "evolve-benchmark":
                return self.run("benchmark")
            case _:
                return None

    def run(self, key: str) -> Path | None:
        """The report of a policy's run."""
        folder = text(self.summary, key, "folder")
        return None if folder is None else Path(folder, "report.html")

    def link(self, path: Path | None) -> str | None:
        """A relative link to a file; None where it does not exist."""
        if path is None or not path.is_file():
            return None
        relative = os.path.relpath(path.resolve(), self.folder.resolve())
        return quote(Path(relative).as_posix())

    def released(self, version: str) -> bool:
        """Whether the folder of a version stands where releases do."""
        return (self.corpus.parent / Path(version).name).is_dir()


def flow(places: Places) -> list[tuple[str, list[StageRow]]]:
    """The lanes of a lifecycle with their titles; those that a profile has nothing of are left out.

    The report comes last: all others lead to it.
    """
    rows = {stage: _row(stage, places) for stage in STAGES}
    lanes = [
        ("The corpus", ["collect", "annotate", "release", "evolve-corpus", "train"]),
        ("The benchmark, apart from it", ["evolve-benchmark"]),
        ("Both end in", ["report"]),
    ]
    found = [(title, [rows[name] for name in names]) for title, names in lanes]
    return [(title, lane) for title, lane in found if any(row.state != "absent" for row in lane)]


def _row(stage: str, places: Places) -> StageRow:
    summary = places.summary
    state = _state(stage, summary)
    there = state in ("made", "stood")
    return StageRow(
        stage,
        _WORDS[stage],
        state,
        _seconds(stage, summary) if there else None,
        "; ".join(_told(stage, summary, there)),
        places.link(places.page(stage)) if there else None,
    )


def _seconds(stage: str, summary: Mapping[str, Any]) -> float | None:
    """A corpus keeps how long it took, also where another command collected it."""
    found = number(summary, "seconds", stage)
    if found is None and stage == "collect":
        return number(summary, "corpus", "seconds", "wall")
    return found


def _state(stage: str, summary: Mapping[str, Any]) -> State:
    if stage == "report":
        return "here"
    if stage not in listed(summary, "stages"):
        return "absent"
    if not part(summary, _PRODUCTS[stage]):
        return "missing"
    return "made" if stage in listed(summary, "made") else "stood"


def _told(stage: str, summary: Mapping[str, Any], there: bool) -> Iterator[str]:
    if not there:
        if stage in listed(summary, "stages"):
            yield _MISSING.get(stage, "")
        return
    match stage:
        case "collect":
            yield many(count(summary, "corpus", "episodes"), "episode")
        case "annotate":
            yield f"{many(count(summary, 'annotation', 'settled', 'steps'), 'label')} that stand"
            waiting = count(summary, "annotation", "queue", "open")
            if waiting:
                yield f"{many(waiting, 'dispute')} open"
        case "release":
            yield text(summary, "release", "version") or ""
        case "train":
            yield f"asked for on {text(summary, 'train', 'release') or 'a release'}"
        case _:
            key = _PRODUCTS[stage]
            yield Policy(key, table(summary, key)).coverage
