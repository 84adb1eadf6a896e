"""From a planned run to its products: the flow is found, a Prefect server is at hand, it runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from vepa.bench.baselines import check_families
from vepa.bench.runs.profile import Profile
from vepa.bench.runs.run import Run
from vepa.bench.runs.server import TemporaryServer, quiet_environment
from vepa.errors import MissingExtraError, RunError
from vepa.evolution.proposers.llm.forecast import forecast
from vepa.project import Project

__all__ = [
    "Estimate",
    "check_packages",
    "conduct",
    "estimate",
    "guessed_seconds",
    "load_flow",
    "prefect_server",
]

#: Seconds to import Prefect, and to start a server on a new database.
_IMPORT, _SERVER = 3.0, 10.0
#: Seconds a round and 1,000 events: of the update for each patch, and of the baselines.
_PATCH = 0.005
#: Seconds of a question to a model; a guess, as nobody knows the model.
_QUESTION = 20.0
_BASELINES = {"forest": 0.2, "ripper": 0.1, "hoeffding": 0.05, "lookup": 0.005}


@dataclass(frozen=True)
class Estimate:
    """What a run will take, before it begins.

    Attributes
    ----------
    rounds, events, labels
        Of the stream; labels that feedback will reveal.
    updates, patches
        Updates of the policy, and patches tried in all of them, at most.
    baselines
        Families of learners beside the policy.
    model, model_calls, cost_usd, unlimited_usd
        The language model that is asked for patches, if one is; questions to it at most, what they
        cost within the budget, and without one. None where the price is not known.
    seconds
        A rough guess for what is not done yet.
    """

    rounds: int
    events: int
    labels: int
    updates: int
    patches: int
    baselines: tuple[str, ...]
    model: str | None
    model_calls: int
    cost_usd: float | None
    unlimited_usd: float | None
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """The estimate as JSON data."""
        return {**asdict(self), "baselines": list(self.baselines)}


def estimate(run: Run) -> Estimate:
    """What is known of a run before it begins; reads the stream, writes nothing."""
    stream, profile = run.stream, run.profile
    left = run.missing
    updates = sum(stage.startswith(("round-", "summary")) for stage in left)
    expected = forecast(profile.evolution, stream.table.schema, updates, run.place)
    seconds = guessed_seconds(profile, len(stream.table), left)
    if expected is not None:
        seconds += expected.questions * _QUESTION
    if left:
        seconds += _IMPORT + (0.0 if "PREFECT_API_URL" in os.environ else _SERVER)
    return Estimate(
        rounds=len(stream.rounds),
        events=len(stream.table),
        labels=sum(len(part.feedback) for part in stream.rounds),
        updates=len(stream.rounds),
        patches=len(stream.rounds) * profile.evolution.patches,
        baselines=tuple(profile.baselines),
        model=None if expected is None else expected.model,
        model_calls=0 if expected is None else expected.questions,
        cost_usd=0.0 if expected is None else expected.most_dollars,
        unlimited_usd=0.0 if expected is None else expected.dollars,
        seconds=round(seconds, 1),
    )


def guessed_seconds(profile: Profile, events: int, stages: Iterable[str]) -> float:
    """How long stages of a run over so many events take, without the start; a rough guess."""
    thousands, seconds = events / 1000, 0.0
    for stage in stages:
        kind, _, name = stage.partition("-")
        if kind == "round":
            seconds += 0.05 + profile.evolution.patches * thousands * _PATCH
        elif kind == "baseline":
            seconds += profile.rounds * thousands * _BASELINES.get(name, 0.1)
        else:
            seconds += 0.5
    return seconds


def check_packages(run: Run) -> None:
    """Raise `MissingExtraError` when a package that the run needs is not installed."""
    needed = ["prefect", "polars", "jinja2"]
    if run.profile.evolution.asks_a_model:
        needed += ["litellm", "jsonschema"]
    for package in needed:
        if find_spec(package) is None:
            raise MissingExtraError(package, "pipeline")
    check_families(run.profile.baselines)


def conduct(
    run: Run, project: Project, *, verbose: bool = False, stop_after: int | None = None
) -> None:
    """Run the flow over a run's folder; what is done there already is not made again.

    Parameters
    ----------
    run
        From `plan`, begun.
    project
        Where the flow is looked up.
    verbose
        Let Prefect log to the terminal.
    stop_after
        Round after which it stops.

    Raises
    ------
    RunError
        When no server can be started. What the flow raises is raised here.
    """
    with prefect_server(run.folder.parents[1] / "prefect", verbose=verbose):
        flow = load_flow(project.find("flows", "evolve.py"), "evolve")
        flow(
            profile=run.origin,
            project=str(project.directory) if project.directory else None,
            artifacts=str(run.folder.parents[1]),
            stop_after=stop_after,
        )


@contextmanager
def prefect_server(home: Path, *, verbose: bool) -> Iterator[None]:
    """The environment in which Prefect is imported: quiet, and with a server to talk to.

    Inside another one it changes nothing: several flows share a server.

    Parameters
    ----------
    home
        Where a server of this process keeps its database, when none is named in PREFECT_API_URL.
    verbose
        Let Prefect log to the terminal.

    Raises
    ------
    RunError
        When no server can be started.
    """
    os.environ.update(quiet_environment(home, verbose=verbose))
    if "PREFECT_API_URL" in os.environ:
        yield
        return
    with TemporaryServer(home, {}) as server:
        os.environ["PREFECT_API_URL"] = server.api_url
        try:
            yield
        finally:
            del os.environ["PREFECT_API_URL"]


def load_flow(file: Path, name: str) -> Callable[..., Any]:
    """The flow of a file.

    Parameters
    ----------
    file
        A file of `flows/`.
    name
        Of the flow in it.

    Raises
    ------
    RunError
        When the file holds no such flow.
    """
    spec = spec_from_file_location(f"vepa_flow_{name}", file)
    if spec is None or spec.loader is None:
        raise RunError(f"{file} is no Python file")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    flow: Callable[..., Any] | None = getattr(module, name, None)
    if flow is None:
        raise RunError(f"{file} defines no flow `{name}`")
    return flow
