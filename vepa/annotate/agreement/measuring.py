"""From labels to an agreement: everything is read once, and each part is measured on its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vepa.annotate.agreement.drift import drift
from vepa.annotate.agreement.figures import Overall, Pair
from vepa.annotate.agreement.marked import marked_scores
from vepa.annotate.agreement.pairs import PairMeasure
from vepa.annotate.agreement.passes import NOTHING_REAL
from vepa.annotate.agreement.ratings import Rated, Ratings, ratings_of
from vepa.annotate.agreement.records import Agreement, Settings
from vepa.annotate.agreement.sampling import Resampling
from vepa.annotate.agreement.sets import spoken
from vepa.annotate.agreement.traced import services_of, traced_of
from vepa.corpus.labels import Label
from vepa.corpus.settled import SettledLabel
from vepa.corpus.taxonomy import Taxonomy
from vepa.corpus.trajectory import Trajectory
from vepa.errors import SettingError, Where

__all__ = ["RESAMPLES", "agreement"]

RESAMPLES = 1000
#: Below, intervals from resampled episodes are too narrow.
_FEW_EPISODES = 10


def agreement(
    labels: Iterable[Label],
    trajectories: Iterable[Trajectory] | None = None,
    *,
    taxonomy: Taxonomy | None = None,
    against: Iterable[Label] | None = None,
    marked: bool = False,
    settled: Iterable[SettledLabel] = (),
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Agreement:
    """How far labels can be trusted.

    Parameters
    ----------
    labels
        Of two annotators or more. The unit is the content: what was judged once counts once, in
        however many episodes it stands.
    trajectories
        That the labels are about: for services, and for marked steps.
    taxonomy
        Whose triggers are asked about, in its order; only those that occur in labels without it.
    against
        Labels of an earlier release.
    marked
        Whether to score against the steps that people marked in the trajectories.
    settled
        What stands about the steps, scored beside the annotators.
    resamples, seed
        Of the bootstrap over whole episodes, for 95 % intervals.

    Raises
    ------
    InputError
        When labels contradict each other, or do not fit the trajectories.
    SettingError
        When the numbers cannot be used, or trajectories are missing.
    MissingExtraError
        Without the extra `pipeline`.
    """
    if resamples < 1:
        raise SettingError(
            "at least one resample is needed",
            where=Where(field="resamples"),
            remedy=f"{RESAMPLES} is usual",
        )
    if marked and trajectories is None:
        raise SettingError(
            "marked steps stand in trajectories, and none were given",
            where=Where(field="marked"),
            remedy="name the traces that were annotated (--traces)",
        )
    kept = list(labels)
    ratings = ratings_of(kept)
    before = None if against is None else ratings_of(against)
    traced = None if trajectories is None else traced_of(trajectories)
    services = {} if traced is None else services_of(ratings.rated, traced)
    triggers = _triggers(taxonomy, [ratings, *([before] if before else [])])
    pairs = _pairs(ratings, triggers, services, resamples, seed)
    return Agreement(
        heading=_heading(pairs),
        labels=ratings.labels,
        items=len(ratings.rated),
        steps=ratings.steps,
        episodes=ratings.episodes,
        origins=dict(ratings.origins),
        taxonomies=list(ratings.taxonomies),
        annotators=list(ratings.annotators),
        scripted=ratings.scripted,
        alone=sum(len(each.said) < 2 for each in ratings.real),
        pairs=pairs,
        overall=_overall(ratings, resamples, seed),
        drift=None if before is None else drift(ratings, before, triggers, resamples, seed),
        marked=marked_scores(kept, traced or {}, settled) if marked else None,
        notes=_notes(ratings, pairs, taxonomy),
        settings=Settings(resamples=resamples, seed=seed),
    )


def _pairs(
    ratings: Ratings,
    triggers: Sequence[str],
    services: Mapping[str, str],
    resamples: int,
    seed: int,
) -> list[Pair]:
    by_name = {each.name: each for each in ratings.annotators}
    real = ratings.real
    found = []
    for a, b in ratings.pairs:
        both = [each for each in real if a in each.said and b in each.said]
        if both:
            resampling = _resampling(both, resamples, seed)
            measure = PairMeasure(by_name[a], by_name[b], both, triggers, resampling, services)
            found.append(measure.measured())
    return found


def _overall(ratings: Ratings, resamples: int, seed: int) -> Overall | None:
    names = [each.name for each in ratings.annotators if not each.picked]
    several = [each for each in ratings.real if len(each.said.keys() & set(names)) >= 2]
    measured = {name for each in several for name in each.said if name in names}
    if len(measured) < 3:
        return None
    resampling = _resampling(several, resamples, seed)
    position = resampling.position([each.place[0] for each in several])
    said = spoken(several, sorted(measured))
    return Overall(
        annotators=sorted(measured),
        items=len(several),
        alpha_sets=said.alpha_sets(slice(None), position, resampling),
        alpha_decision=said.alpha_decision(position, resampling),
    )


def _resampling(rated: Sequence[Rated], resamples: int, seed: int) -> Resampling:
    return Resampling.drawn({each.place[0] for each in rated}, resamples, seed)


def _triggers(taxonomy: Taxonomy | None, ratings: Sequence[Ratings]) -> list[str]:
    """Of the taxonomy, where labels are of it, and any other that labels name."""
    spoken_of = {name for each in ratings for name in each.taxonomies}
    ours = taxonomy is not None and f"{taxonomy.id}/{taxonomy.version}" in spoken_of
    known = list(taxonomy.keys) if taxonomy is not None and ours else []
    named = {
        key
        for each in ratings
        for rated in each.rated
        for judgement in rated.said.values()
        for key in judgement.triggers
    }
    return [*known, *sorted(named - set(known))]


def _heading(pairs: Sequence[Pair]) -> str:
    headings = list(dict.fromkeys(pair.heading for pair in pairs))
    return "; ".join(headings) if headings else NOTHING_REAL


def _notes(ratings: Ratings, pairs: Sequence[Pair], taxonomy: Taxonomy | None) -> list[str]:
    scripted = ratings.scripted
    notes = []
    if scripted.items:
        notes.append(
            f"{scripted.items:,} of {len(ratings.rated):,} contents ({scripted.item_share:.1%}) "
            f"and {scripted.steps:,} of {ratings.steps:,} steps ({scripted.step_share:.1%}) have "
            "a label of a script: they enter no figure of agreement."
        )
    notes += [
        f"{each.name} judged mostly what others disagree on, as an arbiter does: it enters no "
        "figure of agreement."
        for each in ratings.annotators
        if each.picked
    ]
    if len(ratings.taxonomies) > 1:
        notes.append(f"The labels are of several taxonomies: {', '.join(ratings.taxonomies)}.")
    elif taxonomy is not None and ratings.taxonomies:
        named = f"{taxonomy.id}/{taxonomy.version}"
        if ratings.taxonomies != [named]:
            notes.append(f"The labels are of {ratings.taxonomies[0]}, the project has {named}.")
    notes += [
        f"{pair.name}: {pair.episodes} episodes are few, so the intervals are too narrow."
        for pair in pairs
        if 2 <= pair.episodes < _FEW_EPISODES
    ]
    return notes
