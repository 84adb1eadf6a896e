"""Authority under `anytime`: the e-process, its error however often one looks, what counts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import pytest
from evolving import WORLD, Scripted, adding, archive_of, drawn, rule
from scipy.stats import binomtest

from benchmarks.looks import ever_active, exactly, needs
from vepa.errors import SettingError
from vepa.evolution import Archive, EvolutionSettings, update
from vepa.evolution.origin import dated
from vepa.policy import Evidence, Policy, Rule, Threshold, authority
from vepa.policy.authority import ERROR, log_wealth

LOOKS, RUNS = 2_000, 20_000
BAD = (0.95, 0.93, 0.90)
EMPTY = Policy(WORLD)
REFUSE_RED = rule("red", "refuse", colour=["red"])


@pytest.mark.parametrize("target", [0.5, 0.9, 0.95, 0.975, 0.999])
def test_expected_wealth_never_rises_where_the_rule_is_no_better_than_the_target(
    target: float,
) -> None:
    """Whatever the counts so far; at the target itself the game is fair."""
    for support, against in itertools.product((0, 1, 13, 200, 1_900), (0, 1, 7, 100)):
        now = log_wealth(support, against, target)
        if now == -math.inf:  # spent: nothing brings it back
            assert log_wealth(support + 1, against, target) == -math.inf
            continue
        won = math.exp(log_wealth(support + 1, against, target) - now)
        lost = math.exp(log_wealth(support, against + 1, target) - now)
        for precision in (0.0, 0.5 * target, 0.99 * target):
            assert precision * won + (1.0 - precision) * lost < 1.0
        assert target * won + (1.0 - target) * lost == pytest.approx(1.0, abs=1e-9)
        assert lost < 1.0 < won


def test_it_starts_from_a_stake_of_one_and_so_many_supports_are_needed() -> None:
    assert log_wealth(0, 0, 0.95) == pytest.approx(0.0, abs=1e-12)
    gate = authority("anytime")
    assert [gate.needed("allow", against) for against in range(4)] == [66, 139, 179, 218]
    # No such test can do with fewer than one that bets all on a spotless rule: 59.
    assert math.ceil(math.log(ERROR) / math.log(0.95)) == 59


@pytest.mark.parametrize("precision", BAD)
def test_a_rule_that_is_not_good_enough_is_seldom_ever_active(precision: float) -> None:
    found = ever_active("anytime", precision, LOOKS, RUNS, seed=1)
    assert binomtest(found.active, RUNS, ERROR, alternative="greater").pvalue > 1e-4
    assert exactly("anytime", precision, LOOKS) <= ERROR


@pytest.mark.parametrize("precision", BAD)
def test_the_same_simulation_sees_paper_exceed_the_error(precision: float) -> None:
    found = ever_active("paper", precision, LOOKS, RUNS, seed=1)
    assert binomtest(found.active, RUNS, ERROR, alternative="greater").pvalue < 1e-12


@pytest.mark.parametrize(("precision", "share"), [(0.90, 0.33), (0.93, 0.61)])
def test_what_the_method_says_of_paper(precision: float, share: float) -> None:
    exact = exactly("paper", precision, 1_000)
    assert round(exact, 2) == share
    found = ever_active("paper", precision, 1_000, RUNS, seed=2)
    assert binomtest(found.active, RUNS, exact).pvalue > 1e-4


def test_the_simulation_looks_after_every_label() -> None:
    """Against the gate itself, look by look."""
    gate, precision = authority("anytime"), 0.97
    alive, crossed = {0: 1.0}, 0.0
    for look in range(1, 161):
        moved: dict[int, float] = {}
        for against, chance in alive.items():
            moved[against] = moved.get(against, 0.0) + chance * precision
            moved[against + 1] = moved.get(against + 1, 0.0) + chance * (1.0 - precision)
        passed = {a for a in moved if gate.active("refuse", Evidence(look - a, a))}
        crossed += sum(moved[against] for against in passed)
        alive = {against: chance for against, chance in moved.items() if against not in passed}
    assert exactly("anytime", precision, 160) == pytest.approx(crossed, abs=1e-12)
    found = ever_active("anytime", precision, 160, RUNS, seed=3)
    assert binomtest(found.active, RUNS, crossed).pvalue > 1e-4
    assert len(needs("anytime", 160)) == 2


def test_a_good_rule_gets_there() -> None:
    spotless = ever_active("anytime", 1.0, LOOKS, 10, seed=1)
    assert (spotless.active, spotless.labels) == (10, 66)
    assert exactly("anytime", 0.98, LOOKS) > 0.999


def test_another_target_has_its_own_bets() -> None:
    for target in (0.9, 0.99):
        gate = authority("anytime", {"allow": Threshold(target=target)})
        need = gate.needed("allow", 0)
        assert need is not None
        assert need >= math.log(ERROR) / math.log(target)


@pytest.mark.parametrize("other", ["paper", "prospective", "noise-aware", "early"])
def test_nothing_that_would_break_the_guarantee_can_be_joined(other: str) -> None:
    with pytest.raises(SettingError):
        authority(f"anytime+{other}")


def law(event: Mapping[str, str]) -> str:
    return "refuse" if event["colour"] == "red" else "allow"


def born(known: Rule) -> int | None:
    assert known.provenance is not None
    return known.provenance.round


def proposed(parent: Policy, archive: Archive, number: int) -> Policy:
    return update(
        parent,
        archive,
        round=number,
        authority=authority("anytime"),
        settings=EvolutionSettings(scored="all"),
        source=Scripted([adding(REFUSE_RED)]),
    ).policy


def test_examples_count_from_the_proposal_and_a_rule_that_was_dropped_begins_anew() -> None:
    archive = archive_of(drawn(300, law, seed=3))
    first = proposed(EMPTY, archive, 1)
    assert born(first.rules[0]) == 1
    assert first.rules[0].evidence == Evidence(0, 0)  # what it was found on says nothing

    later = drawn(300, law, seed=4, prefix="later")
    archive.add(later, later.labels, 2)
    red = sum(law(WORLD.decode(row)) == "refuse" for row in later.codes.tolist())
    assert red > 66
    stays = archive.judged(first, authority("anytime"))
    assert (stays.rules[0].evidence, stays.rules[0].active) == (Evidence(red, 0), True)

    again = proposed(EMPTY, archive, 2)  # it was dropped in between
    assert again.rules[0].key == first.rules[0].key
    assert born(again.rules[0]) == 2
    assert (again.rules[0].evidence, again.rules[0].active) == (Evidence(0, 0), False)


def test_another_name_keeps_the_evidence_and_another_condition_does_not() -> None:
    archive = archive_of(drawn(300, law, seed=3))
    parent = proposed(EMPTY, archive, 1)
    renamed = dated(adding(rule("other", "refuse", colour=["red"])), parent, 5)
    narrower = dated(adding(rule("red", "refuse", colour=["red"], size=["small"])), parent, 5)
    assert born(renamed.edits[0].rules[0]) == 1
    assert born(narrower.edits[0].rules[0]) == 5
