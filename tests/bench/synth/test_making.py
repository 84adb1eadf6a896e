"""Synthetic streams: their truth is known, and a seed gives the same bytes everywhere."""

from __future__ import annotations

import numpy as np
import pytest

from vepa.bench.synth import SyntheticSettings, agreement, make_synthetic
from vepa.bench.synth.draws import Dice, words
from vepa.bench.synth.making import distinct
from vepa.errors import SettingError
from vepa.policy import ABSTAIN, CompiledPolicy, Policy, Rule, Schema, bundled_schema, verify

SIZE = 4_000
SHA = "df93f068bafbf2242dba160b3694be1d0df10967342b0a7da67c9a959e00c919"
POLICY = "d3b0d01ffc2a31b9fa51c71f15f35edd6d07d08781dc85de3da002b1ac77ac69"
SMALL = Schema(1, {"colour": ["red", "green", "blue"], "size": ["small", "large"]})


@pytest.fixture(scope="module")
def made():
    return make_synthetic(SyntheticSettings(events=SIZE, noise=0.05, hard=0.1))


def said(policy, table):
    return CompiledPolicy(policy).decide_columns(table.columns)


def test_the_same_bytes_on_every_machine(made):
    """Written down once: another numpy, another processor, another recipe would show here."""
    assert words(7, 3, np.arange(3, dtype=np.uint64)).tolist() == [
        3741812392265740229,
        12153252541898769555,
        18067507863746216193,
    ]
    assert made.table.sha256 == SHA
    assert made.policy.policy_hash == POLICY


def test_labels_follow_the_hidden_policy_but_where_that_is_said(made):
    true = said(made.policy, made.table)
    assert verify(made.policy).ok
    assert np.array_equal(true == ABSTAIN, made.hard)
    assert np.array_equal(true[~made.hard] != made.table.labels[~made.hard], made.noisy[~made.hard])
    assert not made.noisy[made.hard].any()
    assert abs(made.hard.mean() - 0.1) < 0.02
    assert abs(made.noisy.sum() / (~made.hard).sum() - 0.05) < 0.015
    decisions = [rule.decision for rule in made.policy.rules]
    assert (decisions.count("refuse"), decisions.count("allow")) == (12, 12)
    used = [(Policy(made.policy.schema, (rule,)), rule.id) for rule in made.policy.rules]
    assert [name for one, name in used if (said(one, made.table) == ABSTAIN).all()] == []


def test_no_field_tells_the_label_of_a_hard_event(made):
    """Both labels occur in every scenario outside the rules that is seen often enough."""
    labels, scenario = made.table.labels[made.hard], made.scenario[made.hard]
    often = [at for at, count in enumerate(np.bincount(scenario)) if count >= 25]
    assert often
    assert all(0.1 < labels[scenario == at].mean() < 0.9 for at in often)


def test_events_repeat_and_new_ones_keep_coming(made):
    whole, half = distinct(made.table), distinct(made.table.take(np.arange(SIZE // 2)))
    assert half < whole < 0.8 * SIZE
    assert whole == len(np.unique(made.table.codes, axis=0))
    pairs = made.table.codes[:, 0].astype(int) * 16 + made.table.codes[:, 1]
    joint = np.bincount(pairs, minlength=256).reshape(16, 16) / SIZE
    independent = np.outer(joint.sum(1), joint.sum(0))
    assert np.abs(joint - independent).sum() > 0.2, "the fields hang together"


def test_a_longer_stream_begins_with_the_shorter_one_and_another_seed_is_another(made):
    settings = made.settings
    shorter = make_synthetic(settings.model_copy(update={"events": 500}))
    assert np.array_equal(shorter.table.codes, made.table.codes[:500])
    assert np.array_equal(shorter.table.labels, made.table.labels[:500])
    assert shorter.policy.policy_hash == made.policy.policy_hash
    other = make_synthetic(settings.model_copy(update={"events": 500, "seed": 1}))
    assert other.policy.policy_hash != made.policy.policy_hash
    assert not np.array_equal(other.table.codes, shorter.table.codes)


def test_drift_moves_the_frequencies_and_nothing_else(made):
    moved = make_synthetic(made.settings.model_copy(update={"drift": 1.0}))
    assert moved.policy.policy_hash == made.policy.policy_hash
    assert np.array_equal(moved.hard, made.hard)

    def distance(stream):
        """Half of the summed differences between the first and the last fifth."""
        found = stream.scenario[~stream.hard]
        part = len(found) // 5
        ends = [
            np.bincount(found[rows], minlength=400) / part
            for rows in (slice(part), slice(-part, None))
        ]
        return np.abs(ends[0] - ends[1]).sum() / 2

    assert distance(made) < 0.25
    assert distance(moved) > distance(made) + 0.15


def test_agreement_counts_every_event_once(made):
    table, truth = made.table, made.policy
    same = agreement(truth, truth, table)
    assert same.agrees == pytest.approx(float((~made.hard).mean()))
    assert (same.against, same.missed, same.beyond) == (0, 0, 0)
    nothing = agreement(Policy(truth.schema), truth, table)
    assert nothing.missed == same.agrees
    turned = truth.with_rules(
        Rule.from_masks(
            truth.schema, rule.id, "allow" if rule.decision == "refuse" else "refuse", rule.masks
        )
        for rule in truth.rules
    )
    assert agreement(turned, truth, table).against == same.agrees
    every = Rule.build(truth.schema, "all", "allow", {"domain": {"not_in": ["finance"]}})
    mixed = agreement(Policy(truth.schema, (every,)), truth, table)
    assert sum(mixed.to_dict().values()) == pytest.approx(1.0)
    assert min(mixed.agrees, mixed.against, mixed.missed, mixed.beyond) > 0
    with pytest.raises(SettingError, match="not of one schema"):
        agreement(Policy(SMALL), truth, table)
    with pytest.raises(SettingError, match="no events"):
        agreement(truth, truth, table.take([]))


def test_another_schema_and_one_that_is_too_small():
    few = make_synthetic(SyntheticSettings(events=300, rules=2, hard=0.2), SMALL)
    assert np.array_equal(said(few.policy, few.table) == ABSTAIN, few.hard)
    assert few.table.codes.min() >= 0
    with pytest.raises(SettingError, match="40 rules cannot be drawn") as caught:
        make_synthetic(SyntheticSettings(events=300, rules=40), SMALL)
    assert caught.value.where.field == "rules"


def test_dice_are_fair_and_whole():
    dice = Dice(0, 0)
    assert sorted(dice.mixed(range(20))) == list(range(20))
    counts = np.bincount([dice.below(5) for _ in range(2_000)])
    assert len(counts) == 5
    assert counts.min() > 320
    skewed = np.bincount([dice.skewed(range(3)) for _ in range(1_000)])
    assert skewed[0] > 1.5 * skewed[1]


@pytest.mark.slow
def test_a_hundred_thousand_events():
    made = make_synthetic(SyntheticSettings(events=100_000, rules=64, drift=0.5, seed=3))
    true = said(made.policy, made.table)
    assert np.array_equal(true == ABSTAIN, made.hard)
    assert np.array_equal((true != made.table.labels)[~made.hard], made.noisy[~made.hard])
    assert 20_000 < distinct(made.table) < 60_000
    assert bundled_schema() == made.table.schema
