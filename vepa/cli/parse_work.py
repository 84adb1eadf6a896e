"""The work behind `vepa parse`: traces in, a parser with its budget and cache, event lines out."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vepa.cli.parse_models import Wanted, kept_answers, model_of, no_model, settings_of
from vepa.corpus.events import EventRecord, stream_events
from vepa.corpus.importing import AUTO, Import
from vepa.corpus.trajectory import Trajectory
from vepa.errors import BudgetError, ModelError
from vepa.files import write_output
from vepa.llm import Budget
from vepa.llm.prompts import load_prompt
from vepa.parsing.failures import ParseFailure
from vepa.parsing.llm import TEMPLATE, LLMParser, Parsed
from vepa.parsing.llm.estimating import Estimate, estimate_parsing
from vepa.parsing.opening import check_unit_of, open_parser
from vepa.policy.schema import Schema
from vepa.project import Project

__all__ = ["Outcome", "Source", "estimated", "parsed"]

#: Annotations that argue for a verdict; nothing downstream may read them as facts.
_NEVER_COPIED = ("rationale",)
_EVERY_SECONDS = 10.0


@dataclass
class Outcome:
    """What came of it.

    Attributes
    ----------
    events
        How many.
    failures
        What has no event.
    stopped
        Why not everything was tried; empty when it was.
    tokens, dollars
        What was paid for.
    """

    events: int = 0
    failures: list[ParseFailure] = field(default_factory=list)
    stopped: str = ""
    tokens: int = 0
    dollars: float = 0.0

    @property
    def whole(self) -> bool:
        """Whether everything has its event."""
        return not self.failures and not self.stopped


class Source:
    """The traces of several files, one at a time, and what was skipped of them."""

    def __init__(self, files: list[str], format: str, *, strict: bool, dataset: str | None):
        # Nobody can look at a pipe twice; what comes through one is most often our own.
        kinds = ["vepa" if each == "-" and format == AUTO else format for each in files]
        self._imports = [
            Import(each, kind, strict=strict, dataset=dataset)
            for each, kind in zip(files, kinds, strict=True)
        ]
        self.traces = 0

    def __iter__(self) -> Iterator[Trajectory]:
        for each in self._imports:
            for trajectory in each:
                self.traces += 1
                yield trajectory

    @property
    def skipped(self) -> int:
        """Records that are no traces."""
        return sum(each.report.skipped for each in self._imports)

    @property
    def told(self) -> list[str]:
        """The first of them, in words."""
        return [str(record) for each in self._imports for record in each.report.told]


def estimated(wanted: Wanted, source: Source) -> Estimate:
    """What parsing would take; nothing is sent, and no key is needed."""
    if wanted.model is None:
        parser = open_parser(wanted.parser, no_model, schema=wanted.schema)
        check_unit_of(parser, wanted.parser, wanted.unit)
        return Estimate(sum(1 for _ in source), 0, 0, 0, 0, 0, 0.0)
    place = Project(wanted.project)
    parser = LLMParser(
        None,
        schema=wanted.schema,
        prompt=load_prompt(place, TEMPLATE),
        tokens=wanted.trace_tokens,
    )
    unit = check_unit_of(parser, wanted.parser, wanted.unit)
    settings = settings_of(wanted.settings)
    asked = wanted.model if wanted.otherwise is None else wanted.otherwise
    return estimate_parsing(
        parser, source, unit, asked, settings, kept_answers(wanted, place, settings)
    )


def parsed(
    wanted: Wanted,
    source: Source,
    out: Path | None,
    order_of: Path | None,
    note: Callable[[str], None],
) -> Outcome:
    """Parse everything and write the events: to `out` in one go, else to stdout as they come."""
    order = None if order_of is None else _order(order_of, wanted.schema)
    place = Project(wanted.project)
    budget = Budget(tokens=wanted.max_tokens, dollars=wanted.max_dollars, name="run")
    parser = open_parser(
        wanted.parser,
        lambda name: model_of(name, wanted, place, budget),
        schema=wanted.schema,
        prompt=load_prompt(place, TEMPLATE) if wanted.model else None,
        tokens=wanted.trace_tokens,
        least_confidence=wanted.least_confidence,
    )
    unit = check_unit_of(parser, wanted.parser, wanted.unit)
    outcome = Outcome()
    results = parser.parse_many(
        source, unit, workers=wanted.workers, progress=_Progress(outcome, note)
    )
    lines = _lines(results, outcome)
    if out is None and order is None:
        for _, line in lines:
            sys.stdout.write(line)
            if wanted.model:  # the next one may take a while
                sys.stdout.flush()
    else:
        _write(lines, order, out, outcome)
    outcome.tokens, outcome.dollars = budget.used_tokens, budget.used_dollars
    return outcome


def _lines(results: Iterable[Parsed], outcome: Outcome) -> Iterator[tuple[str, str]]:
    """Id and line of every event; failures and a stop go into the outcome."""
    try:
        for each in results:
            if isinstance(each.result, ParseFailure):
                outcome.failures.append(each.result)
            else:
                outcome.events += 1
                yield each.result.id, json.dumps(_document(each.trajectory, each.result)) + "\n"
    except (BudgetError, ModelError) as error:
        outcome.stopped = str(error)


def _document(trajectory: Trajectory, record: EventRecord) -> dict[str, Any]:
    """The line of an event: now that it is parsed, with the verdict of whoever annotated it."""
    meta = {name: it for name, it in trajectory.meta.items() if name not in _NEVER_COPIED}
    data: dict[str, Any] = {"id": record.id}
    # A verdict on the whole says nothing about each of its calls.
    if record.unit == "trajectory" and trajectory.label is not None:
        data["label"] = trajectory.label
    return {**data, "event": record.event, "unit": record.unit, "meta": {**meta, **record.meta}}


def _write(
    lines: Iterable[tuple[str, str]],
    order: dict[str, int] | None,
    out: Path | None,
    outcome: Outcome,
) -> None:
    found = list(lines)
    if outcome.stopped and not found:
        return  # a key that is missing takes nothing from a file that an earlier run has left
    if order is not None:
        last = len(order)
        found.sort(key=lambda pair: order.get(pair[0], last))
    text = "".join(line for _, line in found)
    if out is None:
        sys.stdout.write(text)
    else:
        write_output(out, text)


def _order(file: Path, schema: Schema) -> dict[str, int]:
    return {record.id: at for at, record in enumerate(stream_events(file, schema))}


class _Progress:
    """A line on stderr now and then."""

    def __init__(self, outcome: Outcome, note: Callable[[str], None]):
        self._outcome, self._note = outcome, note
        self._done = 0
        self._next = time.monotonic() + _EVERY_SECONDS

    def __call__(self, _: Parsed) -> None:
        self._done += 1
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _EVERY_SECONDS
            self._note(f"{self._done} parsed, {len(self._outcome.failures)} failed so far")
