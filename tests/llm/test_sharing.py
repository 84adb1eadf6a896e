"""A budget that several processes share, and their parts in a provider's limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from vepa.errors import BudgetError, RunError
from vepa.llm import ModelSettings, Rates, Usage
from vepa.llm.sharing import SharedBudget, dealt


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shares" / "budget.json"
    SharedBudget.begin(path, Usage(30, 10, 0.25, 2))
    return path


def test_together_they_cannot_overshoot(file: Path) -> None:
    one, other = (SharedBudget(file, name, tokens=200, name="run") for name in ("0", "1"))
    with one.hold(100, None) as held:
        with other.hold(60, None):
            pass
        told = pytest.raises(BudgetError, match=r"the run's 200 tokens.*200 are taken")
        with told, other.hold(1, None):
            pass
        held.settle(50, None)
    with other.hold(50, None):  # 40 before, 60, 50 that it took in the end
        pass
    with pytest.raises(BudgetError), one.hold(1, None):
        pass
    assert SharedBudget.taken(file) == (200, 0.25)


def test_dollars_and_an_episodes_budget_within(file: Path) -> None:
    one, other = (SharedBudget(file, name, dollars=1.0, name="run") for name in ("0", "1"))
    episode = one.child("episode", tokens=70)
    with episode.hold(60, 0.5) as held:
        held.settle(60, 0.5)
    with pytest.raises(BudgetError) as caught, other.hold(1, 0.3):
        pass
    assert (caught.value.budget, caught.value.owner) == ("dollars", "run")
    with pytest.raises(BudgetError) as caught, episode.hold(11, 0.0):
        pass
    assert caught.value.owner == "episode"
    assert SharedBudget.taken(file) == (100, 0.75), "what was refused is not on its way"


def test_what_was_killed_on_its_way_counts_with_its_worst_case(file: Path) -> None:
    killed = SharedBudget(file, "3", tokens=200)
    killed.hold(150, None).__enter__()  # nobody leaves: the process is gone
    with pytest.raises(BudgetError), SharedBudget(file, "4", tokens=200).hold(20, None):
        pass
    again = SharedBudget(file, "3", tokens=200)
    with pytest.raises(BudgetError, match="190 are taken"), again.hold(20, None):
        pass
    with again.hold(10, None):
        pass


def test_time_runs_from_when_the_first_began(file: Path) -> None:
    now = [100.0]
    one = SharedBudget(file, "0", seconds=60, name="run", clock=lambda: now[0])
    now[0] = 159.0
    other = SharedBudget(file, "1", seconds=60, name="run", clock=lambda: now[0])
    assert other.seconds_left() == 1.0
    other.child("episode").check()
    now[0] = 160.0
    for budget in (one, other):
        with pytest.raises(BudgetError, match="60 seconds are over"):
            budget.child("episode").check()


@pytest.mark.parametrize("content", [None, "half a li", "{}"])
def test_a_file_that_is_gone_or_damaged_is_no_free_budget(file: Path, content: str | None) -> None:
    budget = SharedBudget(file, "0", tokens=200)
    if content is None:
        file.unlink()
    else:
        file.write_text(content if content != "{}" else '{"began": []}')
    with pytest.raises(RunError, match="budget of the run cannot be kept"), budget.hold(1, None):
        pass


def test_limits_are_dealt_and_each_gets_at_least_one() -> None:
    settings = ModelSettings(concurrency=8, rates=Rates(requests=100), temperature=0.5)
    part = dealt(settings, 3)
    assert (part.concurrency, part.rates.requests, part.rates.tokens) == (2, 33, None)
    assert part.temperature == 0.5
    assert dealt(settings, 200).concurrency == dealt(settings, 200).rates.requests == 1
