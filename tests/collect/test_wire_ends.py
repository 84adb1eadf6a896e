"""What ends an episode or a collection with a real model, and how it goes on afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from model_servers import FAKE_KEY, Cut, Data, Fail, ModelServer, Refuse, Say, Seen, Slow
from tiny_office import ROOT, cache_folder
from tiny_tasks import write_project
from wire_collecting import Desk, of_user, replies, turn_of

from vepa.collect.collecting import Collection
from vepa.collect.pool import OfficePool
from vepa.errors import ModelError
from vepa.llm import ModelSettings, Prices
from vepa.services import Office

LOOP = [Say(calls=[("memos_list", {})])]


@pytest.fixture
def desk(tiny: Any, pool: OfficePool, folder: Path, keys: str) -> Iterator[Desk]:
    tasks, materials = tiny
    with ModelServer() as server:
        made = Desk(folder, tasks, materials, pool, server)
        yield made
        made.hides(keys)


def agent(seen: Seen) -> Say:
    turn = turn_of(seen)
    if turn < 2:
        return Say(calls=[("memos_list", {}), ("memos_add", {"text": "buy milk"})][turn : turn + 1])
    return Say("Added; the first says: water the plants.")


@pytest.mark.parametrize(
    ("bound", "detail"),
    [
        ({"turns": 2}, "2 turns"),
        ({"calls": 3}, "3 calls"),
        ({"episode_tokens": 2500}, "the episode's 2500 tokens are used up"),
    ],
)
def test_what_stops_a_loop_is_told(desk: Desk, bound: dict[str, int], detail: str) -> None:
    episode = desk.one(LOOP, **bound)
    assert episode.ending.reason == "budget"
    assert str(episode.ending.detail).startswith(detail)
    assert 1 <= len(episode.turns) == desk.server.requests <= 5
    desk.adds_up()


def test_calls_beyond_the_bound_are_not_carried_out(desk: Desk) -> None:
    episode = desk.one([Say(calls=[("memos_add", {"text": str(at)}) for at in range(5)])], calls=3)
    results = [step.result for step in episode.trajectory.steps if step.result]
    assert [result.ok for result in results] == [True, True, True, False, False]
    assert (episode.ending.reason, episode.ending.detail) == ("budget", "3 calls")


def test_seconds_stop_an_episode_while_the_model_is_silent(desk: Desk) -> None:
    desk.one(LOOP, turns=1)  # litellm is loaded
    episode = desk.one([Slow(before=30)], seconds=1.5)
    assert episode.ending.reason == "budget"
    assert "the episode's 1.5 seconds are over" in str(episode.ending.detail)
    assert episode.seconds < 15


@pytest.mark.parametrize("kind", ["tokens", "dollars"])
def test_a_run_budget_stops_cleanly_and_a_larger_one_goes_on(desk: Desk, kind: str) -> None:
    seeds = {"seeds": 2, "asked": {"prices": Prices(prompt=1, completion=4)}}
    desk.server.play(agent)
    whole = desk.folder
    desk.folder = whole.with_name("measured")
    assert desk.collect(None, "memo-milk", "memo-rent", **seeds).whole
    asked = desk.server.requests
    used = {
        "tokens": desk.server.prompt + desk.server.completion,
        "dollars": (desk.server.prompt + 4 * desk.server.completion) / 1e6,
    }[kind]
    expected = {each.id: each.content_hash for each in desk.episodes()}

    desk.folder = whole
    desk.server.play(agent)
    first = desk.collect(None, **seeds, **{kind: type(used)(used * 0.6)})
    assert "the run's" in str(first.stopped)
    assert kind in str(first.stopped)
    assert first.failures == []
    kept = len(desk.episodes())
    assert kept == first.played < 4
    assert all(each.ending.reason == "answer" for each in desk.episodes())
    desk.adds_up()

    second = desk.collect(None, **seeds, **{kind: used * 10})
    assert (second.whole, second.kept, second.played) == (True, kept, 4 - kept)
    assert desk.server.requests == asked
    assert {each.id: each.content_hash for each in desk.episodes()} == expected
    desk.adds_up()
    assert desk.left() == []


def test_a_run_of_minutes_stops(desk: Desk) -> None:
    desk.one(LOOP, turns=1)
    result = desk.collect([Slow(before=20)], minutes=0.02, turns=2)
    assert "the run's 1.2 seconds are over" in str(result.stopped)
    assert len(desk.episodes()) == 1


def test_a_provider_that_is_gone_stops_the_collection(desk: Desk) -> None:
    result = desk.collect([Cut("before")], seeds=4, asked={"max_attempts": 1})
    assert len(result.failures) == desk.server.requests == 5
    assert str(result.stopped).startswith("5 episodes failed in a row")
    assert desk.episodes() == []
    result = desk.collect(agent, seeds=4)
    assert (result.whole, result.played) == (True, 8)
    assert desk.left() == []


def test_a_key_that_is_refused(desk: Desk) -> None:
    with pytest.raises(ModelError, match="OPENAI_API_KEY") as caught:
        desk.collect([Fail(401, message=f"wrong key {FAKE_KEY}")], seeds=4)
    assert caught.value.kind == "refused_key"
    assert FAKE_KEY not in str(caught.value)
    assert desk.server.requests == 1
    assert desk.episodes() == []


def test_a_context_that_grew_too_long_ends_the_episode(desk: Desk) -> None:
    too_long = Fail(400, code="context_length_exceeded")
    episode = desk.one([Say(calls=[("memos_list", {})]), too_long])
    assert episode.ending.reason == "error"
    assert "context_length_exceeded" in str(episode.ending.detail)
    assert len(episode.turns) == 1


def test_a_first_request_that_is_refused_is_no_episode(desk: Desk) -> None:
    """A mistyped name of a model must not fill a folder with episodes that end in errors."""
    result = desk.collect([Fail(404, code="model_not_found")], seeds=4)
    assert desk.episodes() == []
    assert len(result.failures) == 5
    assert "HTTP 404" in result.failures[0].reason


def test_a_user_model_that_does_not_exist_is_no_episode(desk: Desk) -> None:
    def plan(seen: Seen) -> Any:
        return Fail(404, code="model_not_found") if of_user(seen) else Say("Which one?")

    result = desk.collect(plan, "memo-milk", user=desk.model)
    assert desk.episodes() == []
    assert "HTTP 404" in result.failures[0].reason
    result = desk.collect(agent, "memo-milk", user="scripted/user")
    assert result.whole


def test_a_user_model_that_declines_ends_the_episode(desk: Desk) -> None:
    def plan(seen: Seen) -> Any:
        return Refuse() if of_user(seen) else Say("Which one?")

    episode = desk.one(plan, user=desk.model)
    assert episode.ending.reason == "error"
    assert "does not play the user" in str(episode.ending.detail)
    assert len(episode.turns) == 1


def test_the_content_filter_is_a_refusal(desk: Desk) -> None:
    assert desk.one([Refuse(filtered=True)]).ending.reason == "refusal"


def test_an_episode_budget_means_the_same_after_a_break(desk: Desk) -> None:
    """What was answered before counts again: otherwise an episode would go further after a kill."""
    bound = {"episode_tokens": 3000, "asked": {"max_attempts": 1}}
    whole = desk.one(LOOP, **bound)
    turns = len(whole.turns)
    assert whole.ending.reason == "budget"
    assert turns >= 3
    desk.folder = desk.folder.with_name("broken")
    result = desk.collect([*LOOP * 2, Fail(500)], "memo-milk", **bound)
    assert len(result.failures) == 1
    again = desk.one(LOOP, **bound)
    assert (again.ending, len(again.turns)) == (whole.ending, turns)
    assert desk.server.requests == turns - 2


def test_aliases_mean_the_same_after_a_break(desk: Desk) -> None:
    """An answer that was replayed names a memo of the first try; it has to be the same memo."""
    broken = True

    def plan(seen: Seen) -> Any:
        turn = turn_of(seen)
        if turn == 3:
            return Fail(500) if broken else Say("Done; the first says: water the plants.")
        acts = [
            ("memos_list", {}),
            ("memos_add", {"text": "buy milk"}),
            ("memos_remove", {"id": "memo#2"}),
        ]
        return Say(calls=acts[turn : turn + 1])

    once = {"asked": {"max_attempts": 1}}
    assert len(desk.collect(plan, "memo-milk", **once).failures) == 1
    broken = False
    assert desk.collect(None, "memo-milk", **once).whole
    (episode,) = desk.episodes()
    assert replies(episode) == [None, None, None]
    removed = episode.trajectory.steps[3].result
    assert removed is not None
    assert "pay the rent" in removed.content
    assert episode.succeeded
    assert desk.server.requests == 5


def test_agent_and_user_of_two_providers(desk: Desk) -> None:
    other = "anthropic/claude-sonnet-4-5"

    def plan(seen: Seen) -> Any:
        if of_user(seen):
            assert seen.wire == "anthropic"
            return Data({"done": turn_of(seen) > 1, "say": "Yes, that one."})
        assert seen.wire == "openai"
        return agent(seen) if turn_of(seen) != 1 else Say("That one?")

    settings = {
        desk.model: ModelSettings(api_base=desk.server.openai),
        other: ModelSettings(api_base=desk.server.anthropic),
    }
    episode = desk.one(plan, user=other, model_settings=settings)
    assert [step.text for step in episode.trajectory.steps if step.kind == "user"][1:] == [
        "Yes, that one."
    ]
    desk.adds_up()
    by_model = Collection(desk.folder).ledger.totals("model")
    assert by_model[other].prompt == episode.user_spent.prompt > 0


def test_two_offices_at_once_with_a_bad_provider(
    desk: Desk, office: Office, cache: Any, keys: str
) -> None:
    both = threading.Barrier(2, timeout=60)

    def plan(seen: Seen) -> Any:
        if seen.number < 2:
            both.wait()  # broken, were episodes played one after the other
        return Fail(503) if seen.number % 5 == 4 else agent(seen)

    environments = list(desk.materials.environments.values())
    with Office.start(environments, desk.materials.world_file, root=cache) as second:
        desk.pool = OfficePool([], desk.materials.world_file, offices=[office, second])
        result = desk.collect(plan, seeds=4, asked={"max_attempts": 6})
    assert (result.whole, result.played) == (True, 8)
    assert desk.server.most_at_once == 2
    assert len({each.id for each in desk.episodes()}) == 8
    assert desk.server.answered == 24
    desk.adds_up()
    spent = sum(each.spent.prompt + each.spent.completion for each in desk.episodes())
    assert spent == desk.server.prompt + desk.server.completion


def _command(project: Path, cache: Path, **more: str) -> subprocess.CompletedProcess[str]:
    plain = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return subprocess.run(
        [sys.executable, "-m", "vepa", "collect", "--tasks", "memo-milk", "--model",
         "openai/gpt-4o-mini", "--offices", "1", "--project", str(project),
         "--out", str(project / "out")],
        cwd=ROOT, env={**plain, "VEPA_CACHE": str(cache), **more},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_the_command_without_a_key_and_with_a_wrong_one(tmp_path: Path) -> None:
    project = write_project(tmp_path)
    with cache_folder() as cache, ModelServer([Fail(401, message=FAKE_KEY)]) as server:
        without = _command(project, cache.root)
        wrong = _command(
            project, cache.root, OPENAI_API_KEY=FAKE_KEY, OPENAI_API_BASE=server.openai
        )
        assert list(cache.offices.iterdir()) == []
    for done in (without, wrong):
        assert done.returncode in (1, 2)
        assert done.stderr.count("error") == 1, done.stderr
        assert "OPENAI_API_KEY" in done.stderr
        assert "Traceback" not in done.stderr
        assert FAKE_KEY not in done.stdout + done.stderr
    assert server.requests == 1
    assert list((project / "out").rglob("*.episode.json")) == []
