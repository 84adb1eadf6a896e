"""`vepa reproduce`: the source's experiments on our events, from one command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vepa.cli.console import AsJson, Output, ProjectDir

if TYPE_CHECKING:
    from vepa.bench.experiments.planning import Options

__all__ = ["reproduce"]

_ROLES = ("judge", "proposer", "open-judge", "open-proposer")


def reproduce(
    only: Annotated[
        str, typer.Option(metavar="NAMES", help="Experiments, by comma; all when left out.")
    ] = "",
    offline: Annotated[
        bool, typer.Option("--offline", help="Ask no model; what needs one is NOT RUN.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes; as many as there are processors.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of shuffles.")] = 5,
    first_seed: Annotated[int, typer.Option(min=0, help="Seed of the first shuffle.")] = 0,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[ROLE=]NAME",
            help="A language model (docs/models.md) for a role: judge, proposer, open-judge, "
            "open-proposer; without a role for judge and proposer.",
        ),
    ] = None,
    model_settings: Annotated[
        list[str] | None,
        typer.Option("--settings", metavar="[ROLE=]FILE", help="Settings of a model (YAML)."),
    ] = None,
    embedder: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Embedding model, for AGrail and LiSA-style."),
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=0, help="Budget of tokens of all models together.")
    ] = None,
    max_dollars: Annotated[
        float | None, typer.Option(min=0, help="Budget of US dollars, likewise.")
    ] = None,
    runner: Annotated[
        str, typer.Option(metavar="NAME", help="processes; or a Prefect sweep on dask or ray.")
    ] = "processes",
    address: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Of a Dask or Ray cluster that runs already."),
    ] = None,
    catalogue: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The experiments; data/experiments.yaml."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where all goes; artifacts/reproduce.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be played and what it costs.")
    ] = False,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Play the source's experiments on our events, and write what came out beside its figures.

    Every method of an experiment is played under every condition on the same shuffles, with the
    same feedback. Plays are kept: the same command again works out figures only, a killed one goes
    on, and a play that several experiments share is played once. What needs a model that is not
    named, or events that are not there, is NOT RUN and says what it needs.

    Written: one page over all experiments (index.html), and for each its tables (CSV, Markdown) and
    figures (SVG, CSV).
    """
    from vepa.bench.experiments.catalogue import load_catalogue
    from vepa.bench.experiments.conduct import jobs_of
    from vepa.bench.experiments.planning import make_plan
    from vepa.cli.bench_settings import names_of
    from vepa.cli.reproduce_work import Workplace, carry_out, tell_dry_run
    from vepa.project import Project

    casts = _casts(model or [], model_settings or [], offline)
    found = Project(project)
    file = catalogue or found.find("data", "experiments.yaml")
    folder = (out or found.artifacts_path / "reproduce").absolute()
    options = _options(
        {
            "only": names_of(only),
            "seeds": seeds,
            "first_seed": first_seed,
            "cast": casts,
            "embedder": embedder,
            "tokens": max_tokens,
            "dollars": max_dollars,
        }
    )
    plan = make_plan(load_catalogue(str(file)), options, project)
    place = Workplace(
        folder, file.absolute(), project and project.absolute(), runner, address, jobs
    )
    missing = jobs_of(plan, folder / "plays", place.project)
    if dry_run:
        tell_dry_run(Output(json), plan, missing, place)
        return
    carry_out(Output(json), plan, missing, place, _command(catalogue, options, offline))


def _casts(models: Sequence[str], settings: Sequence[str], offline: bool) -> dict[str, Any]:
    """Role -> the model and its settings."""
    from vepa.cli.parse_models import settings_of
    from vepa.errors import SettingError, Where

    if offline and models:
        raise SettingError(
            "--offline asks no model, and --model names one",
            where=Where(field="--model"),
            remedy="leave one of the two out",
        )
    named = _by_role(models, "--model")
    casts: dict[str, Any] = {role: {"model": name} for role, name in named.items()}
    for role, file in _by_role(settings, "--settings").items():
        if role in casts:
            casts[role]["settings"] = settings_of(Path(file)).model_dump()
    return casts


def _by_role(given: Sequence[str], option: str) -> dict[str, str]:
    from vepa.errors import SettingError, Where

    found: dict[str, str] = {}
    named: dict[str, str] = {}
    for text in given:
        role, equals, rest = text.partition("=")
        if equals and role in _ROLES and rest:
            named[role] = rest
        elif equals and "/" not in role:
            raise SettingError(
                f"{role!r} is no role of a model",
                where=Where(field=option),
                remedy=f"one of {', '.join(_ROLES)}, or no role for judge and proposer",
            )
        else:
            found.update(dict.fromkeys(("judge", "proposer"), text))
    return {**found, **named}


def _options(given: Mapping[str, Any]) -> Options:
    from pydantic import ValidationError

    from vepa.bench.experiments.planning import Options
    from vepa.errors import SettingError, Where
    from vepa.policy.document import complaint

    try:
        return Options.model_validate(given)
    except ValidationError as error:
        path, message = complaint(error)
        raise SettingError(
            message,
            where=Where(field=f"--{str(path[0]).replace('_', '-')}" if path else None),
            remedy="see `vepa reproduce --help`",
        ) from None


def _command(catalogue: Path | None, options: Options, offline: bool) -> list[str]:
    """The words of the command without --only: what every figure is made again by."""
    words = ["vepa", "reproduce"]
    words += ["--offline"] if offline else []
    words += [] if options.seeds == 5 else ["--seeds", str(options.seeds)]
    words += [] if options.first_seed == 0 else ["--first-seed", str(options.first_seed)]
    for role, cast in options.cast.items():
        words += ["--model", f"{role}={cast.model}"]
    words += ["--embedder", options.embedder] if options.embedder else []
    words += ["--catalogue", catalogue.name] if catalogue else []
    return words
