"""What policies are worth where labels are believed rather than taken."""

from __future__ import annotations

import numpy as np
import pytest
from evolving import WORLD, drawn, rows, rule, said

from vepa.evolution import Archive, Scorer, scoring
from vepa.evolution.beliefs import Beliefs, believe
from vepa.evolution.scoring import BelievedScorer, error_cost, macro_f1
from vepa.evolution.weights import IMAGINED, SEEN
from vepa.policy import Policy
from vepa.policy.matching import REFUSE


def law(event):
    return "refuse" if event["colour"] == "red" or event["shape"] == "rod" else "allow"


def an_archive(seed, size=90, share=0.1):
    """Feedback of which a share is wrong; the old policy refused what is large."""
    table = drawn(size, law, seed=seed)
    wrong = np.random.default_rng(seed).random(size) < share
    table = table.with_labels(np.where(wrong, 1 - table.labels, table.labels))
    found = Archive(WORLD)
    verdicts = np.where(table.codes[:, 1] == 2, 1, -1).astype(np.int8)
    found.add(table, verdicts, 1, drawn(40, law, seed=50 + seed, prefix="c"))
    return found


def some_rules(seed):
    rng = np.random.default_rng(seed)
    made = []
    for at, decision in enumerate(("allow", "refuse", "refuse")):
        fields = rng.choice(len(WORLD), 2, replace=False)
        when = {
            WORLD.fields[field].name: [
                value for value in WORLD.fields[field].values if rng.random() < 0.5
            ]
            or ["unknown"]
            for field in fields
        }
        made.append(rule(f"r{at}", decision, **when))
    return made


def decided(rules, table, clash):
    """Verdicts one event at a time: 0, 1 or -1."""
    verdicts = []
    for row in table.codes.tolist():
        hits = {
            known.decision
            for known in rules
            if all(mask >> code & 1 for mask, code in zip(known.masks, row, strict=True))
        }
        verdict = {frozenset(): -1, frozenset({"allow"}): 0, frozenset({"refuse"}): 1}.get(
            frozenset(hits), 1 if clash == "refuse" else -1
        )
        verdicts.append(verdict)
    return verdicts


def gains(rules, table, refuse, cost, clash):
    """The probability of being right less the cost of being wrong, event by event."""
    found = []
    for verdict, p in zip(decided(rules, table, clash), refuse.tolist(), strict=True):
        right = {0: 1.0 - p, 1: p, -1: 0.0}[verdict]
        found.append(right - cost * (1.0 - right) if verdict != -1 else 0.0)
    return found


@pytest.mark.parametrize("clash", ["abstain", "refuse"])
@pytest.mark.parametrize("seed", range(6))
def test_a_score_is_what_counting_event_by_event_gives(seed, clash):
    archive, rules = an_archive(seed), some_rules(seed)
    scorer = BelievedScorer(archive, clash=clash)
    score = scorer.score(rules)
    known = believe(archive.table, archive.context)
    cost = 7.0 * error_cost(len(archive))
    own = gains(rules, archive.table, known.true, cost, clash)
    failed = archive.failed.tolist()
    assert 0 < sum(failed) < len(failed)
    for share, wanted in ((score.repair, True), (score.preservation, False)):
        expected = [gain for gain, at in zip(own, failed, strict=True) if at is wanted]
        assert share == pytest.approx(np.mean(expected), abs=1e-9)
    imagined = archive.context.take(np.zeros(len(known.imagined), dtype=np.intp))
    imagined = type(imagined)(WORLD, imagined.ids, known.imagined_codes, imagined.labels)
    total = sum(own)
    total += SEEN * sum(gains(rules, archive.context, known.context, cost, clash))
    total += IMAGINED * sum(gains(rules, imagined, known.imagined, cost, clash))
    whole = 90 + SEEN * 40 + IMAGINED * 130
    assert score.objective == pytest.approx((total - len(rules)) / whole, abs=1e-9)
    assert score.macro_f1 == macro_f1(scorer.outcome(rules), archive.allow, archive.refuse)


def test_a_bold_policy_does_not_dominate_a_careful_one(monkeypatch):
    """Deciding everything repairs more; what is only likely is not worth the risk of an error."""
    sure, likely = {"colour": "red"}, {"colour": "green"}
    pairs = [(sure, "refuse")] * 20 + [(likely, "refuse")] * 8 + [(likely, "allow")] * 2
    archive = Archive(WORLD)
    archive.add(rows(pairs), np.full(30, -1, dtype=np.int8), 1)

    def believe(table, context, corrected):
        del context, corrected
        true = np.where(table.codes[:, 0] == 1, 0.99, 0.8)
        none = np.zeros(0)
        return Beliefs(np.eye(31)[0], true, true, none, table.codes[:0], none)

    monkeypatch.setattr(scoring, "believe", believe)
    careful = [rule("sure", "refuse", colour=["red"])]
    bold = [rule("both", "refuse", colour=["red", "green"])]
    plain, by_belief = Scorer(archive, 1.0), BelievedScorer(archive)
    assert plain.score(bold).dominates(plain.score(careful))
    assert not by_belief.score(bold).dominates(by_belief.score(careful))
    assert by_belief.score(careful).dominates(by_belief.score(bold))
    cheap = BelievedScorer(archive, cost=1.0)  # where an error is no dearer than a right decision
    assert cheap.score(bold).dominates(cheap.score(careful))


def test_the_rules_of_the_law_are_worth_more_than_those_of_wrong_labels():
    """Rules that fit the flipped labels as well lose by belief what they win by feedback."""
    archive = an_archive(2, size=300)
    table = archive.table
    right = [rule("red", "refuse", colour=["red"]), rule("rod", "refuse", shape=["rod"])]
    rest = {"colour": ["green", "blue"], "shape": ["disc", "cube", "cone"]}
    good = [*right, rule("rest", "allow", **rest)]
    wrong = table.labels != np.array([{"allow": 0, "refuse": 1}[law(WORLD.decode(row))]
                                      for row in table.codes.tolist()])  # fmt: skip
    lie = next(row for row in np.flatnonzero(wrong).tolist() if table.labels[row] == REFUSE)
    odd = {name: [value] for name, value in WORLD.decode(table.codes[lie].tolist()).items()}
    scorer = BelievedScorer(archive)
    assert scorer.score(good).objective > 0.5
    lone = BelievedScorer(archive).score([rule("lie", "refuse", **odd)])
    assert lone.objective < 0.0 < scorer.score(right).objective
    verdicts = said(Policy(WORLD, tuple(good)), table)
    assert scorer.score(good).macro_f1 < 1.0 == np.mean(verdicts[~wrong] == table.labels[~wrong])


def test_each_rule_costs_one_right_decision_and_standing_plays_no_part():
    archive = an_archive(1)
    scorer = BelievedScorer(archive)
    one = [rule("red", "refuse", colour=["red"])]
    halves = [rule(size, "refuse", colour=["red"], size=[size]) for size in ("small", "large")]
    weight = 90 + SEEN * 40 + IMAGINED * 130
    dearer = scorer.score(one).objective - scorer.score(halves).objective
    assert dearer == pytest.approx(1 / weight, abs=1e-9)
    assert scorer.score([one[0].with_status("inactive")]) == scorer.score(one)
    assert scorer.score([]).objective == scorer.score([]).repair == 0.0


def test_an_empty_archive_has_nothing_to_win_or_lose():
    score = BelievedScorer(Archive(WORLD)).score([rule("a", "allow", colour=["red"])])
    assert (score.repair, score.preservation, score.objective) == (1.0, 1.0, 0.0)


def test_errors_are_dear_while_little_is_known():
    costs = [error_cost(examples) for examples in (0, 1, 40, 217, 300, 416, 417, 5_000)]
    assert costs == sorted(costs, reverse=True)
    assert costs[:3] == [1.15] * 3
    assert costs[4] == pytest.approx(250 / 300)
    assert costs[-2:] == [0.6] * 2
