"""What every stage would take: counted by hand for a tiny project, zero for what stands."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from foretold import PRICES, collected, content_folder, foretold_project

from vepa.annotate.forecast import ANSWER_TOKENS
from vepa.errors import SettingError
from vepa.lifecycle.estimating import StageCost, Totals, estimate_lifecycle, figures
from vepa.lifecycle.judging import JUDGED_TOKENS
from vepa.lifecycle.plan import Lifecycle, plan_lifecycle
from vepa.project import Project

#: Two tasks, whose plans have four steps each, twice.
EPISODES, STEPS = 4, 16


@pytest.fixture(autouse=True)
def _bare(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No content of the package, no network, no key."""
    content = content_folder(tmp_path_factory.mktemp("content"))
    monkeypatch.setattr("vepa.project.package_content", lambda: content)
    monkeypatch.chdir(content)

    def refused(*_: object, **__: object) -> None:
        pytest.fail("a forecast opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refused)


def planned(folder: Path) -> Lifecycle:
    return plan_lifecycle(Project(folder), "tiny", artifacts=folder / "artifacts", awaiting=True)


def foretold(folder: Path) -> dict[str, StageCost]:
    return {each.stage: each for each in estimate_lifecycle(planned(folder)).stages}


def test_every_stage_of_a_fresh_project(tmp_path: Path) -> None:
    folder = foretold_project(tmp_path)
    before = sorted(folder.rglob("*"))
    found = foretold(folder)
    assert list(found) == ["collect", "annotate", "release", "evolve-corpus", "evolve-benchmark"]
    assert all(each.made for each in found.values())
    assert found["collect"].counts == {"episodes": EPISODES, "steps": STEPS}
    (agent,) = found["collect"].shares
    assert agent.asked == STEPS
    dollars = (agent.prompt * PRICES["prompt"] + agent.completion * PRICES["completion"]) / 1e6
    assert agent.dollars == pytest.approx(dollars, rel=1e-3)
    assert found["annotate"].counts == {"steps": STEPS, "contents": STEPS}
    assert [(each.who, each.asked) for each in found["annotate"].shares] == [
        ("a", STEPS), ("b", STEPS), ("c", 1)
    ]  # fmt: skip
    seat = found["annotate"].shares[0]
    assert (seat.prompt, seat.completion) == (STEPS * JUDGED_TOKENS, STEPS * ANSWER_TOKENS)
    assert seat.dollars == pytest.approx((2 * seat.prompt + 10 * seat.completion) / 1e6)
    assert found["release"].counts == {"steps": STEPS}
    assert found["evolve-corpus"].counts == {"events": STEPS, "rounds": 2}
    assert found["evolve-benchmark"].counts == {"events": 60, "rounds": 2}
    for stage in ("release", "evolve-corpus", "evolve-benchmark"):
        assert (found[stage].tokens, found[stage].dollars) == (0, 0)
        assert found[stage].seconds > 0
    assert sorted(folder.rglob("*")) == before


def test_totals_are_the_sum_and_budgets_are_held_against_them(tmp_path: Path) -> None:
    found = estimate_lifecycle(planned(foretold_project(tmp_path)))
    assert found.tokens == sum(each.tokens for each in found.stages) > 0
    assert found.dollars == pytest.approx(sum(each.known_dollars for each in found.stages))
    assert (found.budget, found.enough) == (105, True)
    told = figures(found)
    assert [each["stage"] for each in told["stages_cost"]] == [each.stage for each in found.stages]
    assert told["cost"]["dollars"] == found.dollars
    assert told["stages_cost"][1]["enough"] is True
    assert told["assumed"]["judged_tokens"] == JUDGED_TOKENS


@pytest.mark.parametrize("budget", [{"dollars": 0.5}, {"tokens": 1000}, {"minutes": 0.01}])
def test_a_budget_that_is_not_enough(tmp_path: Path, budget: dict[str, Any]) -> None:
    found = estimate_lifecycle(planned(foretold_project(tmp_path, panel={"budget": budget})))
    stages = {each.stage: each.enough for each in found.stages}
    assert stages["annotate"] is False
    assert stages["collect"] is True
    assert found.enough is False


def test_a_price_that_is_not_known_is_never_nothing(tmp_path: Path) -> None:
    folder = foretold_project(tmp_path, {"corpus.collect.model_settings": {}})
    found = estimate_lifecycle(planned(folder))
    collect = found.stages[0]
    assert collect.tokens > 0
    assert (collect.dollars, collect.unpriced, collect.enough) == (None, ["lab/agent"], None)
    assert (found.dollars, found.unpriced, found.enough) == (None, ["lab/agent"], None)
    assert found.known_dollars == pytest.approx(found.stages[1].dollars)


def test_scripts_are_free_and_begin_alike(tmp_path: Path) -> None:
    changes = {"corpus.collect.models": ["scripted"], "corpus.collect.model_settings": {}}
    found = foretold(foretold_project(tmp_path, changes))
    assert found["collect"].counts == {"episodes": 3, "steps": 12}
    assert (found["collect"].tokens, found["collect"].dollars) == (0, 0)
    assert found["annotate"].counts == {"steps": 12, "contents": 10}


def test_a_model_that_plays_the_user_is_counted(tmp_path: Path) -> None:
    priced = {"lab/agent": {"prices": PRICES}, "lab/user": {"prices": PRICES}}
    changes = {"corpus.collect.user": "lab/user", "corpus.collect.model_settings": priced}
    agent, user = foretold(foretold_project(tmp_path, changes))["collect"].shares
    assert (user.who, user.model) == ("user", "lab/user")
    assert user.asked == EPISODES + 2  # one task has something to ask about, in both seeds
    assert user.dollars is not None
    assert user.dollars > 0
    assert agent.asked == STEPS


def test_without_an_arbiter_people_settle_it(tmp_path: Path) -> None:
    found = foretold(foretold_project(tmp_path, {"annotate.arbiter": False}))
    assert [each.who for each in found["annotate"].shares] == ["a", "b"]


def test_what_is_collected_counts_nothing_and_is_judged_as_it_is(tmp_path: Path) -> None:
    folder = foretold_project(tmp_path)
    collected(folder)
    found = foretold(folder)
    collect = found["collect"]
    assert (collect.made, collect.counts, collect.tokens, collect.seconds) == (False, {}, 0, 0)
    # The episodes are the same four times: three steps of each are judged, once.
    assert found["annotate"].counts == {"steps": 12, "contents": 3}
    seat = found["annotate"].shares[0]
    assert seat.asked == 3
    assert 0 < seat.prompt != 3 * JUDGED_TOKENS, "counted, not guessed"


def test_what_is_to_be_played_again_is_guessed_beside_what_stands(tmp_path: Path) -> None:
    folder = foretold_project(tmp_path)
    collected(folder)
    next(folder.rglob("memo-milk/*.episode.json")).write_text("{}")  # damaged
    found = foretold(folder)
    assert found["collect"].counts == {"episodes": 1, "steps": 4}
    assert found["annotate"].counts == {"steps": 9 + 4, "contents": 3 + 4}
    assert found["annotate"].shares[0].asked == 7


def test_a_collection_that_was_interrupted_is_judged_as_a_whole(tmp_path: Path) -> None:
    folder = foretold_project(tmp_path)
    collected(folder)
    (folder / "artifacts/corpus/tiny/trajectories.jsonl").unlink()
    next(folder.rglob("memo-milk/*.episode.json")).unlink()
    found = foretold(folder)
    assert found["collect"].counts == {"episodes": 1, "steps": 4}
    assert found["annotate"].counts == {"steps": STEPS, "contents": STEPS}


def test_events_that_are_not_there_yet_are_told_with_their_number(tmp_path: Path) -> None:
    names = ["tiny.events.jsonl", "assebench_safety.events.jsonl", "mine.jsonl"]
    folder = foretold_project(tmp_path, {"events": names})
    found = foretold(folder)["evolve-benchmark"]
    assert found.made
    assert found.counts == {"events": 60 + 1476, "rounds": 2}
    assert "1,476 events by data/benchmarks.yaml" in found.notes[0]
    assert found.notes[1].startswith("mine.jsonl is not there yet (of unknown length)")
    with pytest.raises(SettingError, match=r"assebench_safety.events.jsonl, mine.jsonl"):
        plan_lifecycle(Project(folder), "tiny", artifacts=folder / "artifacts")


def test_a_model_that_proposes_is_counted_with_its_budget(tmp_path: Path) -> None:
    llm = {"model": "openai/gpt-4o-mini", "questions": 3, "dollars": 0.001}
    changes = {"evolution": {"proposer": "induction+llm", "llm": llm}}
    found = foretold(foretold_project(tmp_path, changes))
    for stage in ("evolve-corpus", "evolve-benchmark"):
        (share,) = found[stage].shares
        assert (share.who, share.model) == ("proposer", "openai/gpt-4o-mini")
        # Two rounds and the first 40 labels, three questions each.
        assert (share.asked, share.completion) == (9, 9 * 4096)
        assert found[stage].enough is False
        assert found[stage].budget is not None
        assert found[stage].budget["dollars"] == 0.001
        assert (share.dollars or 0) > 0.001


def test_training_is_asked_for_and_not_counted(tmp_path: Path) -> None:
    changes = {"train": {"deployment": "train/gpu", "recipe": "judge.yaml"}}
    train = foretold(foretold_project(tmp_path, changes))["train"]
    assert (train.made, train.tokens) == (True, 0)
    assert "train/gpu" in train.notes[0]
    assert "not counted" in train.notes[0]


def test_nothing_left_to_do_costs_nothing() -> None:
    found = Totals((StageCost("collect", made=False), StageCost("annotate", made=False)))
    assert (found.tokens, found.dollars, found.seconds, found.enough) == (0, 0, 0, True)
