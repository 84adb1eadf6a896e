"""`vepa bench …`: streams, seeds and baselines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vepa.cli.bench_synth import synth
from vepa.cli.console import AsJson, Output, ProjectDir
from vepa.cli.inputs import SchemaOption, schema_of

if TYPE_CHECKING:
    from vepa.bench.results import BenchSettings
    from vepa.evolution.proposers.llm.opening import Desk

__all__ = ["app"]

app = typer.Typer(
    help="Measure the evolution of policies on labelled events.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def _group() -> None:
    """Measure the evolution of policies on labelled events."""


app.command("synth")(synth)


@app.command()
def run(
    events: Annotated[
        list[Path],
        typer.Argument(metavar="EVENTS...", help="Labelled events; several files: one stream."),
    ],
    view: Annotated[
        str, typer.Option(metavar="NAMES", help="full, observable, instrumented; by comma.")
    ] = "full",
    mask_unknown: Annotated[
        float, typer.Option(metavar="P", min=0.0, max=1.0, help="Blank this share of the cells.")
    ] = 0.0,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of the stream.")] = 10,
    feedback: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of a round that is labelled.")
    ] = 0.5,
    flip: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Chance that a label of the feedback is wrong.")
    ] = 0.0,
    flip_target: Annotated[
        str | None,
        typer.Option(
            metavar="KEY=VALUE:SHARE",
            help="Chance of wrong feedback where meta KEY is VALUE, instead of --flip.",
        ),
    ] = None,
    mixed: Annotated[
        float | None,
        typer.Option(
            metavar="SHIFT",
            min=0.0,
            max=1.0,
            help="Let the files' shares of a round move linearly, from the first to the last file.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of shuffles.")] = 5,
    first_seed: Annotated[int, typer.Option(min=0, help="Seed of the first shuffle.")] = 0,
    authority: Annotated[
        str,
        typer.Option(
            metavar="MODE",
            help="Which rules may decide: default (noise-aware), or paper, prospective, held-out, "
            "noise-aware, early, anytime, ungated; joined by +.",
        ),
    ] = "default",
    allow_target: Annotated[
        float, typer.Option(help="Precision that the gate asks of an allow rule.")
    ] = 0.95,
    refuse_target: Annotated[
        float, typer.Option(help="Precision that the gate asks of a refuse rule.")
    ] = 0.95,
    proposer: Annotated[
        str, typer.Option(metavar="NAME", help="induction (no model), llm, or induction+llm.")
    ] = "induction",
    model: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Who is asked for patches (docs/models.md).")
    ] = None,
    model_settings: Annotated[
        Path | None,
        typer.Option("--settings", metavar="FILE", help="Settings of the model (YAML)."),
    ] = None,
    questions: Annotated[
        int | None, typer.Option(min=1, help="Questions to the model an update, at most.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=0, help="Budget of tokens, for all seeds together.")
    ] = None,
    max_dollars: Annotated[
        float | None, typer.Option(min=0, help="Budget of US dollars, likewise.")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Answers that are kept; artifacts/propose."),
    ] = None,
    patches: Annotated[int, typer.Option(min=0, help="Patches an update, at most.")] = 30,
    selection: Annotated[
        str, typer.Option(metavar="WAY", help="pareto, or greedy (an ablation).")
    ] = "pareto",
    verify: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="on; or no verifier (an ablation), clashes answered by abstain or by refuse.",
        ),
    ] = "on",
    archive: Annotated[
        int | None,
        typer.Option(metavar="N", help="Examples kept, at most; all by default (docs/scale.md)."),
    ] = None,
    baselines: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="hoeffding, ripper, forest, lookup; asking a model: no_memory, judge, agrail, "
            "lisa; by comma.",
        ),
    ] = "",
    judge: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Who is asked by baselines (docs/baselines.md)."),
    ] = None,
    judge_settings: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Settings of that model (YAML).")
    ] = None,
    judge_tokens: Annotated[
        int | None, typer.Option(min=0, help="The baselines' budget of tokens, for all seeds.")
    ] = None,
    judge_dollars: Annotated[
        float | None, typer.Option(min=0, help="Their budget of US dollars, likewise.")
    ] = None,
    embedder: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="An embedding model, or hashing/N, for baselines with a memory.",
        ),
    ] = None,
    embedder_settings: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Settings of the embedder (YAML).")
    ] = None,
    separate: Annotated[bool, typer.Option("--separate", help="Score each file alone.")] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes; as many as seeds and processors allow.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the JSON document here, too.")
    ] = None,
    schema: SchemaOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be asked and what it costs.")
    ] = False,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Evolve a policy over shuffled streams and score it, with baselines on the same feedback.

    The policy that stands before a round decides all of it; then feedback reveals some labels; then
    the policy is updated. Scores use true labels, figures are means over seeds. Figures do not
    depend on the order of lines in a file; nor on that of files, unless --mixed is given.

    Covered: on the events that the policy decides; full: on all, where abstaining is a miss. Mean,
    final and final3 coverage: share decided in all rounds, the last, the last three. Regression
    rate: share of known right answers lost by updates. Adaptation: F1 of each updated policy on the
    failures it was updated for. As its fallback: on all events, a baseline answering where the
    policy abstains. Unsafe allowed: share of the decided events labelled refuse that
    were allowed; safe refused: likewise. Surest, as many: a baseline on the events that it is
    surest of.

    Every answer of a model is kept, so the same command pays for nothing twice. Where the budget of
    the proposer is used up, the run goes on without it and says so; where that of the baselines is,
    the run ends, since nothing stands in for them.
    """
    from vepa.cli.bench_models import desk_of, tell_forecast
    from vepa.cli.bench_settings import (
        asked_options,
        bench_settings,
        model_options,
        names_of,
        target_of,
    )

    llm = model_options(proposer, model, model_settings, questions, max_tokens, max_dollars)
    families = names_of(baselines)
    asked = asked_options(
        families,
        judge,
        judge_settings,
        embedder,
        embedder_settings,
        judge_tokens,
        judge_dollars,
    )
    settings = bench_settings(
        {
            "trial": {
                "stream": {
                    "rounds": rounds,
                    "feedback": feedback,
                    "flip": flip,
                    "target": target_of(flip_target),
                    "shift": mixed,
                },
                "mask_unknown": mask_unknown,
                "authority": authority,
                "gates": {
                    "allow": {"target": allow_target},
                    "refuse": {"target": refuse_target},
                },
                "evolution": {
                    "patches": patches,
                    "selection": selection,
                    "verify": verify,
                    "proposer": proposer,
                    "llm": llm,
                    "archive": archive,
                },
                "baselines": families,
                "asked": asked,
            },
            "views": names_of(view),
            "seeds": seeds,
            "first_seed": first_seed,
            "separate": separate,
        }
    )
    if dry_run:
        tell_forecast(Output(json), settings, events, schema_of(schema), project)
        return
    desk = desk_of(settings, cache, project)
    _run(events, schema, settings, jobs, out, Output(json), desk)


def _run(
    events: list[Path],
    schema: Path | None,
    settings: BenchSettings,
    jobs: int | None,
    target: Path | None,
    out: Output,
    desk: Desk | None,
) -> None:
    from json import dumps

    from vepa.bench.results import run_bench
    from vepa.cli.bench_views import show
    from vepa.cli.progress import rounds_bar
    from vepa.corpus.events import read_events
    from vepa.errors import SettingError
    from vepa.files import check_writable, name_of, write_output

    twice = next((path for path in events if events.count(path) > 1), None)
    if twice is not None:
        raise SettingError(f"{name_of(twice)} is named twice", remedy="name each file once")
    if target is not None:
        check_writable(target)
    space = schema_of(schema)
    tables = {name_of(path): read_events(path, space) for path in events}
    total = settings.trial.rounds * settings.seeds * len(settings.views)
    with rounds_bar(total * (len(tables) if settings.separate else 1)) as progress:
        document = run_bench(tables, settings, jobs=jobs, progress=progress, desk=desk)
    if target is not None:
        write_output(target, dumps(document, indent=1, allow_nan=False) + "\n")
        out.note(f"written: {target}")
    out.document(document)
    if not out.json:
        show(out, document)
