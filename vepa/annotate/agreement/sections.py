"""An agreement in reading order: for the terminal, for Markdown and for the page alike."""

from __future__ import annotations

from collections.abc import Iterator

from vepa.annotate.agreement.pair_tables import overall_section, pair_tables
from vepa.annotate.agreement.records import Agreement
from vepa.annotate.agreement.release_tables import drift_section, marked_section
from vepa.annotate.agreement.tables import NOTHING, Section, Table, table_of

__all__ = ["sections"]


def sections(agreement: Agreement) -> Iterator[Section]:
    """All of an agreement, in reading order."""
    yield Section("Annotators", _read(agreement), [_annotators(agreement)])
    for pair in agreement.pairs:
        about = (
            f"{pair.items:,} contents that both judged ({pair.steps:,} steps), from "
            f"{pair.episodes:,} episodes. Intervals: 95 %, {agreement.settings.resamples:,} "
            "resamples of whole episodes."
        )
        yield Section(f"{pair.name}: {pair.heading}", about, pair_tables(pair), pair)
    if agreement.overall is not None:
        yield overall_section(agreement.overall)
    if agreement.drift is not None:
        yield drift_section(agreement.drift)
    if agreement.marked is not None:
        yield marked_section(agreement.marked)


def _read(agreement: Agreement) -> str:
    of = ", ".join(f"{count:,} {kind}" for kind, count in agreement.origins.items())
    return (
        f"{agreement.labels:,} labels ({of or 'none'}) of {agreement.items:,} contents in "
        f"{agreement.steps:,} steps of {agreement.episodes:,} episodes; {agreement.alone:,} "
        "contents were judged by one annotator only."
    )


def _annotators(agreement: Agreement) -> Table:
    rows = [
        (
            each.name,
            ", ".join(each.models) or NOTHING,
            ", ".join(f"{count:,} {kind}" for kind, count in each.origins.items()),
            each.items,
            "judged what others disagree on" if each.picked else "",
        )
        for each in agreement.annotators
    ]
    columns = ["annotator", "model", "origin", "contents", "note"]
    return table_of("annotators", "Who judged", columns, rows, "annotator|model|origin|note")
