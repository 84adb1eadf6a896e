"""`vepa fetch`: the raw files of published benchmarks, into the cache."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vepa.cli.console import AsJson, Output, ProjectDir
from vepa.cli.findings import counted

if TYPE_CHECKING:
    from vepa.corpus.benchmarks import Benchmark, Fetched

__all__ = ["fetch"]


def fetch(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A benchmark; all are listed without it.")
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="PATH", help="Take the files from here, not from upstream."),
    ] = None,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Bring the files of a benchmark into the cache, and print the path that `vepa import` takes.

    They are downloaded from the address in data/benchmarks.yaml, or taken from a path; checksum,
    size and format are checked, and what is there already is not downloaded again.
    """
    from vepa.corpus import benchmarks as room
    from vepa.errors import SettingError
    from vepa.project import Project

    out = Output(json)
    known = room.benchmarks(Project(project), name)
    if name is None:
        if source is not None:
            raise SettingError("--from PATH needs the name of a benchmark", remedy="vepa fetch")
        _list(out, known)
        return
    found = room.fetch(known[name], source, note=out.note)
    if known[name].note:
        out.note(known[name].note)
    out.note(
        f"{known[name].title}: {counted(found.records, 'record')} in "
        f"{counted(len(found.sums), 'file')}, {len(found.new)} of them new; cite: "
        f"{known[name].citation}"
    )
    out.document(_told(known[name], found))
    if not json:
        out.text(str(found.path))


def _told(benchmark: Benchmark, found: Fetched) -> dict[str, Any]:
    return {
        "name": benchmark.name,
        "path": str(found.path),
        "format": benchmark.format,
        "records": found.records,
        "listed_records": benchmark.records,
        "licence": benchmark.licence,
        "citation": benchmark.citation,
        "files": [
            {
                "name": name,
                "sha256": total,
                "new": name in found.new,
                "pinned": name in found.pinned,
            }
            for name, total in found.sums.items()
        ],
    }


def _list(out: Output, known: dict[str, Benchmark]) -> None:
    from vepa.corpus.benchmarks import is_fetched, place_of

    rows = [
        {
            "name": each.name,
            "title": each.title,
            "format": each.format,
            "records": each.records,
            "files": len(each.files),
            "licence": each.licence,
            "home": each.home,
            "path": str(place_of(each)) if is_fetched(each) else None,
        }
        for each in known.values()
    ]
    out.document({"benchmarks": rows})
    out.table(
        ["name", "title", "records", "files", "licence", "here"],
        [
            [
                row["name"], row["title"], row["records"] or "", row["files"], row["licence"],
                "yes" if row["path"] else "",
            ]
            for row in rows
        ],
        right=["records", "files"],
    )  # fmt: skip
