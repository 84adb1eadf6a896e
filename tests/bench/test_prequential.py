from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from vepa.bench.prequential import Prequential, start
from vepa.bench.streams import StreamSettings, make_stream
from vepa.bench.verdicts import confidence, decide
from vepa.errors import RunError, UnitMismatchError
from vepa.evolution import EvolutionSettings, rebuild
from vepa.policy import CompiledPolicy, Event, Evidence, Policy, Rule, authority

SETTINGS = EvolutionSettings(patches=8)


def loop(stream, evolve=None, **known):
    return Prequential(stream, authority(), SETTINGS, evolve=evolve, **known)


def hashes(outcomes):
    return [(o.before.document_hash, o.after.document_hash) for o in outcomes]


def test_the_old_policy_decides_the_whole_round(build):
    stream = make_stream(build.table(80), StreamSettings(rounds=4), 0)
    outcomes = loop(stream, build.evolve).run()
    assert (outcomes[0].verdicts == -1).all()  # policy 0 is empty
    for outcome, part in zip(outcomes, stream.rounds, strict=True):
        columns = stream.table.take(part.indices).columns
        assert np.array_equal(
            outcome.verdicts, CompiledPolicy(outcome.before).decide_columns(columns)
        )
        assert np.array_equal(outcome.indices, part.indices)
        assert outcome.revealed.sum() == len(part.feedback)
    for earlier, later in pairwise(outcomes):
        assert later.before is earlier.after
    assert outcomes[-1].after.rules  # the last update is made as well


def test_archives_hold_all_feedback_by_the_verdict_it_met(build):
    stream = make_stream(build.table(80), StreamSettings(rounds=4, flip=0.2), 0)
    run = loop(stream, build.evolve)
    correct = failures = 0
    for part in stream.rounds:
        outcome = run.advance()
        said = outcome.verdicts[outcome.revealed]
        wrong = said != part.observed
        assert np.array_equal(outcome.failures, part.feedback[wrong])
        failures += int(wrong.sum())
        correct += int((~wrong).sum())
        assert outcome.correct == correct
        assert run.archive.failed.sum() == failures
        assert np.array_equal(run.archive.table.labels[-len(part.feedback) :], part.observed)
        assert set(run.archive.rounds) == set(range(1, part.number + 1))
    assert correct
    assert failures


def test_a_forgetful_evolution_is_seen_as_regression(build):
    def forget(parent, archive, *, round, **known):
        learned = build.evolve(parent, archive, round=round, **known)
        if round == 3:
            return type(learned)(parent.with_rules(()), round)
        return learned

    stream = make_stream(build.table(80), StreamSettings(rounds=4), 0)
    outcomes = loop(stream, forget).run()
    assert [outcome.lost for outcome in outcomes[:2]] == [0, 0]
    assert outcomes[2].lost == outcomes[2].correct > 0
    assert (outcomes[3].verdicts == -1).all()
    assert outcomes[3].lost == 0
    assert len(outcomes[3].failures) == len(stream.rounds[3].feedback)
    assert np.array_equal(outcomes[3].repaired, stream.table.labels[outcomes[3].failures])


def test_labels_that_feedback_does_not_reveal_change_nothing(rjudge):
    settings = StreamSettings(rounds=5)
    stream = make_stream(rjudge, settings, 1)
    hidden = np.setdiff1d(stream.order, np.concatenate([part.feedback for part in stream.rounds]))
    labels = stream.table.labels.copy()
    labels[hidden] = 1 - labels[hidden]
    other = make_stream(stream.table.with_labels(labels), settings, 1)
    first, second = loop(stream).run(), loop(other).run()
    assert hashes(first) == hashes(second)
    assert any(outcome.after.active for outcome in first)
    for a, b in zip(first, second, strict=True):
        assert np.array_equal(a.verdicts, b.verdicts)


def test_labels_of_the_future_change_no_earlier_decision(rjudge):
    settings = StreamSettings(rounds=5)
    stream = make_stream(rjudge, settings, 1)
    later = np.concatenate([part.indices for part in stream.rounds[2:]])
    labels = stream.table.labels.copy()
    labels[later] = 1 - labels[later]
    first = loop(stream).run()
    second = loop(make_stream(stream.table.with_labels(labels), settings, 1)).run()
    assert hashes(first)[:2] == hashes(second)[:2]
    for a, b in zip(first[:3], second[:3], strict=True):
        assert np.array_equal(a.verdicts, b.verdicts)
    assert hashes(first)[2:] != hashes(second)[2:]


def test_a_resumed_run_equals_an_uninterrupted_one(rjudge):
    stream = make_stream(rjudge, StreamSettings(rounds=5), 2)
    whole = loop(stream).run()
    resumed = loop(stream)
    for outcome in whole[:3]:
        resumed.replay(rebuild(resumed.current, outcome.record), outcome.record)
    assert resumed.round == 4
    resumed.run()
    assert hashes(resumed.outcomes) == hashes(whole)
    for a, b in zip(whole, resumed.outcomes, strict=True):
        assert np.array_equal(a.verdicts, b.verdicts)
        assert (a.correct, a.lost) == (b.correct, b.lost)
        assert np.array_equal(a.repaired, b.repaired)


def test_rounds_come_in_order(build):
    run = loop(make_stream(build.table(40), StreamSettings(rounds=2), 0), build.evolve)
    with pytest.raises(RunError, match="round 2 cannot be run"):
        run.advance(2)
    run.advance(1)
    run.advance(2)
    assert run.finished
    with pytest.raises(RunError):
        run.advance()


def test_a_run_may_start_from_a_policy(build):
    table = build.table(40)
    rule = Rule.build(build.schema, "r", "refuse", {"colour": {"in": ["red"]}})
    stream = make_stream(table, StreamSettings(rounds=2), 0)
    run = loop(stream, build.evolve, policy=Policy(build.schema, (rule,)))
    first = run.advance()
    red = table.codes[first.indices, 0] == 1
    assert np.array_equal(first.verdicts, np.where(red, 1, -1))
    with pytest.raises(UnitMismatchError):
        loop(stream, policy=Policy(build.schema, (rule,), "step"))


def test_start_learns_from_the_first_labels_alone(rjudge):
    stream = make_stream(rjudge, StreamSettings(), 0)
    found = start(stream, authority(), SETTINGS)
    feedback = np.concatenate([part.feedback for part in stream.rounds])
    labels = stream.table.labels.copy()
    labels[feedback[40:]] = 1 - labels[feedback[40:]]
    hidden = np.setdiff1d(np.arange(len(rjudge)), feedback)
    labels[hidden] = 1 - labels[hidden]
    other = start(
        make_stream(stream.table.with_labels(labels), StreamSettings(), 0), authority(), SETTINGS
    )
    assert found.labels == 40
    assert found.policy.document_hash == other.policy.document_hash
    assert found.policy.active
    rows = np.setdiff1d(np.arange(len(rjudge)), feedback[:40])
    said = CompiledPolicy(found.policy).decide_columns(stream.table.take(rows).columns)
    assert found.coverage == pytest.approx((said != -1).mean())
    assert found.coverage == other.coverage
    assert found.f1 != other.f1  # scored by the true labels, which are others there


def test_start_has_seen_what_came_among_the_first_labels_and_nothing_later(build):
    stream = make_stream(build.table(200), StreamSettings(rounds=4), 3)
    archives = []

    def evolve(parent, archive, **known):
        archives.append(archive)
        return build.evolve(parent, archive, **known)

    start(stream, authority(), SETTINGS, labels=40, evolve=evolve)
    (archive,) = archives
    labelled, seen = set(archive.table.ids), set(archive.context.ids)
    arrived = [
        (stream.table.ids[row], row in set(part.feedback.tolist()))
        for part in stream.rounds
        for row in part.indices.tolist()
    ]
    told = [at for at, (_, revealed) in enumerate(arrived) if revealed][:40]
    before = arrived[: told[-1]]
    assert labelled == {arrived[at][0] for at in told}
    assert seen == {name for name, revealed in before if not revealed}
    assert len(seen) > 10
    assert set(archive.context.labels.tolist()) == {-1}
    start(stream, authority(), SETTINGS, labels=0, evolve=evolve)
    assert (len(archives[1]), len(archives[1].context)) == (0, 0)


def test_start_with_fewer_labels_than_asked(build):
    stream = make_stream(build.table(40), StreamSettings(rounds=2, feedback=0.5), 0)
    found = start(stream, authority(), SETTINGS, evolve=build.evolve)
    assert found.labels == 20
    assert found.coverage == 1.0
    assert found.f1 == 1.0


def conflicting(schema):
    return Policy(
        schema,
        (
            Rule.build(schema, "a", "allow", {"size": {"in": ["small"]}}, evidence=Evidence(17, 1)),
            Rule.build(schema, "b", "refuse", {"colour": {"in": ["red"]}}, evidence=Evidence(8, 0)),
            Rule.build(schema, "c", "refuse", {"colour": {"in": ["red"]}}, status="inactive"),
        ),
    )


def test_without_a_verifier_a_clash_abstains_or_refuses(build):
    policy = conflicting(build.schema)
    codes = np.array([[1, 1, 0], [1, 2, 0], [2, 1, 0], [2, 2, 0]], np.int8)
    columns = np.ascontiguousarray(codes.T)
    assert decide(policy, columns, verify="abstain").tolist() == [-1, 1, 0, -1]
    assert decide(policy, columns, verify="refuse").tolist() == [1, 1, 0, -1]


def test_confidence_is_the_best_posterior_mean_of_the_matching_active_rules(build):
    policy = conflicting(build.schema)
    codes = np.array([[1, 1, 0], [1, 2, 0], [2, 1, 0], [2, 2, 0]], np.int8)
    allow, refuse = 18 / 20, 9 / 10
    expected = [max(allow, refuse), refuse, allow, 0.0]
    assert confidence(policy, codes).tolist() == pytest.approx(expected)


def test_batch_decisions_equal_single_ones(rjudge):
    stream = make_stream(rjudge, StreamSettings(rounds=4), 0)
    outcome = loop(stream).run()[-1]
    compiled = CompiledPolicy(outcome.before)
    codes = {"allow": 0, "refuse": 1, "abstain": -1}
    singles = [
        codes[compiled.decide(Event(tuple(map(int, row)), rjudge.schema)).verdict]
        for row in stream.table.codes[outcome.indices]
    ]
    assert outcome.verdicts.tolist() == singles


def bounded_run(build, most, evolve):
    stream = make_stream(build.table(400), StreamSettings(rounds=4, flip=0.2), 0)
    settings = EvolutionSettings(patches=8, archive=most)
    return Prequential(stream, authority("paper"), settings, evolve=evolve)


def test_a_bound_on_the_archive_changes_neither_figures_nor_evidence(build):
    whole, kept = bounded_run(build, None, build.evolve), bounded_run(build, 100, build.evolve)
    for one, other in zip(whole.run(), kept.run(), strict=True):
        assert (one.correct, one.lost) == (other.correct, other.lost)
        assert one.after.document_hash == other.after.document_hash
        assert "stored" not in one.record
    assert kept.outcomes[-1].record["stored"] == {
        "examples": len(kept.archive),
        "context": len(kept.archive.context),
    }
    assert len(kept.archive) <= 100 < len(whole.archive) == 200
    assert len(kept.archive.context) <= 100
    assert kept.archive.count(kept.archive.index.all) == 200
    gate, policy = authority("paper"), whole.current
    judged = [archive.judged(policy, gate) for archive in (whole.archive, kept.archive)]
    assert judged[0].document_hash == judged[1].document_hash


def test_a_bounded_archive_comes_back_with_a_replay(build):
    first, again = bounded_run(build, 100, None), bounded_run(build, 100, None)
    first.run()
    for outcome in first.outcomes[:3]:
        again.replay(outcome.after, outcome.record)
    again.advance()
    assert hashes(again.outcomes) == hashes(first.outcomes)
    assert again.outcomes[-1].record == first.outcomes[-1].record
    assert np.array_equal(again.archive.known_weights, first.archive.known_weights)
