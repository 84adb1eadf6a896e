"""The catalogue of experiments: which methods, under which conditions, beside which figures.

It is a YAML file (`data/experiments.yaml`), so that another stream, method or experiment is a few
lines there and no code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from vepa.bench.baselines import FAMILIES
from vepa.bench.experiments.measures import MEASURES
from vepa.bench.experiments.plays import PolicyMethod
from vepa.bench.streams import StreamSettings
from vepa.bench.views import VIEWS
from vepa.errors import SettingError, Where
from vepa.files import name_of, read_text
from vepa.policy.document import Document, parse_document, plain_words
from vepa.policy.schema import nearest

__all__ = [
    "BesideSpec",
    "Catalogue",
    "ConditionSpec",
    "ExperimentSpec",
    "FigureSpec",
    "MethodSpec",
    "Role",
    "StreamSpec",
    "load_catalogue",
]


#: Roles of a language model in an experiment. The open ones are another model in the same place.
Role = Literal["judge", "proposer", "open-judge", "open-proposer"]


class _Spec(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StreamSpec(_Spec):
    """A stream of events.

    Attributes
    ----------
    title
        For people.
    events
        Events files, found among the project's `data` or by path.
    stream
        What of the stream differs from the defaults.
    needs
        What to do where a file is not there; its rows are NOT RUN then.
    """

    title: str
    events: tuple[str, ...] = Field(min_length=1)
    stream: StreamSettings = StreamSettings()
    needs: str = ""


class MethodSpec(_Spec):
    """A method; exactly one of `policy`, `learner` and `needs` without either.

    Attributes
    ----------
    title
        For people.
    policy
        A policy that evolves.
    learner
        A family of baselines.
    variant
        Of a family that brings several: the one that is shown; `best` is the one with the highest
        mean of the first measure.
    asks
        The role of the language model that is asked; the command line says who plays it.
    proposer
        For a policy whose patches a model writes: `llm` or `induction+llm`.
    beside
        For a learner that is told a policy: the method whose policy that is.
    needs
        What a method that cannot be run yet waits for.
    """

    title: str
    policy: PolicyMethod | None = None
    learner: str | None = None
    variant: str | None = None
    asks: Role | None = None
    proposer: Literal["llm", "induction+llm"] | None = None
    beside: str | None = None
    needs: str = ""

    @model_validator(mode="after")
    def _of_one_kind(self) -> MethodSpec:
        proposes = self.asks is not None and self.asks.endswith("proposer")
        judges = self.asks is not None and not proposes
        kinds = [self.policy is not None, self.learner is not None]
        if sum(kinds) + (not any(kinds) and bool(self.needs)) != 1:
            raise ValueError("a method is a policy or a learner, or names what it needs")
        if self.learner is not None and self.learner not in FAMILIES:
            raise ValueError(
                f"{self.learner!r} is no family of baselines; there are {', '.join(FAMILIES)}"
            )
        if self.learner is not None and FAMILIES[self.learner].asks != judges:
            raise ValueError(
                "`asks` with a judge stands beside families that ask a model, and no others"
            )
        if proposes != (self.proposer is not None) or (proposes and self.policy is None):
            raise ValueError("`asks` with a proposer stands beside a policy with a `proposer`")
        return self


class ConditionSpec(_Spec):
    """A condition: a stream, and what differs from it.

    Attributes
    ----------
    key
        Stable name; that of the stream when left out.
    title
        For people; the stream's when left out.
    stream
        Name of a stream of the catalogue.
    set
        Settings of the stream that differ.
    view, masked
        What is seen of an event.
    x
        Its place on a numeric axis.
    """

    stream: str
    key: str = ""
    title: str = ""
    set: Mapping[str, Any] = {}
    view: str = "full"
    masked: float = Field(0.0, ge=0.0, le=1.0)
    x: float | None = None

    @model_validator(mode="after")
    def _in_a_view(self) -> ConditionSpec:
        if self.view not in VIEWS:
            raise ValueError(f"{self.view!r} is no view; there are {', '.join(VIEWS)}")
        return self

    @property
    def name(self) -> str:
        """Its key, or that of the stream."""
        return self.key or self.stream


class FigureSpec(_Spec):
    """A picture.

    Attributes
    ----------
    name, title
        Of the picture.
    kind
        `conditions`: a dot for each condition and method; `levels`: curves over `x` of the
        conditions; `rounds`: curves by round under one condition; `risk`: risk by coverage.
    measure
        A measure, or for `rounds` one of `ROUND_MEASURES`.
    condition
        For `rounds` and `risk`; the first when left out.
    methods
        A choice; all when left out.
    x_label
        For `levels`.
    marks
        Figures of the source: label -> value.
    """

    name: str
    title: str
    kind: Literal["conditions", "levels", "rounds", "risk"]
    measure: str = ""
    condition: str = ""
    methods: tuple[str, ...] = ()
    x_label: str = ""
    marks: Mapping[str, float] = {}


class BesideSpec(_Spec):
    """A figure of the source.

    Attributes
    ----------
    what
        In words.
    source
        The source's figure; with `less`, the difference that it reports.
    whose
        Method of the source.
    place
        Where the source has it.
    method, condition, measure
        Ours that stands beside it.
    less
        A method: ours is the difference of the two (`method` less `less`), paired.
    less_condition
        A condition: ours is the difference of `method` under the two conditions.
    why
        Why ours does not move as the source's, shown where it does not.
    """

    what: str
    source: float
    whose: str = "VEPA"
    place: str = ""
    method: str
    condition: str
    measure: str
    less: str | None = None
    less_condition: str | None = None
    why: str = ""


class ExperimentSpec(_Spec):
    """An experiment of the catalogue.

    Attributes
    ----------
    title, question, place
        For people; `place` is where the source has it.
    conditions, methods
        Every method is played under every condition.
    measures
        Columns; the first one is compared, paired by event, with that of `against`.
    against
        The method that the others are compared with; learners are scored on what it covers.
    figures, beside, notes
        What is shown.
    same_policy
        Pairs of methods whose last policies are compared, seed by seed.
    """

    title: str
    question: str
    place: str = ""
    conditions: tuple[ConditionSpec, ...] = Field(min_length=1)
    methods: tuple[str, ...] = Field(min_length=1)
    measures: tuple[str, ...] = Field(min_length=1)
    against: str = "default"
    figures: tuple[FigureSpec, ...] = ()
    beside: tuple[BesideSpec, ...] = ()
    same_policy: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


class Catalogue(_Spec):
    """All experiments.

    Attributes
    ----------
    title
        Of the report.
    notes
        What holds of all of them.
    streams, methods, experiments
        By name, in the order of reading.
    """

    title: str
    notes: tuple[str, ...] = ()
    streams: Mapping[str, StreamSpec]
    methods: Mapping[str, MethodSpec]
    experiments: Mapping[str, ExperimentSpec]

    @model_validator(mode="after")
    def _names_lead_somewhere(self) -> Catalogue:
        for name, spec in self.experiments.items():
            conditions = {each.name for each in spec.conditions}
            if len(conditions) < len(spec.conditions):
                raise ValueError(f"{name}: two conditions have one key")
            for each in spec.conditions:
                _known(each.stream, self.streams, f"{name}: stream")
                StreamSettings.model_validate(
                    {**self.streams[each.stream].stream.model_dump(), **each.set}
                )
            for method in (*spec.methods, spec.against):
                _known(method, self.methods, f"{name}: method")
            if spec.against not in spec.methods:
                raise ValueError(f"{name}: `against` is none of its methods")
            for measure in spec.measures:
                _known(measure, MEASURES, f"{name}: measure")
            for beside in spec.beside:
                _known(beside.method, dict.fromkeys(spec.methods), f"{name}: beside")
                _known(beside.condition, dict.fromkeys(conditions), f"{name}: beside")
                _known(beside.measure, MEASURES, f"{name}: beside")
        return self


def _known(name: str, among: Mapping[str, Any], what: str) -> None:
    if name not in among:
        raise ValueError(f"{what} {name!r} is not there; {nearest(name, tuple(among), 'names')}")


def load_catalogue(path: str) -> Catalogue:
    """Read a catalogue.

    Raises
    ------
    SettingError
        When the file is none; names file, line and field.
    """
    document = parse_document(read_text(path), name_of(path), SettingError)
    try:
        return Catalogue.model_validate(document.data)
    except ValidationError as error:
        raise _wrong(error.errors(include_url=False)[0], document) from None


def _wrong(item: Any, document: Document) -> SettingError:
    place = tuple(item["loc"])
    return SettingError(
        plain_words(item),
        where=Where(document.file, document.line(place), ".".join(map(str, place)) or None),
        remedy="see the comments in data/experiments.yaml",
    )
