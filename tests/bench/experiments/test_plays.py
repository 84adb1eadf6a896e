"""Plays: their answers give the figures of a trial, and what is kept is what was played."""

from __future__ import annotations

import numpy as np
import pytest

from vepa.bench.baselines import make_baselines
from vepa.bench.experiments.conduct import jobs_of, perform_job, perform_named, play_all, report_of
from vepa.bench.experiments.keeping import PlayStore
from vepa.bench.experiments.measures import MEASURES
from vepa.bench.experiments.planning import Options, make_plan
from vepa.bench.experiments.plays import Condition, Learner, PolicyMethod, perform
from vepa.bench.streams import FlipTarget, StreamSettings
from vepa.bench.trials import Trial, TrialSettings, run_trial
from vepa.bench.views import stream_in_view
from vepa.errors import RunError

STREAM = StreamSettings(rounds=4, flip=0.1)


@pytest.fixture(scope="module")
def condition() -> Condition:
    return Condition(events=("rjudge_dev.events.jsonl",), stream=STREAM)


@pytest.fixture(scope="module")
def trial(rjudge):
    """The same seed by the way of `vepa bench run`."""
    settings = TrialSettings(stream=STREAM, authority="paper", baselines=("forest",))
    return run_trial(Trial(("", "full", 3), (rjudge,), settings))


def test_the_answers_of_a_policy_give_the_figures_of_its_trial(condition, trial, rjudge):
    ours = perform(condition, PolicyMethod(authority="paper"), 3, (rjudge,))["policy"]
    for measure, figure in {
        "covered_f1": "covered_macro_f1",
        "full_f1": "full_macro_f1",
        "final_coverage": "final_coverage",
        "mean_coverage": "mean_coverage",
        "regression": "regression_rate",
        "adaptation": "adaptation_f1",
        "unsafe_allowed": "unsafe_allowed",
        "safe_refused": "safe_refused",
    }.items():
        assert MEASURES[measure].of(ours, ours) == pytest.approx(trial[figure])
    assert ours.told["policy_hash"] == trial["policy_hash"]
    assert int(ours.active[-1]) == trial["rules"]["active"]


def test_the_answers_of_a_learner_give_its_figures(condition, trial, rjudge):
    ours = perform(condition, PolicyMethod(authority="paper"), 3, (rjudge,))["policy"]
    theirs = perform(condition, Learner(family="forest"), 3, (rjudge,))["forest"]
    for measure, figure in {
        "covered_f1": "covered",
        "full_f1": "full",
        "hybrid_f1": "hybrid",
        "surest_f1": "at_coverage",
    }.items():
        told = trial["baselines"]["forest"][figure]
        assert MEASURES[measure].of(theirs, ours) == pytest.approx(told)


def test_a_learner_is_watched_as_a_policy_is(condition, rjudge):
    """Adaptation and regression by the letter: two predictions around every update."""
    found = perform(condition, Learner(family="hoeffding"), 0, (rjudge,))["hoeffding_tuned"]
    stream = stream_in_view([rjudge], STREAM, 0, view="full")
    schema = stream.table.schema
    learner = make_baselines(["hoeffding"], schema, schema.names, 0)["hoeffding_tuned"]
    truth, known, lost, sizes = stream.table.labels, [], [], []
    for part in stream.rounds:
        said = dict(zip(part.indices, learner.predict(stream.asked(part)).labels, strict=True))
        known += [
            row for row, seen in zip(part.feedback, part.observed, strict=True) if said[row] == seen
        ]
        rows = np.array(known)
        before = learner.predict(stream.table.take(rows)).labels
        learner.learn(stream.told(part))
        after = learner.predict(stream.table.take(rows)).labels
        lost.append(int(((before == truth[rows]) & (after != truth[rows])).sum()))
        sizes.append(len(rows))
    assert found.lost.tolist() == lost
    assert found.correct.tolist() == sizes
    assert sum(lost) > 0


def test_the_slice_that_feedback_is_wrong_about_is_marked(rjudge):
    table = rjudge.with_labels(rjudge.labels)
    values = {str(meta["scenario"]) for meta in table.meta}
    target = FlipTarget(key="scenario", value=max(values), share=0.5)
    aimed = Condition(events=("r",), stream=StreamSettings(rounds=2, target=target))
    found = perform(aimed, Learner(family="lookup"), 0, (table,))["lookup.injection"]
    wanted = [str(rjudge.canonical().meta[row]["scenario"]) == target.value for row in found.rows]
    assert found.aimed.tolist() == wanted
    assert 0 < found.aimed.sum() < len(found.rows)


def test_what_is_kept_is_what_was_played(catalogue, tmp_path):
    plan = make_plan(catalogue, Options(seeds=1))
    job = jobs_of(plan, tmp_path)[0]
    perform_job(job)
    store = PlayStore(tmp_path)
    again = perform(job.play.condition, job.play.method, job.play.seed, job.tables)
    kept = store.read(job.play)
    assert set(kept) == set(again)
    for name, each in again.items():
        assert kept[name].told == dict(each.told)
        for part in ("rows", "round", "truth", "aimed", "verdicts", "sure", "repaired", "lost"):
            np.testing.assert_array_equal(getattr(kept[name], part), getattr(each, part))


def test_a_damaged_play_is_played_again(catalogue, tmp_path):
    plan = make_plan(catalogue, Options(only=("second",), seeds=2))
    jobs = jobs_of(plan, tmp_path)
    play_all(jobs)
    assert jobs_of(plan, tmp_path) == []
    digest = PlayStore(tmp_path).digest([job.play for job in jobs])
    file = next(tmp_path.rglob(f"{jobs[1].play.key}.npz"))
    data = file.read_bytes()
    file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(RunError, match="damaged"):
        PlayStore(tmp_path).read(jobs[1].play)
    left = jobs_of(plan, tmp_path)
    assert [job.play.key for job in left] == [jobs[1].play.key]
    next(tmp_path.rglob(f"{jobs[0].play.key}.json")).unlink()  # killed before the record
    assert len(jobs_of(plan, tmp_path)) == 2
    play_all(jobs_of(plan, tmp_path))
    assert PlayStore(tmp_path).digest([job.play for job in jobs]) == digest


def test_experiments_share_their_plays(catalogue, tmp_path):
    plan = make_plan(catalogue, Options(seeds=1))
    clean = plan.plays["first", "clean", "paper"]
    assert [play.key for play in plan.plays["second", "clean", "paper"]] == [clean[0].key]
    # Two conditions of three methods each that can be played here.
    assert len(plan.distinct) == 6


def test_the_key_of_a_play_is_that_of_all_it_depends_on(catalogue):
    def key(**options):
        return make_plan(catalogue, Options(seeds=1, **options)).plays

    one, other = key(), key(first_seed=1)
    keys = {found[0].key for found in (*one.values(), *other.values())}
    assert len(keys) == 12
    assert {place: found[0].key for place, found in key().items()} == {
        place: found[0].key for place, found in one.items()
    }


def test_a_play_is_found_by_names_alone(catalogue, written, tmp_path):
    options = Options(only=("second",), seeds=1)
    plan = make_plan(catalogue, options)
    key = plan.distinct[0].key
    where = {
        "catalogue": str(written),
        "options": options.model_dump(mode="json"),
        "folder": str(tmp_path / "plays"),
        "project": None,
    }
    assert perform_named(where, key) == key
    assert jobs_of(plan, tmp_path / "plays") == []
    with pytest.raises(RunError, match="same code, packages and events"):
        perform_named(where, "0" * 64)


def test_a_report_tells_what_is_missing_and_never_a_number_for_it(catalogue, tmp_path):
    plan = make_plan(catalogue, Options(seeds=2))
    play_all(jobs_of(plan, tmp_path))
    report = report_of(plan, tmp_path, ["vepa", "reproduce"])
    first, second = report.experiments
    assert second.tables[0].rows[0].cells["covered_f1"].by_seed
    rows = {(row.condition_key, row.method_key): row for row in first.tables[0].rows}
    assert rows["clean", "no-memory"].needs == "a language model: `--model judge=NAME`"
    assert rows["absent", "paper"].needs == "events in data/nowhere.events.jsonl"
    assert rows["clean", "later"].needs == "a parser that is not there yet"
    assert all(not row.cells for row in rows.values() if row.needs)
    assert all(row.cells for row in rows.values() if not row.needs)
    assert {(each.what, each.needs) for each in first.missing} == {
        ("LLM without memory", "a language model: `--model judge=NAME`"),
        ("later", "a parser that is not there yet"),
        ("absent", "events in data/nowhere.events.jsonl"),
    }
    absolute, greedy, model = first.beside
    assert absolute.ours == rows["clean", "paper"].cells["covered_f1"]
    assert greedy.ours is not None
    assert greedy.ours.mean == pytest.approx(
        rows["clean", "greedy"].cells["full_f1"].mean - rows["clean", "paper"].cells["full_f1"].mean
    )
    assert model.ours is None
    assert model.needs
    assert model.verdict == "NOT RUN"
    assert "regression" not in rows["clean", "no-memory"].cells
    assert "active_rules" not in rows["clean", "lookup"].cells
    assert first.command == "vepa reproduce --only first"
    assert set(first.hashes) == {"rjudge_dev.events.jsonl", "plays"}
    assert [figure.name for figure in first.figures] == ["dots", "levels", "rounds", "risk"]
    assert all(figure.series for figure in first.figures)
    same = next(text for text in first.findings if "same policy" in text)
    hashes = [
        [PlayStore(tmp_path).read(play)["policy"].told["policy_hash"] for play in plays]
        for plays in (plan.plays["first", "clean", m] for m in ("paper", "greedy"))
    ]
    assert f"in {sum(a == b for a, b in zip(*hashes, strict=True))} of 2 shuffles" in same
