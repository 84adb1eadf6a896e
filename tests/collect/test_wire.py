"""The agent through litellm, on both wire formats, streamed or not; everything on record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from model_servers import Cut, Data, Fail, ModelServer, Refuse, Say, Seen
from wire_collecting import Desk, of_user, replies, turn_of

from vepa.collect.pool import OfficePool
from vepa.llm import Ledger

DONE = Say("Added; the first one says: water the plants.")
ADD = ("memos_add", {"text": "buy milk"})


@pytest.fixture(params=["openai", "openai-stream", "anthropic", "anthropic-stream"])
def desk(
    request: Any, tiny: Any, pool: OfficePool, folder: Path, keys: str
) -> Iterator[Desk]:  # fmt: skip
    kind, _, stream = request.param.partition("-")
    tasks, materials = tiny
    with ModelServer() as server:
        made = Desk(folder, tasks, materials, pool, server, kind, bool(stream))
        yield made
        made.hides(keys)


def test_a_whole_episode_with_parallel_calls(desk: Desk) -> None:
    looks = Say("Let me look.", [("memos_list", {}), ("memos_show", {"id": "memo#1"})])
    episode = desk.one([looks, Say(calls=[ADD]), DONE])
    assert (episode.ending.reason, episode.succeeded, episode.scripted) == ("answer", True, True)
    steps = episode.trajectory.steps
    assert [step.kind for step in steps] == ["user", "call", "call", "call", "answer"]
    assert [step.thought for step in steps[1:4]] == ["Let me look.", None, None]
    shown = json.dumps(desk.server.seen[1].body)
    assert "water the plants" in shown
    assert "memo#1" in shown
    assert replies(episode) == [None, None, None]
    assert {turn.source for turn in episode.turns} == {"provider"}
    spent = episode.spent
    assert (spent.prompt, spent.completion) == (desk.server.prompt, desk.server.completion)
    assert spent.requests == desk.server.requests == 3
    ledger = Ledger(desk.folder / "ledger.jsonl").totals()["all"]
    assert spent.dollars == pytest.approx(ledger.dollars)
    desk.adds_up()
    assert desk.left() == []


def test_a_provider_with_bad_days(desk: Desk) -> None:
    plan = [
        Fail(429, {"Retry-After": "0"}), Say(calls=[("memos_list", {})]),
        Fail(529), Fail(500), Say(calls=[ADD]),
        Cut("before"), Cut("body"), DONE,
    ]  # fmt: skip
    episode = desk.one(plan)
    assert episode.succeeded
    assert [turn.spent.requests for turn in episode.turns] == [2, 3, 3]
    assert episode.attempts == []
    desk.adds_up()
    assert Ledger(desk.folder / "ledger.jsonl").totals()["all"].lost > 0


def test_wrong_calls_are_answered_and_the_episode_goes_on(desk: Desk) -> None:
    wrong = [
        ("memos_add", '{"text": "buy'), ("memos_fly", {"to": "the moon"}),
        ("memos_add", {"words": "buy milk"}), ("memos_show", {"id": "memo#99"}), ADD,
    ]  # fmt: skip
    episode = desk.one([Say(calls=wrong), DONE])
    assert episode.succeeded
    assert replies(episode) == ["invalid_call", "invalid_call", "invalid_call", "404", None]
    calls = [step.call for step in episode.trajectory.steps if step.call]
    assert calls[0].text in ('{"text": "buy', json.dumps('{"text": "buy'))
    assert (calls[0].arguments, calls[1].environment) == ({}, None)
    assert [call.text for call in calls[1:]] == [None] * 4
    told = json.dumps(desk.server.seen[1].body)
    assert "not a JSON object" in told
    assert "there is no tool" in told
    desk.adds_up()


def test_declined_by_the_model(desk: Desk) -> None:
    episode = desk.one([Say(calls=[ADD]), Refuse()])
    assert episode.ending.reason == "refusal"
    assert "provider" in str(episode.ending.detail)
    desk.adds_up()


def test_refused_in_words(desk: Desk) -> None:
    episode = desk.one([Say("REFUSED: I will not do that.")])
    assert (episode.ending.reason, episode.ending.detail) == ("refusal", None)


def test_an_endless_loop_ends(desk: Desk) -> None:
    episode = desk.one([Say(calls=[("memos_list", {})])], turns=3)
    assert (episode.ending.reason, episode.ending.detail) == ("budget", "3 turns")
    assert len(episode.turns) == desk.server.requests == 3
    desk.adds_up()


def test_a_model_plays_the_user(desk: Desk) -> None:
    """Its first answer is mended once, then it talks on for ever: its patience ends that."""
    played = 0

    def plan(seen: Seen) -> Any:
        nonlocal played
        if not of_user(seen):
            return Say(calls=[ADD]) if turn_of(seen) == 0 else Say("Shall I do anything more?")
        played += 1
        return Data({"words": "yes"} if played == 1 else {"done": False, "say": f"Reply {played}."})

    settings = {"user": desk.model}
    episode = desk.one(plan, **settings)
    said = [step.text for step in episode.trajectory.steps if step.kind == "user"][1:]
    assert said == ["Reply 2.", "Reply 3.", "Enough, please finish."]
    assert episode.ending.reason == "answer"
    assert not episode.scripted
    assert played == 4
    assert episode.user_spent.requests == 4
    spent = episode.spent
    assert (spent.prompt, spent.completion) == (desk.server.prompt, desk.server.completion)
    desk.adds_up()
    purposes = Ledger(desk.folder / "ledger.jsonl").totals("purpose")
    assert {name: total.questions for name, total in purposes.items()} == {"agent": 5, "user": 3}
