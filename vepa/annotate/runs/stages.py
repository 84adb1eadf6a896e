"""The stages of an annotation; each function is the body of one task of `flows/corpus.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vepa.annotate.agreement import Agreement, agreement, agreement_markdown, agreement_page
from vepa.annotate.arbitration.arbiter import arbitrate
from vepa.annotate.arbitration.desk import fill_queue, read_judged, write_settled
from vepa.annotate.reaching import check_collected
from vepa.annotate.runs.events import settled_events
from vepa.annotate.runs.figures import agreement_figures, cost_figures, pretty, settled_figures
from vepa.annotate.runs.plan import (
    EVENTS,
    FIGURES,
    AnnotationPlan,
    plan_annotation,
    verdicts_hash,
)
from vepa.annotate.runs.session import close_session, open_session, session_of
from vepa.bench.runs.blocks import planned
from vepa.bench.runs.profile import corpus_profile
from vepa.corpus.events import stream_events
from vepa.corpus.labels import stream_labels
from vepa.errors import SettingError
from vepa.files import write_atomic, write_changed

__all__ = [
    "annotate_reader",
    "arbitrate_open",
    "begin_annotation",
    "end_annotation",
    "is_judged",
    "leave_annotation",
    "measure_agreement",
    "read_annotated",
    "settle_again",
    "write_labels",
]


def begin_annotation(
    profile: str, project: str | None = None, artifacts: str | None = None
) -> dict[str, Any]:
    """Read the corpus, hold the folder of labels, open the readers.

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
        `folder`, `readers` (names), `steps`, `items`, `left` (reader -> contents to judge).

    Raises
    ------
    SettingError
        When the profile annotates nothing, or another process annotates into the folder.
    RunError
        When the corpus is not there.
    """
    plan = _planned(profile, project, artifacts)
    plan.inputs  # noqa: B018 - told before a reader is opened: the corpus may not be there
    check_collected(plan.panel, plan.folder)  # what is on its way in a batch is paid for already
    session = open_session(plan)
    dual = session.dual
    return {
        "folder": str(plan.folder),
        "readers": list(dual.readers),
        "steps": len(dual.steps),
        "items": len(dual.items),
        "left": {name: len(dual.left(name)) for name in dual.readers},
    }


def annotate_reader(
    folder: str | Path, reader: str, progress: Callable[[str, int, int], None] | None = None
) -> dict[str, Any]:
    """Let one annotator judge what it has not judged.

    Parameters
    ----------
    folder
        Of `begin_annotation`.
    reader
        Name of its seat.
    progress
        As in `DualAnnotation.judge`.
    """
    session = session_of(folder)
    asked = session.judge(reader, progress)
    return {"reader": reader, "items": len(session.dual.items), "asked": asked}


def write_labels(folder: str | Path) -> dict[str, Any]:
    """Write the labels of all steps, and put what is disputed into the queue."""
    session = session_of(folder)
    outcome = session.dual.write(sum(session.asked.values()))
    new = fill_queue(session.queue, [*outcome.labels, *outcome.failures], session.trajectories)
    return {**outcome.figures(), "disputes": session.queue.state().total, "new_disputes": new}


def arbitrate_open(
    folder: str | Path, progress: Callable[[int], None] | None = None
) -> dict[str, Any]:
    """Let the arbiter settle what is open; without one, people do, at another time."""
    session = session_of(folder)
    plan, seat = session.plan, session.plan.panel.arbiter
    done, failed = 0, 0
    if plan.profile.arbiter and seat is not None and session.queue.state().open:
        arbiter = session.reader(seat, session.ledger.tagged(purpose="arbitrate"))
        result = arbitrate(session.queue, arbiter, workers=plan.profile.workers, progress=progress)
        done, failed = result.settled, len(result.failures)
    state = session.queue.state()
    return {"settled_now": done, "failed_now": failed, **state.document()}


def measure_agreement(folder: str | Path) -> Agreement:
    """Work out how far the labels can be trusted; writes `agreement.json`, `.md` and `.html`."""
    session = session_of(folder)
    plan = session.plan
    measured = agreement(
        stream_labels(plan.folder / "labels.jsonl"),
        session.trajectories,
        taxonomy=plan.rules.taxonomy,
        resamples=plan.profile.resamples,
    )
    write_atomic(plan.folder / "agreement.json", measured.model_dump_json(indent=1) + "\n")
    write_atomic(plan.folder / "agreement.md", agreement_markdown(measured))
    write_atomic(plan.folder / "agreement.html", agreement_page(measured))
    return measured


def end_annotation(
    folder: str | Path, labels: Mapping[str, Any], measured: Agreement
) -> dict[str, Any]:
    """Write what stands, the events with it, and the figures; lets go of the folder.

    Parameters
    ----------
    folder
        Of `begin_annotation`.
    labels
        What `write_labels` said.
    measured
        Of `measure_agreement`.
    """
    session = session_of(folder)
    plan = session.plan
    about = {
        "inputs": plan.inputs,
        "panel": plan.profile.panel,
        "provenance": plan.provenance(),
        "labels": dict(labels),
        "agreement": agreement_figures(measured),
        "cost": cost_figures(session.ledger.totals("purpose")),
    }
    figures = _settle(plan, about)
    close_session(folder)
    return figures


def is_judged(profile: str, project: str | None = None, artifacts: str | None = None) -> bool:
    """Whether all of the corpus was judged as it is now; what people settled since may be new."""
    return _planned(profile, project, artifacts).judged


def settle_again(
    profile: str, project: str | None = None, artifacts: str | None = None
) -> dict[str, Any]:
    """Take up what people settled since the last run; nobody is asked anything.

    Raises
    ------
    SettingError
        When the profile annotates nothing.
    InputError
        When nothing was annotated yet.
    """
    plan = _planned(profile, project, artifacts)
    known = plan.figures()
    if known is None:
        read_judged(plan.folder)  # says what is missing
        raise SettingError(f"{plan.folder / FIGURES} is missing", remedy="run `vepa run` again")
    return _settle(plan, known)


def leave_annotation(folder: str | Path) -> None:
    """End early; what was judged is kept."""
    close_session(folder)


def read_annotated(plan: AnnotationPlan) -> dict[str, Any]:
    """The figures of an annotation that is done."""
    return {**(plan.figures() or {}), "folder": str(plan.folder)}


def _settle(plan: AnnotationPlan, about: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that a verdict changes."""
    with plan.queue() as queue:
        verdicts, state = verdicts_hash(queue), queue.state()
        settlement = write_settled(plan.folder, queue)
    events = list(
        settled_events(stream_events(plan.corpus / "events.step.jsonl"), settlement.settled)
    )
    lines = [event.model_dump_json(exclude_none=True) + "\n" for event in events]
    write_changed(plan.folder / EVENTS, "".join(lines))
    profile = corpus_profile(plan.file, plan.name, plan.folder / EVENTS) if events else None
    if profile is None:
        (plan.corpus / "evolve.yaml").unlink(missing_ok=True)
    else:
        write_changed(plan.corpus / "evolve.yaml", profile)
    figures = {
        **about,
        "queue": state.document(),
        "settled": settled_figures(settlement, plan.rules.taxonomy.keys),
        "verdicts": verdicts,
    }
    write_changed(plan.folder / FIGURES, pretty(figures))
    return {**figures, "folder": str(plan.folder)}


def _planned(profile: str, project: str | None, artifacts: str | None) -> AnnotationPlan:
    return planned(plan_annotation, profile, project, artifacts, block="annotate", does="annotates")
