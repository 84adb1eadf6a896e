"""`vepa train`: data for the two adapters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vepa.cli.console import AsJson, Output, ProjectDir
from vepa.cli.findings import counted
from vepa.cli.inputs import SchemaOption, schema_of

if TYPE_CHECKING:
    from vepa.tuning import Built

__all__ = ["app"]

app = typer.Typer(help="Train small local models: parser and judge.", invoke_without_command=True)


class KindChoice(StrEnum):
    """Which adapter learns from the data."""

    parser = "parser"
    judge = "judge"


@app.callback(invoke_without_command=True)
def train(
    context: typer.Context,
    recipe: Annotated[
        str | None, typer.Option("--recipe", metavar="NAME", help="Of training/, or a path.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="FOLDER", help="What `train data` made.")
    ] = None,
    out_folder: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="The adapter; artifacts/tuning."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where a training was stopped or killed.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what memory and time it takes.")
    ] = False,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Train an adapter by a recipe, on data that `vepa train data` made.

    It is kept in artifacts/tuning/adapters/RECIPE-DATA, with its tokenizer, recipe, figures and a
    card. A training that was killed goes on with --resume and ends with the same loss.
    """
    if context.invoked_subcommand is not None:
        return
    from vepa.cli.train_work import estimated, trained
    from vepa.errors import SettingError, Where

    if recipe is None or data is None:
        raise SettingError(
            "nothing says how to train, and on what",
            where=Where(field="--recipe" if recipe is None else "--data"),
            remedy="vepa train --recipe smoke --data FOLDER, with a folder of `vepa train data`",
        )
    out = Output(json)
    if dry_run:
        estimated(out, project, recipe, data)
    else:
        trained(out, project, recipe, data, out_folder, resume=resume)


@app.command("data")
def data(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="SOURCES…", help="Folders of releases, or files of traces."),
    ],
    kind: Annotated[
        KindChoice, typer.Option("--kind", help="Trace to event, or to verdict and triggers.")
    ] = KindChoice.parser,
    events: Annotated[
        list[str] | None,
        typer.Option(
            "--events", metavar="FILE", help="Typed events of the traces; may be given again."
        ),
    ] = None,
    tokenizer: Annotated[
        str,
        typer.Option(
            "--tokenizer", metavar="PATH", help="Of the base: package:smollm2, or a folder."
        ),
    ] = "approximate",
    trace_tokens: Annotated[
        int, typer.Option("--trace-tokens", help="Longer traces are shortened.")
    ] = 200,
    out_folder: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Data goes in here; artifacts/tuning."),
    ] = None,
    schema: SchemaOption = None,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Make training data: chats of which only the answer is learned, in three splits.

    A release keeps its splits. Of benchmark traces no task, trace or template stands in two splits,
    and those for evaluation only (ATBench) stand in test alone. The folder is named by the hash of
    what is in it; the same sources give the same bytes.
    """
    from vepa.corpus.benchmarks import benchmarks
    from vepa.corpus.taxonomy import load_taxonomy
    from vepa.parsing.lora import open_tokenizer
    from vepa.project import Project
    from vepa.tuning import Request, build

    out = Output(json)
    place = Project(project)
    built = build(
        Request(
            kind=kind.value,
            sources=sources,
            events=events or [],
            tokenizer=open_tokenizer(tokenizer),
            trace_tokens=trace_tokens,
            schema=schema_of(schema),
            taxonomy=load_taxonomy(place),
            evaluation_only=frozenset(
                each.format for each in benchmarks(place).values() if each.evaluation_only
            ),
        ),
        out_folder or place.artifacts_path / "tuning" / "data",
    )
    out.document(
        {
            "folder": str(built.folder),
            "made": built.made,
            **built.manifest.model_dump(mode="json"),
        }
    )
    _tell(out, built)


def _tell(out: Output, built: Built) -> None:
    manifest = built.manifest
    for split, figures in manifest.figures.items():
        tokens = figures["tokens"]
        if tokens["shown"] is None:
            out.text(f"{split}: none")
            continue
        out.text(
            f"{split}: {counted(figures['examples'], 'example')} of "
            f"{counted(figures['groups'], 'group')}; traces {tokens['trace']['mean']:g} tokens, "
            f"shown {tokens['shown']['mean']:g} (at most {tokens['shown']['max']:g}), "
            f"{figures['shortened']} shortened; answers {tokens['completion']['mean']:g}"
        )
        for name, count in _counts(figures["strata"]).items():
            out.text(f"  {name}: {count}")
    for why, count in manifest.skipped.items():
        out.note(f"left out: {count}, {why}")
    out.note(f"tokens of {manifest.tokenizer}")
    out.note(f"{'made' if built.made else 'stands already'}: {built.folder}")


def _counts(strata: Mapping[str, int]) -> dict[str, int]:
    """Verdicts, then triggers with the most frequent first; sets of triggers are too many."""
    verdicts: Counter[str] = Counter()
    triggers: Counter[str] = Counter()
    for name, count in strata.items():
        verdict, *named = name.split("/")
        verdicts[verdict] += count
        for trigger in named:
            triggers[trigger] += count
    return dict([*sorted(verdicts.items()), *triggers.most_common()])
