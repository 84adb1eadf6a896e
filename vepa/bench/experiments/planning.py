"""From the catalogue to the plays that it takes, and to what of it cannot be run here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from vepa.bench.baselines import FAMILIES, check_families
from vepa.bench.baselines.asked.settings import AskedSettings
from vepa.bench.experiments.catalogue import (
    Catalogue,
    ConditionSpec,
    ExperimentSpec,
    MethodSpec,
    Role,
)
from vepa.bench.experiments.keeping import Play
from vepa.bench.experiments.plays import Condition, Learner, PolicyMethod
from vepa.bench.runs.profile import find_events
from vepa.bench.streams import MAX_SEED, StreamSettings, check_labelled
from vepa.corpus.events import EventTable, read_events
from vepa.errors import InputError, SettingError, Where
from vepa.evolution.proposers.llm.settings import LLMSettings
from vepa.llm.settings import ModelSettings
from vepa.policy.schema import nearest
from vepa.project import Project

__all__ = ["Cast", "Options", "Place", "Plan", "make_plan"]

#: (experiment, condition, method).
Place = tuple[str, str, str]


class Cast(BaseModel):
    """A model for a role.

    Attributes
    ----------
    model
        Any name that `open_model` takes.
    settings
        How it is asked.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    settings: ModelSettings = ModelSettings()


class Options(BaseModel):
    """What of the catalogue is run, and with which models.

    Attributes
    ----------
    only
        Experiments by name; all when empty.
    seeds, first_seed
        Shuffles `first_seed` to `first_seed + seeds - 1`.
    cast
        Role -> the model that plays it; what asks another role is NOT RUN.
    embedder
        For the methods that look up by meaning.
    tokens, dollars
        Budget of all that is asked, together.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    only: tuple[str, ...] = ()
    seeds: int = Field(5, ge=1, le=1000)
    first_seed: int = Field(0, ge=0, le=MAX_SEED - 1000)
    cast: Mapping[Role, Cast] = {}
    embedder: str | None = None
    tokens: int | None = Field(None, ge=0)
    dollars: float | None = Field(None, ge=0)

    @property
    def shuffles(self) -> range:
        """The seeds."""
        return range(self.first_seed, self.first_seed + self.seeds)


@dataclass(frozen=True)
class Plan:
    """Which plays stand where.

    Attributes
    ----------
    catalogue, options
        What it was made of.
    tables
        Events file -> its labelled events in canonical order.
    plays
        (experiment, condition, method) -> a play for each seed.
    needs
        The same places, where nothing can be played -> what that needs.
    """

    catalogue: Catalogue
    options: Options
    tables: Mapping[str, EventTable]
    plays: Mapping[Place, tuple[Play, ...]] = field(default_factory=dict)
    needs: Mapping[Place, str] = field(default_factory=dict)

    @property
    def experiments(self) -> dict[str, ExperimentSpec]:
        """The chosen experiments, in the order of the catalogue."""
        return _chosen(self.catalogue, self.options)

    def lacking(self, name: str) -> list[tuple[str, str]]:
        """What of an experiment cannot be played, and what that needs, each once.

        A stream without events is named itself, not every method on it.
        """
        found: dict[tuple[str, str], None] = {}
        conditions = {each.name: each for each in self.experiments[name].conditions}
        for (experiment, condition, method), need in self.needs.items():
            if experiment == name:
                stream = self.catalogue.streams[conditions[condition].stream]
                whole = need == stream.needs
                what = stream.title if whole else self.catalogue.methods[method].title
                found[what, need] = None
        return list(found)

    @property
    def distinct(self) -> list[Play]:
        """Every play once: many experiments share theirs."""
        return list({play.key: play for plays in self.plays.values() for play in plays}.values())


def make_plan(catalogue: Catalogue, options: Options, project: Path | None = None) -> Plan:
    """Find the events, and settle every play.

    Parameters
    ----------
    catalogue
        The experiments.
    options
        Which of them, on which seeds, with which models.
    project
        Where events are looked up; the working directory when left out.

    Raises
    ------
    SettingError
        When an experiment is not there, or a package is missing.
    EventError
        When an events file is not usable.
    """
    experiments = _chosen(catalogue, options)
    plays: dict[Place, tuple[Play, ...]] = {}
    needs: dict[Place, str] = {}
    tables, absent = _events(catalogue, experiments.values(), project)
    hashes = {name: table.sha256 for name, table in tables.items()}
    for name, experiment in experiments.items():
        for condition in experiment.conditions:
            settled = _condition(catalogue, condition)
            lacking = [event for event in settled.events if event in absent]
            for key in experiment.methods:
                place = (name, condition.name, key)
                need = _need(catalogue.methods[key], options)
                if lacking:
                    need = catalogue.streams[condition.stream].needs or f"events: {lacking[0]}"
                if need:
                    needs[place] = need
                    continue
                method = _method(catalogue, key, options)
                plays[place] = tuple(
                    Play(settled, method, seed, {event: hashes[event] for event in settled.events})
                    for seed in options.shuffles
                )
    families = {
        play.method.family
        for found in plays.values()
        for play in found
        if isinstance(play.method, Learner)
    }
    check_families(sorted(families), asks=True, embeds=True)  # what they lack was asked before
    return Plan(catalogue, options, tables, plays, needs)


def _chosen(catalogue: Catalogue, options: Options) -> dict[str, ExperimentSpec]:
    for name in options.only:
        if name not in catalogue.experiments:
            raise SettingError(
                f"{name!r} is no experiment",
                where=Where(field="--only"),
                remedy=nearest(name, tuple(catalogue.experiments), "experiments"),
            )
    wanted = options.only or tuple(catalogue.experiments)
    return {name: each for name, each in catalogue.experiments.items() if name in wanted}


def _events(
    catalogue: Catalogue, experiments: Iterable[ExperimentSpec], project: Path | None
) -> tuple[dict[str, EventTable], set[str]]:
    """The events that the experiments take, and the files that are not there."""
    wanted = {
        event
        for experiment in experiments
        for condition in experiment.conditions
        for event in catalogue.streams[condition.stream].events
    }
    tables, absent = {}, set()
    for name in sorted(wanted):
        try:
            place = find_events(Project(project), name)
        except InputError:
            absent.add(name)
            continue
        table = read_events(place)
        try:
            check_labelled(table)
        except InputError as error:
            raise error.at(file=name) from None
        tables[name] = table.canonical()
    return tables, absent


def _condition(catalogue: Catalogue, spec: ConditionSpec) -> Condition:
    stream = catalogue.streams[spec.stream]
    return Condition(
        events=stream.events,
        stream=StreamSettings.model_validate({**stream.stream.model_dump(), **spec.set}),
        view=spec.view,
        masked=spec.masked,
    )


def _need(method: MethodSpec, options: Options) -> str:
    """What a method lacks; empty where it can be played."""
    if method.policy is None and method.learner is None:
        return method.needs
    if method.asks is None:
        return ""
    lacking = []
    if method.asks not in options.cast:
        lacking.append(f"a language model: `--model {method.asks}=NAME`")
    if method.learner and FAMILIES[method.learner].embeds and options.embedder is None:
        lacking.append("an embedding model: `--embedder NAME`")
    return "; ".join(lacking)


def _method(catalogue: Catalogue, key: str, options: Options) -> PolicyMethod | Learner:
    spec = catalogue.methods[key]
    cast = options.cast[spec.asks] if spec.asks else None
    if spec.policy is not None:
        if cast is None:
            return spec.policy
        llm = LLMSettings(
            model=cast.model,
            settings=cast.settings,
            tokens=options.tokens,
            dollars=options.dollars,
        )
        evolution = {**spec.policy.evolution.model_dump(), "proposer": spec.proposer, "llm": llm}
        return PolicyMethod.model_validate({**dict(spec.policy), "evolution": evolution})
    assert spec.learner is not None
    beside = catalogue.methods[spec.beside].policy if spec.beside else None
    if cast is None:
        return Learner(family=spec.learner, policy=beside)
    asked = AskedSettings(
        model=cast.model,
        settings=cast.settings,
        embedder=options.embedder if FAMILIES[spec.learner].embeds else None,
        tokens=options.tokens,
        dollars=options.dollars,
    )
    return Learner(family=spec.learner, asked=asked, policy=beside)
