"""The benchmark at a tiny size: all parts run, all engines agree, and what differs is noticed."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import run
from benchmarks.suite import batch, pairwise, timing
from benchmarks.suite.peers import CedarPeer, PlainLoop, cedar_text, check_equal
from benchmarks.suite.policies import STREAM, bundled_events, draw, generate, read_bundled, shape
from benchmarks.suite.section import Section, Settings
from vepa.policy import CompiledPolicy, Event, Policy, Rule, bundled_schema, verify

SCHEMA = bundled_schema()


@pytest.fixture(scope="module")
def seed_policy() -> Policy:
    """Four rules by hand, two of each decision, apart on `injection`."""
    rules = [
        ("r1", "refuse", {"injection": {"in": ["followed"]}}),
        (
            "r2",
            "refuse",
            {"injection": {"in": ["followed", "ignored"]}, "scope": {"not_in": ["within"]}},
        ),
        ("a1", "allow", {"injection": {"in": ["none"]}, "sensitivity": {"not_in": ["critical"]}}),
        ("a2", "allow", {"injection": {"in": ["none"]}, "request_intent": {"in": ["benign"]}}),
    ]
    return verify(Policy(SCHEMA, tuple(Rule.build(SCHEMA, *rule) for rule in rules))).unwrap()


@pytest.fixture(scope="module")
def events():
    return bundled_events()


@pytest.mark.slow  # `make verify` runs the benchmarks as well
def test_every_part_runs_and_is_written(tmp_path, capsys):
    affinity = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    assert run.main(["--tiny", "--out", str(tmp_path)]) == 0
    data = json.loads((tmp_path / "results.json").read_text())
    page = (tmp_path / "results.md").read_text()
    shown = capsys.readouterr().out
    assert tuple(data["sections"]) == run.PARTS
    for section in data["sections"].values():
        columns = list(section["rows"][0])
        assert all(list(row) == columns for row in section["rows"]), section["name"]
        assert section["notes"]
        assert f"## {section['title']}\n" in page
        assert section["title"] in shown
    assert data["machine"]["packages"]["cedarpy"]
    single = data["sections"]["single"]["rows"]
    assert {row["engine"] for row in single} >= {"VEPA", "plain Python loop", "cedarpy"}
    assert all(0 < row["p50_us"] <= row["p99_us"] for row in single)
    decided = data["sections"]["batch"]["rows"]
    assert all(row["extrapolated"] == (row["events_done"] < 2_000) for row in decided)
    if affinity is not None:
        assert os.sched_getaffinity(0) == affinity


def test_only_the_parts_that_were_asked_for(tmp_path):
    assert run.main(["--tiny", "--only", "evolving,encoding", "--out", str(tmp_path)]) == 0
    data = json.loads((tmp_path / "results.json").read_text())
    assert list(data["sections"]) == ["encoding", "evolving"]


@pytest.mark.parametrize("arguments", [["--tiny", "--record"], ["--only", "singel"]])
def test_a_part_of_a_run_is_never_recorded(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        run.main(arguments)
    assert caught.value.code == 2
    assert capsys.readouterr().err


def test_engines_agree_and_a_difference_is_noticed(seed_policy, events):
    validated = [Event(tuple(row), SCHEMA) for row in events.codes[:200].tolist()]
    compiled, plain, cedar = (make(seed_policy) for make in (CompiledPolicy, PlainLoop, CedarPeer))
    assert check_equal(compiled, plain, cedar, validated) == 200
    verdicts = {compiled.decide(event).verdict for event in validated}
    assert verdicts == {"allow", "refuse", "abstain"}
    fewer = seed_policy.with_rules(seed_policy.rules[:-1])
    with pytest.raises(AssertionError):
        check_equal(compiled, PlainLoop(fewer), cedar, validated)
    with pytest.raises(AssertionError):
        check_equal(compiled, plain, CedarPeer(fewer), validated)


def test_cedar_text_spells_both_operators(seed_policy):
    text = cedar_text(seed_policy)
    assert '@id("r2")\nforbid(principal, action, resource)' in text
    assert '["followed", "ignored"].contains(context.injection)' in text
    assert 'context.scope != "within"' in text
    assert text.count("permit(") == 2
    inactive = seed_policy.with_rules(replace(r, status="inactive") for r in seed_policy.rules)
    assert cedar_text(inactive) == ""


@pytest.mark.parametrize("size", [4, 40, pytest.param(120, marks=pytest.mark.slow)])
def test_generated_policies_are_verified_and_alike(seed_policy, events, size):
    made = generate(seed_policy, events, size)
    assert verify(made).ok
    assert len({rule.key for rule in made.rules}) == len(made.active) == size
    assert made.policy_hash == generate(seed_policy, events, size).policy_hash
    assert made.policy_hash != generate(seed_policy, events, size, seed=1).policy_hash
    like, found = shape(seed_policy, events), shape(made, events)
    assert found.coverage <= like.coverage
    assert found.distance(like) < 1.5
    assert like.distance(like) == 0


def test_the_shape_of_a_policy_is_counted(seed_policy, events):
    found = shape(seed_policy, events)
    assert (found.rules, found.allow_share, found.predicates) == (4, 0.5, 7 / 4)
    assert found.overlap == 1.0  # both pairs of one decision can match one event
    decided = CompiledPolicy(seed_policy).decide_columns(events.columns)
    assert found.coverage == pytest.approx(float((decided >= 0).mean()))


@pytest.mark.parametrize("engine", [pairwise.plain, pairwise.z3_checks, pairwise.z3_one_solver])
def test_pairwise_engines_find_exactly_the_planted_conflict(seed_policy, engine):
    assert engine(seed_policy, 60)[:2] == (set(), 4)
    planted = Rule.build(SCHEMA, "planted", "allow", {"injection": {"in": ["ignored"]}})
    broken = seed_policy.with_rules([*seed_policy.rules, planted])
    assert engine(broken, 60)[:2] == ({("planted", "r2")}, 6)
    assert engine(broken, 0)[1] == 2  # stopped after the first allow rule


def test_a_slow_peer_is_stopped_and_marked(seed_policy, events):
    rows = draw(events, 3 * batch.SLICE)
    expected = CompiledPolicy(seed_policy).decide_columns(events.columns)[rows]
    lookup = dict(zip(rows.tolist(), expected.tolist(), strict=True))

    def peer(part):
        return [lookup[at] for at in part.tolist()]

    done, seconds = batch._until(peer, rows, expected, 0.0)
    assert done == batch.SLICE
    assert seconds >= 0
    assert batch._until(peer, rows, expected, 60.0)[0] == len(rows)
    with pytest.raises(AssertionError):
        batch._until(lambda part: [7] * len(part), rows, expected, 1.0)


def test_latencies_count_every_call_and_stop():
    called = []
    found = timing.latencies(called.append, range(10), limit=60, repeats=3)
    assert (found.calls, found.stopped, len(called)) == (30, False, 30)
    assert 0 <= found.p50 <= found.p99
    assert timing.latencies(called.append, range(10), limit=0).stopped


def test_drawn_rows_are_the_same_every_time(events):
    assert np.array_equal(draw(events, 50), draw(events, 50))
    assert not np.array_equal(draw(events, 50), draw(events, 50, seed=1))


def test_streams_and_settings():
    assert len(read_bundled(STREAM)) == 817
    assert Settings.tiny().batch < Settings().batch
    assert Section("x", "X").to_dict()["goals"] == []
