"""The work behind `vepa arbitrate run`: the queue filled, the arbiter asked, the rest told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from vepa.annotate.arbitration.arbiter import arbitrate
from vepa.annotate.arbitration.desk import (
    disputes_of,
    fill_queue,
    open_queue,
    read_judged,
    write_settled,
)
from vepa.annotate.arbitration.foretelling import foretell
from vepa.annotate.arbitration.queue import QUEUE_FILE, ArbitrationQueue
from vepa.annotate.arbitration.records import Dispute
from vepa.annotate.opening import budget_of, open_reader
from vepa.annotate.panel import Panel, Rules
from vepa.annotate.settling import Settlement
from vepa.cli.console import Output
from vepa.cli.findings import counted
from vepa.cli.progress import Steps
from vepa.corpus.importing import read_traces
from vepa.errors import BudgetError, ModelError
from vepa.llm import Ledger
from vepa.project import Project

__all__ = ["Work"]

#: A word on the way, each so many cases.
_TOLD = 100


class Work:
    """The arbiter at the queue of a folder.

    Parameters
    ----------
    output
        Where results are told.
    folder
        Of the annotation.
    panel, rules
        Whose arbiter, told what.
    project
        Where the prompt is looked up.
    """

    def __init__(self, output: Output, folder: Path, panel: Panel, rules: Rules, project: Project):
        self.output, self.folder, self.panel = output, folder, panel
        self.rules, self.project = rules, project

    def foretell(self, traces: str | None, again: bool) -> None:
        """Tell what would be asked; the queue stays as it is."""
        if traces is None:
            with self._queue() as queue:
                cases = queue.open_disputes()
        else:
            cases = disputes_of(read_judged(self.folder), read_traces(traces))
        told = foretell(self.panel, self.rules, self._waiting(cases, again), project=self.project)
        if told is None:
            self.output.document({"arbiter": None, "cases": len(cases)})
            self.output.text(f"the panel has no arbiter: {counted(len(cases), 'case')} for people")
            return
        self.output.document(told.document())
        cost = "price unknown" if told.dollars is None else f"{told.dollars:,.2f} dollars"
        most = "" if told.at_most is None else f", {told.at_most:,.2f} at most"
        self.output.text(
            f"{counted(told.cases, 'open case')}; {told.to_ask:,} to be asked of {told.model}: "
            f"about {told.prompt:,} tokens read and {told.completion:,} written, {cost}{most}"
        )

    def done(self, traces: str | None, again: bool, workers: int) -> int:
        """Fill, ask, write; the exit code."""
        new, stopped = 0, ""
        judged = read_judged(self.folder)
        opened = (
            self._queue()
            if traces is None
            else ArbitrationQueue(self.folder / QUEUE_FILE, self.rules.taxonomy)
        )
        with opened as queue:
            if traces is not None:
                new = fill_queue(queue, judged, read_traces(traces))
            before = queue.state()
            failed = 0
            if self.panel.arbiter is not None and before.open:
                failed, stopped = self._asked(queue, again, workers)
            settlement = write_settled(self.folder, queue)
            after = queue.state()
        figures = {
            "new": new,
            "settled_now": after.settled - before.settled,
            "failed_now": failed,
            "left": after.open,
            "stopped": stopped,
            **_steps(settlement),
        }
        self._tell(figures)
        return 1 if failed or stopped else 0

    def _asked(self, queue: ArbitrationQueue, again: bool, workers: int) -> tuple[int, str]:
        """On how many cases the arbiter failed, and why it could not go on."""
        assert self.panel.arbiter is not None
        seat = self.panel.arbiter
        if again:
            queue.forget_skips(seat.name)
        before, stopped = len(queue.skips_of(seat.name)), ""
        arbiter = open_reader(
            seat,
            self.panel,
            self.rules,
            budget=budget_of(self.panel),
            ledger=Ledger(self.folder / "ledger.jsonl").tagged(purpose="arbitrate"),
            project=self.project,
        )
        with Steps("arbitrating", (seat.name,)) as told:

            def progress(done: int) -> None:
                if not done % _TOLD:
                    told(f"{seat.name}: {done:,}")

            try:
                arbitrate(queue, arbiter, workers=workers, progress=progress)
            except (BudgetError, ModelError) as error:
                stopped = str(error)
        return len(queue.skips_of(seat.name)) - before, stopped

    def _queue(self) -> ArbitrationQueue:

        return open_queue(self.folder, self.rules.taxonomy)

    def _waiting(self, cases: Iterable[Dispute], again: bool) -> list[Dispute]:
        """The cases that the arbiter would be asked about: nobody settled or failed on them."""
        if self.panel.arbiter is None or not (self.folder / QUEUE_FILE).is_file():
            return list(cases)
        with self._queue() as queue:
            out = set(queue.standing())
            out |= set() if again else set(queue.skips_of(self.panel.arbiter.name))
        return [case for case in cases if case.item not in out]

    def _tell(self, figures: dict[str, Any]) -> None:
        self.output.document(figures)
        self.output.text(
            f"{counted(figures['new'], 'new case')}; {figures['settled_now']:,} settled now, "
            f"{figures['failed_now']:,} failed, {figures['left']:,} left to people"
        )
        how = ", ".join(f"{count:,} {name}" for name, count in figures["how"].items())
        self.output.text(
            f"{counted(figures['steps'], 'step')} settled ({how or 'none'}), "
            f"{figures['open']:,} open, {figures['unjudged']:,} not judged by both"
        )
        if figures["stopped"]:
            self.output.note(f"stopped: {figures['stopped']}")


def _steps(settlement: Settlement) -> dict[str, Any]:
    """How many steps stand how, and how many do not."""
    how = Counter(label.how for label in settlement.settled)
    return {
        "steps": len(settlement.settled),
        "how": dict(sorted(how.items())),
        "open": sum(len(each.steps) for each in settlement.open),
        "unjudged": sum(len(each.steps) for each in settlement.unjudged),
    }
