"""Answers that were paid for: replayed where the question is the same, and only there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from wire_collecting import Answers, reply_of, say

from vepa.collect.journal import Journal, NotKeptError
from vepa.collect.settings import CollectSettings
from vepa.errors import BudgetError, RunError
from vepa.llm import Budget, Message, ModelRequest, ModelSettings


def question(*words: str) -> ModelRequest:
    said = [Message(role="user", content="go")]
    for word in words:
        said += [Message(role="assistant", content=word), Message(role="user", content="more")]
    return ModelRequest(messages=tuple(said))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "task" / "one.journal"


def filled(path: Path) -> Answers:
    model = Answers(say("one"), say("two"), say("three"))
    kept = Journal(path).keeping(model)
    for words in ((), ("one",), ("one", "two")):
        kept.ask(question(*words))
    return model


def test_the_same_questions_are_not_asked_again(path: Path) -> None:
    filled(path)
    model = Answers(say("other"))
    journal = Journal(path)
    kept = journal.keeping(model)
    assert kept.ask(question()) == reply_of(say("one"))
    assert kept.ask(question("one")).message.content == "two"
    assert (journal.replayed, model.asked) == (2, [])


def test_another_question_drops_the_rest(path: Path) -> None:
    filled(path)
    model = Answers(say("one"), say("new"))
    journal = Journal(path)
    kept = journal.keeping(model)
    kept.ask(question())
    assert kept.ask(question("uno")).message.content == "new"
    assert journal.replayed == 1
    assert len(path.read_bytes().splitlines()) == 2
    assert Journal(path).keeping(model).ask(question()).message.content == "one"


@pytest.mark.parametrize("other", [{"name": "made/other"}, {"how": "another server"}])
def test_answers_of_another_model_or_server_are_not_taken(path: Path, other: Any) -> None:
    filled(path)
    model = Answers(say("mine"), name=other.get("name", "made/up"))
    kept = Journal(path).keeping(model, other.get("how", ""))
    assert kept.ask(question()).message.content == "mine"
    assert len(path.read_bytes().splitlines()) == 1


@pytest.mark.parametrize(
    "damage", [b"{}", b"null", b"\xff\xfe", b"[1]", b'{"request": 1', b'{"reply": {}}', b"[" * 9999]
)
def test_a_damaged_line_and_what_follows_is_asked_anew_once(path: Path, damage: bytes) -> None:
    filled(path)
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([lines[0], damage, lines[2]]) + b"\n")
    for asked in (2, 0):  # what was asked anew is kept for the next time
        model = Answers(say("one"), say("two"), say("three"))
        kept = Journal(path).keeping(model)
        for words in ((), ("one",), ("one", "two")):
            kept.ask(question(*words))
        assert len(model.asked) == asked


def test_half_a_last_line_is_cut_off(path: Path) -> None:
    filled(path)
    path.write_bytes(path.read_bytes()[:-20])
    model = Answers(say("one"), say("two"), say("three"))
    kept = Journal(path).keeping(model)
    for words in ((), ("one",), ("one", "two")):
        kept.ask(question(*words))
    assert len(model.asked) == 1
    assert all(json.loads(line) for line in path.read_bytes().splitlines())


def test_replayed_answers_count_in_the_episodes_budget_and_not_in_the_runs(path: Path) -> None:
    """Otherwise an episode that was killed could take its budget twice, and end elsewhere."""
    filled(path)
    run = Budget(name="run", tokens=1000)
    episode = run.child("episode", tokens=250)
    kept = Journal(path).keeping(Answers(say("x")), "", episode)
    kept.ask(question())
    kept.ask(question("one"))
    assert (episode.used_tokens, run.used_tokens) == (220, 0)
    with pytest.raises(BudgetError, match="episode's 250 tokens"), episode.hold(50, None):
        pass


def test_spoilt_attempts_are_replayed_as_far_as_they_agree(path: Path) -> None:
    model = filled(path)
    journal = Journal(path)
    kept = journal.keeping(model)
    kept.ask(question())
    journal.rewind()
    assert kept.ask(question()).message.content == "one"
    assert kept.ask(question("changed")).message.content == "two"
    journal.rewind()
    assert kept.ask(question()).message.content == "one"
    assert kept.ask(question("changed")).message.content == "two"
    assert len(model.asked) == 4


def test_a_disk_that_takes_nothing(path: Path) -> None:
    path.parent.parent.joinpath("task").write_text("a file where a folder should be")
    with pytest.raises(NotKeptError, match="cannot be kept"):
        Journal(path).keeping(Answers(say("one"))).ask(question())


def test_a_ledger_that_fails_is_told_apart_from_a_service(path: Path) -> None:
    model = Answers(RunError("the ledger cannot be written: no space"))
    with pytest.raises(NotKeptError, match="ledger"):
        Journal(path).keeping(model).ask(question())


def test_halves_of_characters_are_no_trouble(path: Path) -> None:
    odd = reply_of(say("x"), data={"say": "\ud83d"})
    Journal(path).keeping(Answers(odd)).ask(question())
    assert Journal(path).keeping(Answers(say("y"))).ask(question()).data == {"say": "\ud83d"}


def _about(user: str, **asked: Any) -> tuple[Any, str]:
    settings = CollectSettings(
        models=["openai/a"], user=user, model_settings={"openai/b": ModelSettings(**asked)}
    )
    return settings.about("openai/a"), settings.told_apart("openai/b")


def test_what_tells_models_apart() -> None:
    """The server of who plays the user is an input of an episode; that of nobody is not."""
    here, there = {"api_base": "http://one.test/v1"}, {"api_base": "http://two.test/v1"}
    assert _about("openai/b", **here) != _about("openai/b", **there)
    assert _about("openai/b", **here)[0] != _about("openai/b", **there)[0]
    assert _about("scripted/user", **here)[0] == _about("scripted/user", **there)[0]
    assert _about("openai/b", timeout=5.0) == _about("openai/b", timeout=6.0)
    cold, plain = ({"openai/a": ModelSettings(temperature=each)} for each in (0.0, None))
    about = [
        CollectSettings(models=["openai/a"], model_settings=each).about("openai/a")
        for each in (cold, plain, {})
    ]
    assert about[0] != about[1] == about[2]
