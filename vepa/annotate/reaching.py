"""The way to readers that are asked in bulk: which ones can be, and where their batches stand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vepa.annotate.asking import Annotator
from vepa.annotate.opening import open_reader
from vepa.annotate.panel import Panel, Rules, Seat
from vepa.annotate.shape import TEMPLATE
from vepa.errors import SettingError, Where
from vepa.llm import Budget, Ledger
from vepa.llm.batch import BatchModel, Pace, open_batch_model, vendor_of
from vepa.llm.batch.journal import requests_on_the_way
from vepa.llm.prompts import load_prompt
from vepa.project import Project

__all__ = ["Reach", "check_bulk", "check_collected", "journal_of", "open_bulk"]

_OFFLINE = ("scripted/", "recorded/")


@dataclass(frozen=True)
class Reach:
    """A reader with the way to it.

    Attributes
    ----------
    reader
        The reader.
    model
        Who is asked in bulk; None for a reader that just reads.
    """

    reader: Annotator
    model: BatchModel | None


def check_bulk(panel: Panel) -> None:
    """Refuse a panel whose annotators cannot all be asked in bulk.

    Raises
    ------
    SettingError
        Names the seat.
    """
    for seat in panel.annotators:
        asked = [name for name in (seat.model, seat.otherwise) if name]
        wrong = [name for name in asked if not name.startswith(_OFFLINE)]
        if not wrong or (vendor_of(seat.model) and seat.otherwise is None):
            continue
        raise SettingError(
            f"the annotator {seat.name!r} cannot be asked in bulk: {wrong[0]} has no batch API "
            "that is known here"
            if vendor_of(wrong[0]) is None
            else f"the annotator {seat.name!r} cannot be asked in bulk: only what is missing in "
            f"{seat.model} would go to {wrong[0]}",
            where=Where(field=f"{seat.name}.model"),
            remedy="leave --bulk out, or seat openai/NAME, anthropic/NAME, recorded/NAME or "
            "scripted/NAME",
        )


def check_collected(panel: Panel, folder: Path) -> None:
    """Refuse to ask one by one what is on its way in a batch: it would be paid twice.

    Raises
    ------
    SettingError
        Names the seat.
    """
    for seat in panel.annotators:
        count = requests_on_the_way(journal_of(folder, seat)) if vendor_of(seat.model) else 0
        if count:
            raise SettingError(
                f"{count:,} requests of the annotator {seat.name!r} are on their way in batches",
                where=Where(str(journal_of(folder, seat))),
                remedy="collect them with --bulk first, or move that file away to pay again",
            )


def journal_of(folder: Path, seat: Seat) -> Path:
    """Where a seat's batches are written down: another vendor's are other batches."""
    return folder / "bulk" / f"{seat.name}-{vendor_of(seat.model)}.sqlite"


def open_bulk(
    panel: Panel,
    rules: Rules,
    folder: Path,
    *,
    budget: Budget | None = None,
    ledger: Ledger | None = None,
    project: Project | None = None,
    patience: float | None = None,
) -> list[Reach]:
    """The annotators of a panel, those of vendors with a batch API behind them.

    Parameters
    ----------
    panel, rules
        Who reads, told what.
    folder
        Where labels are kept; `bulk/` in it holds the journals of batches.
    budget, ledger
        As `open_model` takes them.
    project
        Where the prompt is looked up.
    patience
        Seconds that a run waits for batches at most.

    Raises
    ------
    SettingError
        When a seat has no batch API, or a price is missing.
    ModelError
        `refused_key`: a key is missing. Nothing was sent.
    """
    check_bulk(panel)
    project = project or Project()
    prompt = load_prompt(project, TEMPLATE)
    found: list[Reach] = []
    for seat in panel.annotators:
        if vendor_of(seat.model) is None:
            reader = open_reader(seat, panel, rules, budget=budget, ledger=ledger, project=project)
            found.append(Reach(reader, None))
            continue
        model = open_batch_model(
            seat.model,
            journal_of(folder, seat),
            settings=seat.settings,
            budget=budget,
            ledger=ledger,
            pace=Pace.of(seat.settings, patience),
        )
        blind = Annotator(seat, None, rules, panel.trace_tokens, prompt=prompt)
        found.append(Reach(blind, model))
    return found
