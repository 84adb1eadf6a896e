"""What holds for every update of whole runs over the bundled events."""

from __future__ import annotations

import itertools
import json

import pytest

from vepa.evolution import rebuild
from vepa.policy.patches import apply
from vepa.policy.verifier import verify


def structure(policy):
    return [(known.id, *known.key) for known in policy.rules]


@pytest.mark.integration
def test_every_record_of_a_run_rebuilds_its_policy(played):
    for outcome in played.outcomes:
        record = json.loads(json.dumps(outcome.record))
        again = rebuild(outcome.before, record)
        assert again.document_hash == outcome.after.document_hash == record["document"]
        assert record["policy"] == again.policy_hash
    assert any(outcome.record["accepted"] for outcome in played.outcomes)


@pytest.mark.integration
def test_every_policy_of_a_run_is_verified_with_all_its_rules(played):
    for result in played.updates:
        assert verify(result.policy).ok
        assert verify(result.policy.activated()).ok
        candidate = result.parent
        for patch in result.accepted:
            candidate = apply(candidate, patch)
            assert verify(candidate).ok
        assert structure(candidate) == structure(result.policy)
        assert len(result.attempts) <= 30


@pytest.mark.integration
def test_no_update_of_a_run_lowers_the_objective_or_keeps_a_dominated_candidate(played):
    for result in played.updates:
        for (_, one), (_, two) in itertools.permutations(result.front, 2):
            assert not one.dominates(two)
        scores = dict(result.front)
        assert scores[result.picked] == result.score
        assert result.score.objective == pytest.approx(
            max(score.objective for score in scores.values()), abs=1e-9
        )
        tried = {attempt.number: attempt for attempt in result.attempts}
        for number, score in result.front:
            assert number == 0 or tried[number].score == score
        if result.picked == 0:
            assert structure(result.policy) == structure(result.parent)


@pytest.mark.integration
def test_every_candidate_of_a_run_is_its_base_patched(played):
    for result in played.updates:
        made = {0: result.parent}
        for attempt in result.attempts:
            if attempt.score is not None:
                made[attempt.number] = apply(made[attempt.base], attempt.patch)
                assert verify(made[attempt.number]).ok
            else:
                assert attempt.feedback
        assert structure(made[result.picked]) == structure(result.policy)
