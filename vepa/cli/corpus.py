"""`vepa corpus …`: releases of a corpus: made, compared, checked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vepa.cli.console import AsJson, Output, ProjectDir
from vepa.cli.findings import counted

if TYPE_CHECKING:
    from vepa.project import Project
    from vepa.release.checking import Problem

__all__ = ["app"]

app = typer.Typer(
    help="Make releases of a corpus, compare them, check them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_A_RELEASE = "Folder of a release, or a version below artifacts/corpus."


@app.command()
def release(
    corpus: Annotated[
        Path | None,
        typer.Option("--corpus", metavar="DIR", help="An annotated corpus, as `vepa run` left it."),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile", metavar="NAME", help="Whose corpus; demo when --corpus is left out too."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Gets the release; artifacts/corpus."),
    ] = None,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Make a release: tables in parquet and JSON Lines, splits, card, checksums.

    Its version comes from its content: the same corpus is the same version, which is then left as
    it stands. Any secret that is no canary of environments/world.yaml refuses it (exit 2), unless a
    person reviewed the find (data/reviewed.yaml).
    """
    from vepa.collect.releasing import release_corpus
    from vepa.errors import SettingError, Where
    from vepa.project import Project

    if corpus is not None and profile is not None:
        raise SettingError(
            "--corpus and --profile both name a corpus",
            where=Where(field="--profile"),
            remedy="leave one of them out",
        )
    output = Output(json)
    place = Project(project)
    folder = corpus if corpus is not None else _corpus_of(place, profile or "demo")
    if not folder.is_dir():
        raise SettingError(
            "no such folder",
            where=Where(str(folder)),
            remedy="`vepa run` collects a corpus and has it annotated; name its folder",
        )
    made = release_corpus(place, folder, out or place.artifacts_path / "corpus", _said(output))
    output.document(
        {
            "version": made.manifest.version,
            "folder": str(made.folder),
            "made": made.made,
            "notes": list(made.notes),
            **made.manifest.model_dump(mode="json", exclude={"version", "release"}),
        }
    )
    rows = made.manifest.rows
    output.table(
        ("table", *next(iter(rows.values()))),
        [(table, *(f"{count:,}" for count in counts.values())) for table, counts in rows.items()],
        right=next(iter(rows.values())),
    )
    for note in made.notes:
        output.note(note)
    how = "made" if made.made else "stands already, with the same content"
    output.note(f"{made.manifest.version}: {how}: {made.folder}")


@app.command()
def diff(
    before: Annotated[str, typer.Argument(metavar="A", help=_A_RELEASE)],
    after: Annotated[str, typer.Argument(metavar="B", help=_A_RELEASE)],
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit 1 when anything differs.")
    ] = False,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Tell what changed from release A to release B.

    Records added, removed, changed and moved between splits; labels that say something else now;
    figures and provenance, then and now.
    """
    from vepa.cli.corpus_views import tell_difference
    from vepa.project import Project
    from vepa.release.comparing import diff as compare

    output = Output(json)
    place = Project(project)
    found = compare(_release(place, before), _release(place, after))
    output.document(found.as_data())
    if not json:
        tell_difference(output, found)
    raise typer.Exit(1 if exit_code and not found.empty else 0)


@app.command()
def check(
    version: Annotated[str, typer.Argument(metavar="V", help=_A_RELEASE)],
    no_scan: Annotated[
        bool, typer.Option("--no-scan", help="Do not look for secrets; takes half the time.")
    ] = False,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Look whether a release is whole: every byte, every record, every promise.

    Exit 1 when something is wrong.
    """
    from vepa.collect.releasing import canaries_of
    from vepa.project import Project
    from vepa.release.checking import check as look
    from vepa.release.reviewing import load_review

    output = Output(json)
    place = Project(project)
    folder = _release(place, version)
    canaries = None if no_scan else canaries_of(place)
    found = look(folder, canaries, _said(output), load_review(place))
    output.document(
        {
            "ok": found.ok,
            "folder": str(folder),
            "problems": [each.as_data() for each in found.problems],
            "unchecked": list(found.unchecked),
            "notes": list(found.notes),
        }
    )
    for problem in found.problems:
        output.text(_line(problem))
    for each in found.unchecked:
        output.note(f"not checked: {each}")
    for each in found.notes:
        output.note(each)
    state = "whole" if found.ok else counted(len(found.problems), "problem")
    output.note(f"{folder.name}: {state}")
    raise typer.Exit(0 if found.ok else 1)


def _line(problem: Problem) -> str:
    from vepa.errors import Where

    place = Where(problem.file, problem.line, problem.field)
    return f"{place}: {problem.what}\n  remedy: {problem.remedy}"


def _said(output: Output) -> Callable[[str], None]:
    return lambda what: output.note(f"{what} …")


def _corpus_of(place: Project, profile: str) -> Path:
    """The folder that `vepa run` collects a profile's corpus into."""
    from vepa.bench.runs.profile import find_profile

    return place.artifacts_path / "corpus" / find_profile(place, profile).stem


def _release(place: Project, name: str) -> Path:
    """The folder of a release that is named by its path or its version."""
    from vepa.errors import SettingError, Where
    from vepa.policy.schema import nearest
    from vepa.release.layout import MANIFEST

    if Path(name).is_dir():
        return Path(name)
    root = place.artifacts_path / "corpus"
    if name and "/" not in name and (root / name).is_dir():
        return root / name
    known = sorted(path.parent.name for path in root.glob(f"*/{MANIFEST}"))
    raise SettingError(
        f"there is no release {name!r}",
        where=Where(str(root)),
        remedy=nearest(name, known, "releases") if known else "`vepa corpus release` makes one",
    )
