"""What counts: distinct contents, real readers, no arbiter; and which pair is called what."""

from __future__ import annotations

import numpy as np
import pytest
from judging import CLAUDE, judged, label, two_readers
from sklearn.metrics import cohen_kappa_score

from vepa.annotate.agreement import Agreement, agreement
from vepa.annotate.agreement.passes import NOTHING_REAL, ONE_FAMILY, family
from vepa.corpus.taxonomy import load_taxonomy
from vepa.corpus.trajectory import Call, Step, Trajectory
from vepa.errors import InputError, SettingError
from vepa.project import Project

X, Y = "inefficient_or_wasteful_execution", "incorrect_tool_parameters"
PAIRS = [
    ((X,), (X,)),
    ((X,), ()),
    ((), ()),
    ((X, Y), (Y,)),
    ((), (Y,)),
    ((), ()),
    ((), ()),
]


def test_a_content_counts_once_however_often_it_occurs():
    labels = two_readers(PAIRS)
    more = label("a", "i1", judged(X), places=(("other", 1), ("other", 2), ("third", 4)))
    more += label("b", "i1", judged(), places=(("other", 1), ("other", 2), ("third", 4)))
    once, often = agreement(labels), agreement(labels + more)
    assert often.items == once.items == 7
    assert (once.steps, often.steps) == (7, 10)
    (a,), (b,) = once.pairs, often.pairs
    assert a.decision.kappa == b.decision.kappa
    assert a.alpha_sets == b.alpha_sets
    # Per step the one that they see differently counts four times.
    ours = [1, 1, 1, 1, 1, 0, 1, 0, 0, 0]
    theirs = [1, 0, 0, 0, 0, 0, 1, 1, 0, 0]
    assert b.per_step.kappa.value == pytest.approx(cohen_kappa_score(ours, theirs))
    assert b.per_step.raw == pytest.approx(0.5)
    assert b.per_step.kappa_triggers[X] == pytest.approx(
        cohen_kappa_score([1, 1, 1, 1, 1, 0, 1, 0, 0, 0], [1] + [0] * 9)
    )


def test_the_order_of_a_file_changes_nothing():
    labels = two_readers(PAIRS * 3, each=2)
    mixed = [labels[at] for at in np.random.default_rng(4).permutation(len(labels))]
    assert agreement(labels, resamples=50) == agreement(mixed, resamples=50)


def test_what_a_script_judged_enters_no_figure():
    labels = two_readers(PAIRS)
    scripted = label("a", "s", judged(X), places=(("e", 1), ("e", 2)))
    scripted += label(
        "b", "s", judged(), places=(("e", 1), ("e", 2)), origin="scripted", model="scripted/b"
    )
    found = agreement(labels + scripted)
    assert found.pairs == agreement(labels).pairs
    assert (found.scripted.items, found.scripted.steps) == (1, 2)
    assert found.scripted.step_share == pytest.approx(2 / 9)
    assert "1 of 8 contents (12.5%)" in found.notes[0]
    assert found.origins == {"recorded": 16, "scripted": 2}


def test_where_nothing_is_real_there_is_no_kappa():
    labels = [
        each.model_copy(update={"origin": "scripted", "model": "scripted/x"})
        for each in two_readers(PAIRS)
    ]
    for found in (agreement(labels), agreement([])):
        assert (found.pairs, found.overall, found.heading) == ([], None, NOTHING_REAL)


def test_one_reader_alone_is_no_agreement():
    found = agreement([each for each in two_readers(PAIRS) if each.annotator == "a"])
    assert (found.heading, found.alone) == (NOTHING_REAL, 7)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (CLAUDE, "claude"),
        ("anthropic/claude-sonnet-4-5", "claude"),
        ("openai/gpt-5.1", "gpt"),
        ("azure/eu/gpt-5.1", "gpt"),
        ("ollama/llama3.2", "llama"),
        ("123", None),
    ],
)
def test_the_family_of_a_model(model, expected):
    assert family(model) == expected


@pytest.mark.parametrize(
    ("origin", "model", "one_family", "said"),
    [
        ("recorded", CLAUDE, True, ONE_FAMILY),
        ("model", "anthropic/claude-sonnet-4-5", True, ONE_FAMILY),
        ("model", "openai/gpt-5.1", False, "b (openai/gpt-5.1, model)"),
        ("person", None, False, "b (person)"),
        ("recorded", None, None, "is not told"),
    ],
)
def test_the_heading_says_what_two_readers_are(origin, model, one_family, said):
    labels = [
        each.model_copy(update={"origin": origin, "model": model})
        if each.annotator == "b"
        else each
        for each in two_readers(PAIRS)
    ]
    found = agreement(labels, resamples=10)
    assert found.pairs[0].one_family is one_family
    assert said in found.heading
    assert (found.heading == ONE_FAMILY) == (one_family is True)


def test_an_arbiter_is_measured_with_nobody():
    labels = two_readers(PAIRS * 2)
    disputed = [at for at, (a, b) in enumerate(PAIRS * 2) if a != b]
    for at in disputed:
        labels += label("c", f"i{at}", judged(X), places=((f"episode/{at}", 0),))
    found = agreement(labels)
    assert [(pair.a, pair.b) for pair in found.pairs] == [("a", "b")]
    assert [each.picked for each in found.annotators] == [False, False, True]
    assert found.overall is None
    assert any(note.startswith("c judged mostly") for note in found.notes)


def test_three_annotators_have_three_pairs_and_one_alpha():
    labels = two_readers(PAIRS)
    for at, (ours, _) in enumerate(PAIRS):
        labels += label("c", f"i{at}", judged(*ours), places=((f"episode/{at}", 0),))
    found = agreement(labels, resamples=100)
    assert [pair.name for pair in found.pairs] == ["a and b", "a and c", "b and c"]
    assert found.overall is not None
    assert found.overall.annotators == ["a", "b", "c"]
    by_name = {pair.name: pair for pair in found.pairs}
    assert by_name["a and c"].alpha_sets.value == 1
    assert by_name["a and b"].alpha_sets.value < found.overall.alpha_sets.value < 1


def test_two_judgements_of_one_content_by_one_annotator_are_refused():
    labels = two_readers(PAIRS)
    labels += label("a", "i0", judged(), places=(("elsewhere", 3),))
    with pytest.raises(InputError, match=r"'a' says two things.*elsewhere#3"):
        agreement(labels)


def test_labels_of_two_corpora_are_refused():
    labels = two_readers(PAIRS)
    labels += label("b", "another", judged(), places=(("episode/0", 0),))
    with pytest.raises(InputError, match="episode/0#0 has two contents"):
        agreement(labels)


def test_the_triggers_of_the_taxonomy_are_all_asked_about():
    taxonomy = load_taxonomy(Project())
    found = agreement(two_readers(PAIRS), taxonomy=taxonomy, resamples=10)
    assert [each.key for each in found.pairs[0].triggers] == list(taxonomy.keys)
    never = found.pairs[0].triggers[0]
    assert (never.kappa.value, never.kappa.reason) == (
        None,
        "a never says it and b never says it",
    )
    other = taxonomy.model_copy(update={"id": "other"})
    found = agreement(two_readers(PAIRS), taxonomy=other, resamples=10)
    assert [each.key for each in found.pairs[0].triggers] == [Y, X]
    assert "the project has other/1.0" in found.notes[0]


def test_services_are_those_of_the_judged_calls():
    def trace(at, kind, environment):
        parts = (
            {"call": Call(id="1", tool="t", environment=environment)}
            if kind == "call"
            else {"text": "Done."}
        )
        return Trajectory(id=f"episode/{at}", steps=[Step(index=0, kind=kind, **parts)])

    traces = [trace(at, "call", "mail" if at < 4 else None) for at in range(5)]
    traces += [trace(at, "answer", None) for at in (5, 6)]
    found = agreement(two_readers(PAIRS), traces, resamples=20).pairs[0]
    assert [(each.service, each.decision.items) for each in found.services] == [
        ("mail", 4),
        ("(answers)", 2),
        ("(other calls)", 1),
    ]
    mail = found.services[0].decision
    assert (mail.both, mail.only_a, mail.only_b, mail.neither) == (2, 1, 0, 1)
    assert mail.kappa.value == pytest.approx(cohen_kappa_score([1, 1, 0, 1], [1, 0, 0, 1]))
    with pytest.raises(InputError, match="which the traces lack"):
        agreement(two_readers(PAIRS), traces[1:])


def test_a_risk_source_is_asked_about_like_a_trigger():
    labels = two_readers(PAIRS)
    changed = judged(X, risk_source="indirect_prompt_injection")
    labels = [
        each.model_copy(update={"judgement": changed})
        if (each.annotator, each.item) == ("b", "i0")
        else each
        for each in labels
    ]
    found = {each.source: each for each in agreement(labels, resamples=10).pairs[0].sources}
    told = found["indirect_prompt_injection"]
    assert (told.named.only_b, told.either, told.same_decision.value) == (1, 1, 1.0)
    assert told.named.unstable
    ours = found["inherent_agent_failures"]
    assert (ours.named.both, ours.named.only_a, ours.named.only_b) == (1, 2, 1)
    # i0, i1, i3, i4 are named by one of them; i1 and i4 are decided differently.
    assert (ours.either, ours.same_decision.value) == (4, 0.5)


def test_few_episodes_are_told_and_one_has_no_interval():
    few = agreement(two_readers(PAIRS, each=3))
    assert any("3 episodes are few" in note for note in few.notes)
    one = agreement(two_readers(PAIRS, each=7)).pairs[0]
    assert (one.decision.kappa.low, one.episodes) == (None, 1)


def test_it_is_written_and_read_back_whole():
    found = agreement(two_readers(PAIRS * 2), against=two_readers(PAIRS), resamples=20)
    assert Agreement.model_validate_json(found.model_dump_json()) == found
    assert "NaN" not in found.model_dump_json()


def test_no_resamples_are_refused():
    with pytest.raises(SettingError, match="at least one resample"):
        agreement(two_readers(PAIRS), resamples=0)
