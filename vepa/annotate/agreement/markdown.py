"""An agreement as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from vepa.annotate.agreement.records import Agreement
from vepa.annotate.agreement.sections import sections
from vepa.annotate.agreement.tables import Table

__all__ = ["agreement_markdown"]

#: What would end a cell or begin markup.
_ESCAPED = {ord(sign): f"\\{sign}" for sign in "\\|*_`[]<>"}


def agreement_markdown(agreement: Agreement) -> str:
    """The tables of an agreement as a Markdown document."""
    return "\n".join(_lines(agreement))


def _lines(agreement: Agreement) -> Iterator[str]:
    yield "# Agreement of annotators"
    yield ""
    yield f"**{_text(agreement.heading)}**"
    yield ""
    for note in agreement.notes:
        yield f"- {_text(note)}"
    if agreement.notes:
        yield ""
    for section in sections(agreement):
        yield f"## {_text(section.title)}"
        yield ""
        yield _text(section.about)
        yield ""
        for table in section.tables:
            yield from _table(table)


def _table(table: Table) -> Iterator[str]:
    yield f"### {_text(table.title)}"
    yield ""
    yield _row(table.columns)
    yield "|" + "|".join("---:" if name in table.right else "---" for name in table.columns) + "|"
    for row in table.rows:
        yield _row(row)
    yield ""


def _row(cells: object) -> str:
    assert isinstance(cells, (list, tuple))
    return "| " + " | ".join(_text(str(cell)) for cell in cells) + " |"


def _text(text: str) -> str:
    return " ".join(text.translate(_ESCAPED).split())
