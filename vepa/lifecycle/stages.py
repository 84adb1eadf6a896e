"""The stages of a lifecycle that are its own; each is the body of one task of a flow."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vepa import __version__
from vepa.bench.comparison import standing
from vepa.bench.runs.run import Run
from vepa.bench.runs.stages import read_summary
from vepa.collect.runs.session import CorpusPlan
from vepa.collect.runs.stages import read_figures
from vepa.errors import RunError, SettingError, Where
from vepa.files import write_atomic
from vepa.lifecycle.compared import release_changes
from vepa.lifecycle.plan import PREVIOUS, SUMMARY, TRAIN, Lifecycle, plan_lifecycle
from vepa.lifecycle.releasing import release_planned
from vepa.lifecycle.report.page import PAGE, lifecycle_report
from vepa.project import Project
from vepa.release.layout import read_manifest

__all__ = [
    "begin_lifecycle",
    "done",
    "held",
    "note_training",
    "release",
    "release_markdown",
    "stage_table",
    "summarise",
    "training_request",
]

#: Of a run's summary, for people.
_TOLD = (
    "covered_macro_f1", "full_macro_f1", "final_coverage", "mean_coverage", "regression_rate",
    "unsafe_allowed", "safe_refused",
)  # fmt: skip

#: What is collected, by profile, project and artifacts, while this process holds a lifecycle:
#: reading all tasks takes seconds.
_CORPORA: dict[tuple[str, str | None, str | None], CorpusPlan | None] = {}


def begin_lifecycle(
    profile: str,
    project: str | None = None,
    artifacts: str | None = None,
    start: str | None = None,
) -> dict[str, Any]:
    """Settle what is to be done.

    Parameters
    ----------
    profile
        Name of a profile, or its path.
    project
        Folder of the project; the working directory when left out.
    artifacts
        Folder of what runs produce; the project's when left out.
    start
        A stage from which everything is made again; episodes and judgements are kept.

    Returns
    -------
    dict
        `stages` of the profile, `open` ones, `folder`, and `own`, the profile of the policy that
        evolves on the corpus.
    """
    lifecycle = _planned(profile, project, artifacts)
    if start is not None:
        lifecycle.forget(start)
    own = None if lifecycle.corpus is None else str(lifecycle.corpus.folder / "evolve.yaml")
    return {
        "stages": list(lifecycle.stages),
        "open": lifecycle.open(),
        "folder": str(lifecycle.folder),
        "own": own,
    }


@contextmanager
def held(profile: str, project: str | None = None, artifacts: str | None = None) -> Iterator[None]:
    """Hold the folder of a lifecycle: two runs of a profile at once would do the same work twice.

    What is collected is read once meanwhile.

    Raises
    ------
    SettingError
        When another process holds it.
    """
    lifecycle = _planned(profile, project, artifacts)
    key = (profile, project, artifacts)
    try:
        lifecycle.folder.mkdir(parents=True, exist_ok=True)
        handle = open(lifecycle.folder / ".lock", "wb")  # noqa: SIM115 - held below
    except OSError as error:
        raise RunError(f"{lifecycle.folder} cannot be written to: {error.strerror}") from None
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SettingError(
                f"another process runs profile {lifecycle.name}",
                where=Where(str(lifecycle.folder)),
                remedy="wait for it; the same command then finds its work done",
            ) from None
        _CORPORA[key] = lifecycle.corpus
        try:
            yield
        finally:
            del _CORPORA[key]


def done(profile: str, project: str | None, artifacts: str | None, stage: str) -> bool:
    """Whether the products of a stage stand, and are of what stands before it."""
    return _planned(profile, project, artifacts).done(stage)


def release(
    profile: str, project: str | None = None, artifacts: str | None = None
) -> dict[str, Any]:
    """Release the corpus as it is annotated now.

    Returns
    -------
    dict
        `version`, `folder`, `made` (whether it is new), `rows`, `notes` (what else is to be told).
    """
    lifecycle = _planned(profile, project, artifacts)
    if lifecycle.corpus is None or lifecycle.annotation is None:
        raise SettingError(
            f"profile {profile!r} has no annotated corpus to release",
            where=Where(field="release"),
            remedy="give it the blocks `corpus`, `annotate` and `release`",
        )
    wanted = lifecycle.profile.release
    made = release_planned(
        lifecycle.project,
        lifecycle.corpus,
        lifecycle.annotation,
        None if wanted is None else wanted.name,
    )
    return {
        "version": made.manifest.version,
        "folder": str(made.folder),
        "made": made.made,
        "rows": made.manifest.rows,
        "notes": list(made.notes),
    }


def training_request(
    profile: str, project: str | None = None, artifacts: str | None = None
) -> dict[str, Any]:
    """What is handed to the deployment that trains: its name and the parameters of its run."""
    lifecycle = _planned(profile, project, artifacts)
    train = lifecycle.profile.train
    if train is None:
        raise SettingError(
            f"profile {profile!r} trains nothing",
            where=Where(field="train"),
            remedy="give it a block `train` with `deployment` and `recipe`",
        )
    made = release(profile, project, artifacts)
    return {
        "deployment": train.deployment,
        "release": made["version"],
        "parameters": {"release": made["folder"], "recipe": train.recipe},
    }


def note_training(
    profile: str,
    project: str | None,
    artifacts: str | None,
    asked: Mapping[str, Any],
) -> None:
    """Keep which run was asked for, so that no release is trained on twice by itself."""
    lifecycle = _planned(profile, project, artifacts)
    write_atomic(lifecycle.folder / TRAIN, json.dumps(dict(asked), indent=1) + "\n")


def summarise(
    profile: str,
    project: str | None = None,
    artifacts: str | None = None,
    seconds: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Write what all stages left, and its page; the summary before stands in it under `before`.

    Parameters
    ----------
    profile, project, artifacts
        As in `begin_lifecycle`.
    seconds
        Stage -> wall time of those that were made now.
    """
    lifecycle = _planned(profile, project, artifacts)
    path, page = lifecycle.folder / SUMMARY, lifecycle.folder / PAGE
    before = _before(path) or _before(path.with_name(PREVIOUS))
    now: dict[str, Any] = {
        "profile": lifecycle.name,
        "at": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "stages": list(lifecycle.stages),
        "seconds": {**(before or {}).get("seconds", {}), **(seconds or {})},
        "made": sorted(seconds or {}),
        "vepa": __version__,
        "benchmark": _run(lifecycle.benchmark),
    }
    if lifecycle.corpus is not None:
        now["corpus"] = read_figures(lifecycle.corpus.folder)
        now["user"] = lifecycle.corpus.profile.collect.user
        now["runtime"] = lifecycle.corpus.profile.runtime
    if lifecycle.annotation is not None:
        now["annotation"] = lifecycle.annotation.figures()
    if lifecycle.profile.release is not None:
        folder = Path(release(profile, project, artifacts)["folder"])
        now["release"] = read_manifest(folder).model_dump(mode="json") | {"folder": str(folder)}
        changes = release_changes(before, folder)
        if changes is not None:
            now["release"]["changes"] = changes
    own = lifecycle.own()
    if own is not None:
        now["corpus_policy"] = _run(own)
    if lifecycle.profile.train is not None:
        now["train"] = lifecycle.asked_to_train()
    if before is not None:
        now["before"] = {name: value for name, value in before.items() if name != "before"}
    # The page first: where a summary stands, its page does too.
    write_atomic(page, lifecycle_report(now, lifecycle.folder))
    write_atomic(path, json.dumps(now, indent=1, ensure_ascii=False) + "\n")
    path.with_name(PREVIOUS).unlink(missing_ok=True)
    return {**now, "summary": str(path), "page": str(page)}


def release_markdown(made: Mapping[str, Any]) -> str:
    """A release's rows as Markdown."""
    splits = list(next(iter(made["rows"].values())))
    lines = [
        f"# Release {made['version']}", "",
        "| table | " + " | ".join(splits) + " |", "|---" * (1 + len(splits)) + "|",
    ]  # fmt: skip
    for table, rows in made["rows"].items():
        lines.append(f"| {table} | " + " | ".join(f"{rows[split]:,}" for split in splits) + " |")
    notes = [f"- {note}" for note in made["notes"]]
    return "\n".join([*lines, "", f"In `{made['folder']}`", "", *notes])


def stage_table(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row a stage: whether it was made now, and how long it took when it was made last."""
    return [
        {
            "stage": stage,
            "made": "now" if stage in summary["made"] else "stood",
            "seconds": summary["seconds"].get(stage),
        }
        for stage in summary["stages"]
        if stage != "report"
    ]


def _run(run: Run) -> dict[str, Any]:
    summary = read_summary(run.folder)
    return {
        "id": run.id,
        "folder": str(run.folder),
        "policy_hash": summary["policy_hash"],
        "rules": summary["rules"],
        "wrong_feedback": summary.get("wrong_feedback"),
        "figures": {name: summary[name] for name in _TOLD},
        "confusion": summary["confusion"],
        "standing": standing(summary),
    }


def _before(path: Path) -> dict[str, Any] | None:
    """What the run before left; None for the first, or where it cannot be read."""
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) else None


def _planned(profile: str, project: str | None, artifacts: str | None) -> Lifecycle:
    place = Path(artifacts) if artifacts else None
    corpus = _CORPORA.get((profile, project, artifacts))
    return plan_lifecycle(Project(project), profile, artifacts=place, corpus=corpus)
