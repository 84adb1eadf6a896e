"""What an agreement says: every figure, as data that can be written and read back."""

from __future__ import annotations

from typing import Literal

from vepa.annotate.agreement.figures import Estimate, Overall, Pair, Part, Share

__all__ = [
    "Agreement",
    "Annotator",
    "Change",
    "Drift",
    "MarkedLog",
    "MarkedScore",
    "PairDrift",
    "Scripted",
    "Settings",
]


class Annotator(Part):
    """Who gave labels.

    Attributes
    ----------
    name, models
        Of the seat or the person, and which models answered for it; scripts are no models.
    origins
        Kind of reader -> distinct contents.
    items
        Distinct contents.
    picked
        Whether it judged mostly what others disagree on, as an arbiter does: such labels tell
        nothing about agreement and enter no κ.
    """

    name: str
    models: list[str]
    origins: dict[str, int]
    items: int
    picked: bool


class Scripted(Part):
    """What stays out because a script judged it.

    Attributes
    ----------
    items, steps
        Contents with a label of a script, and their steps.
    item_share, step_share
        Of all.
    """

    items: int
    steps: int
    item_share: float
    step_share: float


class Change(Part):
    """How often something is said, then and now.

    Attributes
    ----------
    key
        A trigger, or `refuse`.
    then, now
        Share of steps, each the mean over its annotators. Of steps, since a larger corpus has
        relatively fewer of the contents that many episodes share.
    change
        Now minus then, with its interval.
    flagged
        Whether the interval leaves out zero.
    """

    key: str
    then: float
    now: float
    change: Estimate
    flagged: bool


class PairDrift(Part):
    """How much two annotators agreed then and agree now, on one key.

    Attributes
    ----------
    a, b, key
        Whose agreement, on what (`refuse`, or a trigger).
    then, now, change
        κ, and now minus then.
    flagged
        Whether the interval of the change leaves out zero.
    """

    a: str
    b: str
    key: str
    then: Estimate
    now: Estimate
    change: Estimate
    flagged: bool


class Drift(Part):
    """Labels held against those of an earlier release.

    Attributes
    ----------
    items_then, items_now, items_both
        Contents judged by somebody real.
    prevalence
        The decision first, then one a trigger.
    kappa
        For annotators that both releases have.
    judged_both
        Judgements of the same content by the same annotator in both.
    decision_changed, triggers_changed, primary_changed
        Share of those that say something else now.
    reason
        Why something is missing.
    """

    items_then: int
    items_now: int
    items_both: int
    prevalence: list[Change]
    kappa: list[PairDrift]
    judged_both: int
    decision_changed: float | None
    triggers_changed: float | None
    primary_changed: float | None
    reason: str | None = None


class MarkedLog(Part):
    """One log with a step that a person marked.

    Attributes
    ----------
    trajectory, marked
        Its id, and the marked step.
    state
        `scored`; `not an agent's step` and `not judged` are left out of every share.
    judged, triggered
        Steps with a label, and those with a trigger.
    distance
        First step with a trigger minus the marked one, in steps; None when none has a trigger.
    """

    trajectory: str
    marked: int
    state: Literal["scored", "not an agent's step", "not judged"]
    judged: list[int]
    triggered: list[int]
    distance: int | None


class MarkedScore(Part):
    """How one reader's triggers meet the steps that people marked as the mistake.

    Attributes
    ----------
    reader
        Name of an annotator, or `settled`.
    origins
        Kind of reader -> labels of scored logs.
    logs
        One a marked log that the reader judged at least one step of.
    scored
        Logs that count.
    hit
        Logs whose marked step has a trigger.
    by_chance
        Hits to be expected if as many triggers stood on judged steps at random, as a share.
    first
        Logs whose first step with a trigger is the marked one.
    agent
        Logs whose first step with a trigger is of the same agent as the marked one.
    early, exact, late, silent
        Logs by where the first trigger stands; silent: no step has one.
    median_distance
        Of the logs that are not silent, in steps; below zero is early.
    precision
        Steps with a trigger that are the marked one.
    """

    reader: str
    origins: dict[str, int]
    logs: list[MarkedLog]
    scored: int
    hit: Share
    by_chance: float | None
    first: Share
    agent: Share
    early: int
    exact: int
    late: int
    silent: int
    median_distance: float | None
    precision: Share


class Settings(Part):
    """How the intervals were made.

    Attributes
    ----------
    resamples, seed, level
        Of the bootstrap over whole episodes.
    """

    resamples: int
    seed: int
    level: float = 0.95


class Agreement(Part):
    """How far labels can be trusted.

    Attributes
    ----------
    schema_version
        Of this record.
    heading
        What the κ of this document are, in one line; also where there are none.
    labels, items, steps, episodes
        All that was read: labels, distinct contents, steps, trajectories.
    origins
        Kind of reader -> labels.
    annotators
        By name.
    scripted
        What stays out.
    alone
        Contents that only one annotator judged, scripted ones left out.
    pairs
        One a pair of annotators that is measured.
    overall
        Where more than two annotators are measured.
    drift, marked
        Where they were asked for.
    notes
        What a reader has to know besides.
    settings
        Of the intervals.
    """

    schema_version: Literal[1] = 1
    heading: str
    labels: int
    items: int
    steps: int
    episodes: int
    origins: dict[str, int]
    taxonomies: list[str]
    annotators: list[Annotator]
    scripted: Scripted
    alone: int
    pairs: list[Pair]
    overall: Overall | None = None
    drift: Drift | None = None
    marked: list[MarkedScore] | None = None
    notes: list[str]
    settings: Settings
