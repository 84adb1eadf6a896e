"""Drift: what is said more often than before, with intervals that know of shared episodes."""

from __future__ import annotations

import pytest
from judging import judged, label, two_readers

from vepa.annotate.agreement import agreement

X, Y = "inefficient_or_wasteful_execution", "incorrect_tool_parameters"
THEN = [((X,), (X,)), ((), ()), ((Y,), (Y,)), ((), ())] * 15


def drift(now, then, **settings):
    return agreement(now, against=then, resamples=300, **settings).drift


def change(found, key):
    return next(each for each in found.prevalence if each.key == key)


def test_the_same_labels_do_not_drift():
    found = drift(two_readers(THEN), two_readers(THEN))
    assert (found.items_both, found.judged_both) == (60, 120)
    assert (found.decision_changed, found.triggers_changed, found.primary_changed) == (0, 0, 0)
    assert not any(each.flagged for each in (*found.prevalence, *found.kappa))
    assert all(each.change.value == 0 for each in found.prevalence)


def test_a_trigger_that_is_set_much_less_is_flagged_and_the_others_are_not():
    now = [
        (ours if at % 3 else (), theirs if at % 3 else ()) if ours == (X,) else (ours, theirs)
        for at, (ours, theirs) in enumerate(THEN)
    ]
    found = drift(two_readers(now), two_readers(THEN))
    told = change(found, X)
    assert (told.then, told.now) == (0.25, pytest.approx(10 / 60))
    assert told.change.value == pytest.approx(-5 / 60)
    assert told.change.high < 0
    assert told.flagged
    assert change(found, "refuse").flagged
    assert not change(found, Y).flagged
    # Five contents of sixty, for both annotators.
    assert found.triggers_changed == found.decision_changed == pytest.approx(10 / 120)


def test_one_changed_label_is_within_what_chance_does():
    now = [((Y,), (Y,)), *THEN[1:]]
    found = drift(two_readers(now), two_readers(THEN))
    assert not any(each.flagged for each in found.prevalence)
    assert found.primary_changed == pytest.approx(2 / 120)
    assert found.decision_changed == 0


def test_prevalence_is_of_steps_and_does_not_change_with_how_often_a_content_occurs():
    """Twice as many episodes with the same first step: as many steps are refused as before."""

    def corpus(episodes):
        labels = []
        for name in ("a", "b"):
            places = tuple((f"e/{at}", 0) for at in range(episodes))
            labels += label(name, "first", judged(), places=places)
            for at in range(episodes):
                labels += label(name, f"own-{at}", judged(X), places=((f"e/{at}", 1),))
        return labels

    told = change(drift(corpus(40), corpus(20)), X)
    assert (told.then, told.now) == (0.5, 0.5)
    assert not told.flagged


def test_prevalence_is_the_mean_over_annotators():
    then = two_readers([((X,), ()), ((), ())])
    found = drift(two_readers([((X,), (X,)), ((), ())]), then)
    assert (change(found, X).then, change(found, X).now) == (0.25, 0.5)


def test_kappa_then_and_now():
    apart = [((X,), ()) if at % 3 == 1 else each for at, each in enumerate(THEN)]
    found = drift(two_readers(THEN), two_readers(apart))
    told = next(each for each in found.kappa if each.key == "refuse")
    assert (told.now.value, told.then.value < 0.9) == (1, True)
    assert told.change.low > 0
    assert told.flagged
    never = agreement(
        two_readers([((X,), (X,)), ((), ())]), against=two_readers([((), ()), ((), ())])
    ).drift.kappa[0]
    assert (never.then.value, never.change.value, never.flagged) == (None, None, False)
    assert never.change.reason == "a never says it and b never says it"


def test_episodes_of_one_release_only_are_drawn_for_that_one():
    then = two_readers(THEN)
    other = [
        each.model_copy(update={"trajectory": f"new/{each.trajectory}", "item": f"n{each.item}"})
        for each in two_readers(THEN)
    ]
    found = drift(other, then)
    assert (found.items_both, found.judged_both, found.decision_changed) == (0, 0, None)
    assert found.reason == "no annotator judged the same content in both"
    # Nothing cancels out: the interval of the same share is wide.
    told = change(found, X)
    assert told.change.value == 0
    assert told.change.high - told.change.low > 0.2


def test_scripts_do_not_drift():
    scripted = [
        each.model_copy(update={"origin": "scripted", "model": "scripted/x"})
        for each in two_readers(THEN)
    ]
    found = drift(two_readers(THEN), scripted)
    assert (found.prevalence, found.kappa) == ([], [])
    assert found.reason.startswith("the earlier labels hold no content")


def test_other_annotators_have_no_kappa_then():
    then = [
        each.model_copy(update={"annotator": f"old-{each.annotator}"}) for each in two_readers(THEN)
    ]
    found = drift(two_readers(THEN), then)
    assert (found.kappa, found.judged_both) == ([], 0)
    assert not change(found, X).flagged


def test_an_arbiter_is_left_out_of_prevalence():
    labels = two_readers([((X,), ()), *THEN[1:]])
    labels += label("c", "i0", judged(Y), places=(("episode/0", 0),))
    found = drift(labels, two_readers(THEN))
    assert change(found, Y).now == change(found, Y).then
