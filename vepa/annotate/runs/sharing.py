"""Steps that several processes judge: each gets every so-manieth of what a reader has not judged.

A process keeps its judgements in a journal of its own; the process that runs the flow holds the
readers' journals, and takes those judgements up when all are there, or when one of the processes
ended early: what was judged is never asked for again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from vepa.annotate.asking import Annotator, Judged
from vepa.annotate.dual import how_of
from vepa.annotate.items import items_of
from vepa.annotate.journal import LabelJournal
from vepa.annotate.opening import open_reader
from vepa.annotate.runs.plan import AnnotationPlan, plan_annotation
from vepa.annotate.runs.session import AnnotationSession, session_of
from vepa.bench.runs.board import Board
from vepa.corpus.trajectory import stream_trajectories
from vepa.errors import RunError
from vepa.files import write_atomic
from vepa.llm import Ledger, Usage
from vepa.llm.sharing import SharedBudget, dealt
from vepa.project import Project

__all__ = ["gather", "judge_share", "judged", "share_out", "take_up", "withdraw"]

#: Below the folder of labels: journals of shares that were not taken up yet.
_PARTS = "judged/shares"
#: Held meanwhile: a slot of the providers' limits.
Around = Callable[[], AbstractContextManager[None]]


def share_out(folder: str | Path, project: str | None, workers: int) -> dict[str, Any]:
    """Put up the board of an annotation that this process holds.

    Parameters
    ----------
    folder
        Of `begin_annotation`.
    project
        As of `begin_annotation`.
    workers
        Processes that will judge.

    Returns
    -------
    dict
        `token` of the run, and `where`: profile, project and artifacts as absolute paths.
    """
    session = session_of(folder)
    plan = session.plan
    board = Board.begin(plan.folder, plan.inputs, workers)
    SharedBudget.begin(board.budget)
    for name, reader in session.dual.readers.items():
        left = [item.hash for item in session.dual.left(name)]
        work = {"how": how_of(reader), "items": left}
        write_atomic(board.folder / f"{name}.work.json", json.dumps(work))
    places = (plan.file, Project(project).candidates[0], plan.corpus.parents[1])
    return {"token": board.token, "where": [str(place.absolute()) for place in places]}


def judge_share(
    where: Sequence[str], token: str, reader: str, number: int, around: Around = nullcontext
) -> int:
    """Judge one share of what a reader has not judged; how many were asked for.

    Parameters
    ----------
    where, token
        Of `share_out`.
    reader
        Name of its seat.
    number
        Of the share, from 0; one process at a time has it.
    around
        Entered while somebody is asked.

    Raises
    ------
    SettingError
        When this process does not see the folder of the run, would judge something else, or
        another process judges this share.
    BudgetError, ModelError
        As in `DualAnnotation.judge`.
    """
    profile, project, artifacts = where
    board = Board(Path(artifacts) / "corpus" / Path(profile).stem / "labels", token)
    about = board.about()
    with board.alive(f"{reader}-{number}"):
        plan = plan_annotation(Project(project), profile, artifacts=Path(artifacts))
        if plan is None:
            raise RunError(f"{profile} annotates nothing any more")
        board.check(plan.inputs)
        with around():
            return _judge(plan, board, reader, number, int(about["workers"]))


def _judge(plan: AnnotationPlan, board: Board, reader: str, number: int, workers: int) -> int:
    work = json.loads((board.folder / f"{reader}.work.json").read_bytes())
    left, items = set(work["items"][number::workers]), {}
    for trajectory in stream_trajectories(plan.trajectories):
        items.update({each.hash: each for each in items_of(trajectory) if each.hash in left})
    asked = _reader(plan, board, reader, number, workers)
    with LabelJournal(plan.folder / _PARTS / f"{reader}-{number}.jsonl", work["how"]) as journal:
        open_ = [item for item in items.values() if journal.get(item.hash) is None]

        def keep(judged: Judged) -> None:
            journal.add(judged)
            board.about()  # a run that died, or was ended, pays for nothing more

        at_once = max(1, plan.profile.workers // workers)
        for _ in asked.judge_many(open_, workers=at_once, keep=keep):
            pass
    return len(open_)


def _reader(
    plan: AnnotationPlan, board: Board, reader: str, number: int, workers: int
) -> Annotator:
    """A seat with its model behind it, and the part of this process in the model's limits."""
    seat = next(each for each in plan.panel.annotators if each.name == reader)
    limits = plan.panel.budget
    budget = SharedBudget(
        board.budget, f"{reader}-{number}", tokens=limits.tokens, dollars=limits.dollars,
        seconds=None if limits.minutes is None else limits.minutes * 60,
    )  # fmt: skip
    return open_reader(
        seat.model_copy(update={"settings": dealt(seat.settings, workers)}),
        plan.panel,
        plan.rules,
        budget=budget,
        ledger=Ledger(plan.folder / "ledger.jsonl").tagged(purpose="annotate"),
        project=plan.project,
    )


def judged(folder: str | Path) -> int:
    """Judgements of shares that were not taken up yet."""
    return sum(path.read_bytes().count(b"\n") for path in (Path(folder) / _PARTS).glob("*.jsonl"))


def gather(folder: str | Path, token: str, asked: int) -> None:
    """Take up all that was judged, and what it cost; the board comes down.

    Parameters
    ----------
    folder, token
        As of `share_out`.
    asked
        Judgements that were missing.

    Raises
    ------
    RunError
        When a step was judged by nobody: what a process wrote does not come here.
    """
    session = session_of(folder)
    board = Board(session.plan.folder, token)
    tokens, dollars = SharedBudget.taken(board.budget)
    session.budget.count(Usage(tokens, 0, dollars, 0))
    if left := take_up(folder):
        raise RunError(
            f"workers judged all steps, and {left} judgements are not in {folder}: what they write "
            "does not come here"
        )
    session.asked["shares"] = asked
    board.end()


def take_up(folder: str | Path) -> int:
    """Take up what shares of this run, or of one that was killed, have judged; what is left.

    Raises
    ------
    SettingError
        When a process still judges one of them.
    """
    session = session_of(folder)
    parts = session.plan.folder / _PARTS
    for path in sorted(parts.glob("*.jsonl")):
        reader = path.stem.rpartition("-")[0]
        if reader in session.dual.readers:
            _take(session, reader, path)
        path.unlink()
    if parts.is_dir():
        parts.rmdir()
    return sum(len(session.dual.left(reader)) for reader in session.dual.readers)


def withdraw(folder: str | Path, token: str) -> None:
    """End early: processes at work find no board any more."""
    Board(Path(folder), token).withdraw()


def _take(session: AnnotationSession, reader: str, path: Path) -> None:
    known = session.dual
    open_ = {item.hash for item in known.left(reader)}
    with LabelJournal(path, how_of(known.readers[reader])) as journal:
        for judged in journal.judged():
            if judged.item in open_:
                known.keep(reader, judged)
