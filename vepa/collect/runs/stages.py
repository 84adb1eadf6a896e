"""The stages of a corpus; each function is the body of one task of `flows/corpus.py`."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

from vepa.bench.runs.blocks import planned
from vepa.bench.runs.profile import corpus_profile
from vepa.collect.report.page import corpus_report
from vepa.collect.runs.products import (
    episode_row,
    figures_of,
    jsonl,
    labelled_events,
    outcome_table,
    pretty,
    task_row,
)
from vepa.collect.runs.session import CorpusPlan, CorpusSession, plan_corpus
from vepa.corpus.episode import Episode
from vepa.corpus.events import EventRecord, stream_events
from vepa.errors import RunError
from vepa.files import read_text, write_changed

__all__ = [
    "begin_corpus",
    "collect_task",
    "cost_markdown",
    "end_corpus",
    "leave_corpus",
    "read_figures",
    "session_of",
    "write_products",
    "write_report",
]

#: Events of the policy that evolves on the corpus, when not all have a label.
_LABELLED = "events.labelled.jsonl"
#: Products that a corpus without labels, or without the block `evolve`, has not.
_EVOLVING = ("evolve.yaml", _LABELLED)
#: Failures that are named in a message.
_REASONS = 5
#: Sessions of this process by their folder.
_SESSIONS: dict[str, CorpusSession] = {}
_GUARD = threading.Lock()


def begin_corpus(
    profile: str, project: str | None = None, artifacts: str | None = None
) -> dict[str, Any]:
    """Settle what is collected, hold its folder; offices are started when one is needed.

    Parameters
    ----------
    profile
        Name of a profile, or its path.
    project
        Folder of the project; the working directory when left out.
    artifacts
        Folder of what runs produce; the project's when left out.

    Returns
    -------
    dict
        `folder`, `tasks` (ids), `episodes`, `offices`, `annotated` (whether annotators follow).

    Raises
    ------
    SettingError
        When the profile collects nothing, or another process collects into the folder.
    """
    plan = _planned(profile, project, artifacts)
    with _GUARD:
        _SESSIONS[str(plan.folder)] = CorpusSession(plan)
    return {
        "folder": str(plan.folder),
        "tasks": list(plan.orders),
        "episodes": len(plan.all_orders),
        "offices": plan.profile.collect.offices,
        "annotated": plan.annotated,
    }


def collect_task(folder: str | Path, task: str) -> dict[str, Any]:
    """Play what is missing of one task; its figures."""
    began = time.monotonic()
    settled = session_of(folder).settle(task)
    return task_row(task, settled, time.monotonic() - began)


def leave_corpus(folder: str | Path) -> None:
    """End early, on an error or an interrupt: episodes in the middle end without a result.

    What was played is kept. Does nothing for a folder that this process does not hold.
    """
    with _GUARD:
        session = _SESSIONS.pop(str(folder), None)
    if session is not None:
        session.stop()
        session.close()


def end_corpus(folder: str | Path) -> dict[str, Any]:
    """Stop the offices and let go of the folder; what became of the orders.

    Raises
    ------
    RunError
        When episodes are missing: says which and why. What was played is kept.
    """
    with _GUARD:
        session = _SESSIONS.pop(str(folder), None)
    if session is None:
        raise RunError(f"no corpus is being collected into {folder} by this process")
    session.close()
    result = session.result
    if not result.whole:
        reasons = [f"{each.order}: {each.reason}" for each in result.failures[:_REASONS]]
        if result.stopped:
            reasons.insert(0, result.stopped)
        missing, wanted = len(session.plan.missing()), len(session.plan.all_orders)
        more = len(result.failures) - len(result.failures[:_REASONS])
        if more:
            reasons.append(f"and {more} more")
        raise RunError(
            f"{missing} of {wanted} episodes are missing\n  "
            + "\n  ".join(reasons)
            + "\n  remedy: the same command again plays only what is missing"
        )
    return {"played": result.played, "kept": result.kept, "endings": dict(result.endings)}


def write_products(
    profile: str, project: str | None = None, artifacts: str | None = None,
    seconds: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Write trajectories, events, the table of episodes, `corpus.json` and the report.

    What is there already, byte for byte, is not touched. `events.step.jsonl` and
    `events.call.jsonl` hold the parser's events with the labels that a script gives; `evolve.yaml`
    is the profile with which a policy evolves on the former (on `events.labelled.jsonl` when real
    models acted too: their steps have no label yet; without any label there is no such profile).
    Where annotators judge the corpus, their labels are what a policy evolves on, and the report
    waits for them (`write_report`).

    Parameters
    ----------
    profile, project, artifacts
        As in `begin_corpus`.
    seconds
        Wall time of the collection; None when nothing was played: the time of the last one stays.

    Returns
    -------
    dict
        The figures, `folder`, `report` and `outcomes` (a row a model).

    Raises
    ------
    RunError
        When episodes are missing.
    """
    plan = _planned(profile, project, artifacts)
    episodes = _episodes(plan)
    figures = figures_of(episodes, seconds)
    before = _read(plan.folder / "corpus.json")
    if seconds is None and before is not None and "seconds" in before:
        figures["seconds"]["wall"] = before["seconds"]["wall"]
    steps = list(labelled_events(episodes, "step"))
    products = {
        "trajectories.jsonl": jsonl(episode.trajectory for episode in episodes),
        "events.call.jsonl": jsonl(labelled_events(episodes, "call")),
        "events.step.jsonl": jsonl(steps),
        "episodes.json": pretty([episode_row(episode) for episode in episodes]),
        "corpus.json": pretty({"profile": plan.name, **figures}),
    }
    if not plan.annotated:  # else it evolves on what annotators say, and the page tells of them
        products["report.html"] = corpus_report(plan, episodes, steps, figures)
        products |= _evolving(plan, steps)
        for name in _EVOLVING:
            if name not in products:  # of an earlier profile
                (plan.folder / name).unlink(missing_ok=True)
    for name, text in products.items():
        write_changed(plan.folder / name, text)
    return {
        **figures,
        "folder": str(plan.folder),
        "report": str(plan.folder / "report.html"),
        "outcomes": outcome_table(episodes),
    }


def write_report(profile: str, project: str | None = None, artifacts: str | None = None) -> str:
    """Write the page of a corpus that annotators judged; its path.

    Raises
    ------
    RunError
        When episodes are missing.
    """
    plan = _planned(profile, project, artifacts)
    episodes = _episodes(plan)
    labels = plan.folder / "labels"
    steps = list(stream_events(labels / "events.step.jsonl"))
    figures, annotated = read_figures(plan.folder), _read(labels / "annotation.json")
    path = plan.folder / "report.html"
    write_changed(path, corpus_report(plan, episodes, steps, figures, annotated))
    return str(path)


def read_figures(folder: str | Path) -> dict[str, Any]:
    """The figures of a corpus whose products are written."""
    data: dict[str, Any] = json.loads(read_text(Path(folder) / "corpus.json"))
    return data


def cost_markdown(figures: dict[str, Any]) -> str:
    """What a corpus took, as Markdown."""
    spent, seconds = figures["spent"], figures["seconds"]
    dollars = "unknown (a model without a price)"
    if spent["dollars"] is not None:
        dollars = f"{spent['dollars']:.4f} US dollars"
    return (
        f"# Cost\n\n- {spent['prompt']:,} tokens read, {spent['completion']:,} written, "
        f"{spent['requests']:,} requests\n- {dollars}\n"
        f"- {seconds['services']:.0f} s of the services, {seconds['episodes']:.0f} s of episodes\n"
        f"- {figures['retries']} retries after a service failed\n"
    )


def _read(path: Path) -> dict[str, Any] | None:
    """Figures that stand there; None without readable ones."""
    try:
        data: dict[str, Any] = json.loads(path.read_bytes())
        return data
    except (OSError, ValueError):
        return None


def _evolving(plan: CorpusPlan, steps: list[EventRecord]) -> dict[str, str]:
    """The profile of the policy that evolves on the corpus, on what the scripts meant steps to be.

    A stream scores every event, so those without a label are left out of it.
    """
    labelled = [record for record in steps if record.label is not None]
    if not labelled:
        return {}
    name = "events.step.jsonl" if len(labelled) == len(steps) else _LABELLED
    written = corpus_profile(plan.file, plan.name, plan.folder / name)
    if written is None:
        return {}
    extra = {_LABELLED: jsonl(labelled)} if name == _LABELLED else {}
    return {"evolve.yaml": written, **extra}


def _episodes(plan: CorpusPlan) -> list[Episode]:
    collection = plan.collection
    found = [collection.kept(order) for order in plan.all_orders]
    missing = sum(episode is None for episode in found)
    if missing:
        raise RunError(f"{missing} episodes are missing; `vepa run` collects them")
    return [episode for episode in found if episode is not None]


def _planned(profile: str, project: str | None, artifacts: str | None) -> CorpusPlan:
    return planned(plan_corpus, profile, project, artifacts, block="corpus", does="collects")


def session_of(folder: str | Path) -> CorpusSession:
    """The session of a folder.

    Raises
    ------
    RunError
        When this process has none.
    """
    with _GUARD:
        session = _SESSIONS.get(str(folder))
    if session is None:
        raise RunError(f"no corpus is being collected into {folder} by this process")
    return session
