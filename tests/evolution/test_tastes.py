"""By belief: a plan for each taste, and the front chooses among them."""

from __future__ import annotations

import random

import numpy as np
from evolving import WORLD, archive_of, drawn, rows, said

from vepa.evolution import proposer, update
from vepa.evolution.proposers import Request
from vepa.evolution.proposers.induction import tastes
from vepa.evolution.proposers.workbench import PLAIN, Workbench
from vepa.policy import Policy, authority
from vepa.policy.patches import apply
from vepa.policy.verifier import verify


def by_colour(event):
    return "refuse" if event["colour"] == "red" else "allow"


def by_either(event):
    blue, odd = event["colour"] == "blue", event["size"] == "large" and event["shape"] == "cone"
    return "refuse" if blue or odd else "allow"


def propose(source, archive, mode):
    asked = Request(Policy(WORLD), archive, (), (), authority(mode), (), 2, 30, random.Random(0))
    return source.propose(asked).patches


def flipped(size, law, share, seed=0):
    """Feedback of which a share is wrong, and the true labels."""
    table = drawn(size, law, seed=seed)
    wrong = np.random.default_rng(50 + seed).random(size) < share
    return table.with_labels(np.where(wrong, 1 - table.labels, table.labels)), table.labels


def test_tastes_go_from_bold_to_careful_and_dearer_while_little_is_known():
    assert tastes(authority("paper"), 200) == [PLAIN]
    assert tastes(authority("early+prospective"), 200) == [PLAIN]
    few, many = (tastes(authority("noise-aware"), size) for size in (40, 400))
    assert len(few) == len(many) == 6
    for dear, cheap in zip(few, many, strict=True):
        assert dear.cost["allow"] == dear.cost["refuse"] > cheap.cost["allow"]
        assert dear.first == cheap.first
    assert len({(taste.cost["allow"], taste.first) for taste in many}) == 6
    assert {taste.first for taste in many} == {"allow", "refuse"}


def test_tastes_give_whole_plans_that_the_verifier_accepts_and_the_front_chooses_among_them():
    table, truth = flipped(300, by_either, 0.1, seed=3)
    archive = archive_of(table)
    patches = propose(proposer("induction"), archive, "default")
    plans = {tuple(sorted(made.key for edit in patch.edits for made in edit.rules))
             for patch in patches}  # fmt: skip
    assert len(plans) >= 2
    assert all(patch.rationale == "the whole plan" for patch in patches)
    for patch in patches:
        assert verify(apply(Policy(WORLD), patch)).ok
    result = update(Policy(WORLD), archive, round=1, authority=authority())
    assert result.picked
    tried = [attempt.score for attempt in result.attempts if attempt.score]
    assert len({score.objective for score in tried}) >= 2
    assert result.score.objective == max(score.objective for _, score in result.front)
    assert not any(score.dominates(result.score) for score in tried)
    assert verify(result.policy).ok
    verdicts = said(result.policy.with_rules(result.policy.active), table)
    decided = verdicts != -1
    assert decided.mean() > 0.85
    assert (verdicts == truth)[decided].mean() > 0.97  # by the true labels, not those it was shown


def test_what_first_rule_a_plan_begins_with_is_a_matter_of_taste():
    bench = {
        first: Workbench(archive_of(drawn(200, by_either, seed=1)), authority(), (), taste)
        for taste in tastes(authority(), 200)[:2]
        for first in [taste.first]
    }
    assert {first: bench[first].grown()[0][0] for first in bench} == {
        "allow": "allow",
        "refuse": "refuse",
    }


def test_a_proposer_that_goes_on_plans_anew_for_every_archive_and_authority():
    """One proposer serves all rounds; what it holds on to must not outlive its archive."""
    source = proposer("induction")
    archive = archive_of(drawn(80, by_colour, seed=1))

    def fresh_and_kept(mode):
        kept = propose(source, archive, mode)
        assert kept == propose(proposer("induction"), archive, mode)
        assert kept == propose(source, archive, mode)
        return kept

    first = fresh_and_kept("default")
    plain = fresh_and_kept("paper")
    assert first
    assert plain
    archive.add(drawn(200, by_either, seed=2, prefix="n"), np.full(200, -1, dtype=np.int8), 2)
    assert fresh_and_kept("default") != first
    assert fresh_and_kept("paper") != plain
    seen = rows([({"colour": "unknown", "shape": "disc"}, "allow")] * 300, "d")
    before = fresh_and_kept("default")
    archive.add(seen.take([]), np.zeros(0, dtype=np.int8), 3, seen)
    assert fresh_and_kept("default") != before
