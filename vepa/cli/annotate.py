"""`vepa annotate`: two readers judge every step of a corpus."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vepa.cli.console import AsJson, Output, ProjectDir
from vepa.cli.findings import counted

if TYPE_CHECKING:
    from vepa.annotate.dual import Outcome
    from vepa.annotate.forecast import Forecast
    from vepa.annotate.panel import Panel, Rules
    from vepa.corpus.trajectory import Trajectory
    from vepa.llm import Ledger
    from vepa.project import Project

__all__ = ["annotate"]

#: A word on the way, each so many judgements.
_TOLD = 100


def annotate(
    traces: Annotated[
        str,
        typer.Argument(metavar="TRACES", help="Trajectories, or anything `vepa import` reads."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where labels are kept.")],
    panel: Annotated[
        str,
        typer.Option(
            "--panel", metavar="NAME", help="A file in annotation/: panel.demo.yaml needs no key."
        ),
    ] = "panel.yaml",
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=64, help="Requests at once, a reader.")
    ] = 8,
    bulk: Annotated[
        bool,
        typer.Option(
            "--bulk", help="By the vendors' batch APIs: half the price, answers within a day."
        ),
    ] = False,
    no_wait: Annotated[
        bool,
        typer.Option(
            "--no-wait", help="With --bulk: submit and leave; the same command collects later."
        ),
    ] = False,
    patience: Annotated[
        float,
        typer.Option("--patience", min=0, metavar="HOURS", help="With --bulk: how long to wait."),
    ] = 26.0,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Tell tokens and cost; nothing is written or sent."),
    ] = False,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Let the two annotators of a panel judge every step, blind to each other.

    DIR gets labels.jsonl and failures.jsonl. What was judged is kept at once, so the same command
    goes on where it stopped and pays for nothing twice. Exit 1 when a step got no usable judgement.
    """
    from vepa.annotate.panel import load_panel
    from vepa.corpus.importing import read_traces
    from vepa.errors import SettingError, Where
    from vepa.project import Project

    if no_wait and not bulk:
        raise SettingError(
            "--no-wait is for batches",
            where=Where(field="--no-wait"),
            remedy="add --bulk, or leave it out",
        )
    output = Output(json)
    place = Project(project)
    found, rules = load_panel(place, panel)
    if dry_run:
        from vepa.annotate.forecast import forecast
        from vepa.annotate.reaching import check_bulk

        if bulk:
            check_bulk(found)
        told = forecast(found, rules, out, read_traces(traces), bulk=bulk, project=place)
        _foretell(output, told)
        return
    work = _Work(output, out, found, rules, place, workers)
    if bulk:
        outcome, left = work.in_bulk(read_traces(traces), not no_wait, patience * 3600)
    else:
        outcome, left = work.one_by_one(read_traces(traces)), {}
    _tell(output, outcome, out, left)
    raise typer.Exit(1 if outcome.failures else 0)


@dataclass(frozen=True)
class _Work:
    """An annotation as it was asked for."""

    output: Output
    out: Path
    panel: Panel
    rules: Rules
    project: Project
    workers: int

    def one_by_one(self, traces: Iterable[Trajectory]) -> Outcome:
        """Every step its own request."""
        from vepa.annotate import dual
        from vepa.annotate.opening import budget_of, open_readers
        from vepa.annotate.reaching import check_collected
        from vepa.cli.progress import Steps

        check_collected(self.panel, self.out)
        readers = open_readers(
            self.panel,
            self.rules,
            budget=budget_of(self.panel),
            ledger=self._ledger(),
            project=self.project,
        )
        with Steps("judging", tuple(reader.seat.name for reader in readers)) as told:

            def progress(name: str, done: int, of: int) -> None:
                if done == of or not done % _TOLD:
                    told(f"{name}: {done:,} of {of:,}")

            return dual.annotate(readers, self.out, traces, workers=self.workers, progress=progress)

    def in_bulk(
        self, traces: Iterable[Trajectory], wait: bool, patience: float
    ) -> tuple[Outcome, dict[str, int]]:
        """Many steps a batch; also how many requests of each reader are still on their way."""
        from vepa.annotate.bulk import BulkAnnotation
        from vepa.annotate.dual import DualAnnotation
        from vepa.annotate.opening import budget_of
        from vepa.annotate.reaching import open_bulk
        from vepa.cli.progress import Steps

        budget = budget_of(self.panel)
        reached = open_bulk(
            self.panel,
            self.rules,
            self.out,
            budget=budget,
            ledger=self._ledger(),
            project=self.project,
            patience=patience,
        )
        readers = [reach.reader for reach in reached]
        names = tuple(reader.seat.name for reader in readers)
        with (
            DualAnnotation(readers, self.out, traces, self.workers) as annotation,
            Steps("judging in bulk", names) as told,
        ):
            bulk = BulkAnnotation(annotation, reached, budget)
            asked = bulk.run(wait=wait, told=lambda name, where: told(f"{name}: {where}"))
            return annotation.write(asked), bulk.on_the_way

    def _ledger(self) -> Ledger:
        from vepa.llm import Ledger

        return Ledger(self.out / "ledger.jsonl").tagged(purpose="annotate")


def _tell(output: Output, outcome: Outcome, out: Path, left: dict[str, int]) -> None:
    figures = outcome.figures()
    output.document({"out": str(out), **figures, "on_the_way": left})
    origins = ", ".join(f"{count:,} {name}" for name, count in figures["origins"].items())
    output.note(
        f"{counted(outcome.steps, 'step')}, {counted(outcome.items, 'distinct content')}, "
        f"{counted(len(outcome.labels), 'label')} ({origins or 'none'}); "
        f"{outcome.asked:,} asked now"
    )
    for failure in outcome.failures[:10]:
        output.note(f"  no judgement: {failure.trajectory}#{failure.step}: {failure.reason}")
    if len(outcome.failures) > 10:
        output.note(f"  … and {len(outcome.failures) - 10:,} more in failures.jsonl")
    for name, count in left.items():
        if count:
            output.note(
                f"  {name}: {counted(count, 'request')} on their way; the same command collects "
                "the answers"
            )


def _foretell(output: Output, told: Forecast) -> None:
    figures = told.figures()
    output.document(figures)
    columns = ["reader", "model", "judged", "on its way", "to ask", "read", "written", "dollars",
               "at most"]  # fmt: skip
    rows = [
        [
            seat.seat,
            f"{seat.model}{' (batch)' if seat.batch else ''}",
            *(f"{n:,}" for n in (seat.judged, seat.on_the_way, seat.to_ask)),
            *(f"{n:,}" for n in (seat.prompt, seat.completion)),
            _price(seat.dollars),
            _price(seat.at_most),
        ]
        for seat in told.seats
    ]
    title = f"{counted(told.steps, 'step')}, {counted(told.items, 'distinct content')}"
    output.table(columns, rows, title=title, right=columns[2:])
    assumed = figures["assumed"]
    output.text(
        f"Guessed: tokens read, on the high side; {assumed['answer_tokens']} written an answer "
        "(more by models that think first); no repairs. `at most`: every answer at its limit."
    )
    if len(told.seats) > 2:
        output.text(
            f"Assumed: the arbiter is asked about {assumed['arbiter_share']:.1%} of them, as many "
            "as the recorded passes saw differently."
        )
    limits = [f"{told.budget['dollars']:g} dollars"] if told.budget["dollars"] is not None else []
    limits += [f"{told.budget['tokens']:,} tokens"] if told.budget["tokens"] is not None else []
    enough = {True: "enough", False: "not enough", None: "nobody knows whether that is enough"}
    output.text(
        f"All together {told.tokens:,} tokens, {_price(told.dollars, ' dollars')}; the panel's "
        f"budget: "
        f"{' and '.join(limits) or 'no limit'}: {enough[told.enough]}."
    )


def _price(dollars: float | None, unit: str = "") -> str:
    return "price unknown" if dollars is None else f"{dollars:,.2f}{unit}"
