"""`vepa parse`: traces in, event lines out, whatever happens on the way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from errands import MODEL, errand
from model_servers import FAKE_KEY, Data, Fail, ModelServer, Refuse, Seen

from vepa.corpus.events import stream_events
from vepa.corpus.trajectory import Trajectory, write_trajectories
from vepa.parsing.instrumented import parse_trajectory
from vepa.policy.schema import UNKNOWN, bundled_schema

GOOD = dict.fromkeys(bundled_schema().names, UNKNOWN) | {"action_kind": "send"}
LLM = f"llm:{MODEL}"
LABELS = ("allow", "refuse", None)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setenv("OPENAI_API_KEY", FAKE_KEY)
    with ModelServer([Data(GOOD)]) as running:
        yield running


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project with a file of three labelled traces."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VEPA_ARTIFACTS", raising=False)
    write_trajectories(tmp_path / "traces.jsonl", [trace(at) for at in range(3)])
    return tmp_path


@pytest.fixture
def at_server(here: Path, server: ModelServer) -> list[str]:
    """Options by which the loopback model is asked."""
    settings = {"api_base": server.openai, "max_tokens": 500, "max_attempts": 1, "timeout": 100}
    (here / "model.yaml").write_text(json.dumps(settings))
    return ["--parser", LLM, "--settings", "model.yaml"]


def trace(number: int) -> Trajectory:
    made = errand(f"set/{number}", user=f"errand number {number} please")
    meta = {"rationale": "canary of a verdict", "risk_type": "leak", "number": number}
    return Trajectory.model_validate(
        made.model_dump() | {"label": LABELS[number % 3], "meta": meta}
    )


def number_of(seen: Seen) -> int:
    return int(seen.last.split("errand number ")[1].split()[0])


def test_the_instrumented_parser_is_the_default_and_needs_no_model(vepa, here):
    ran = vepa("parse", "traces.jsonl")
    assert ran.code == 0
    wanted = [
        record for at in range(3) for record in parse_trajectory(trace(at)) if record.unit == "step"
    ]
    assert [(each["id"], each["event"]) for each in ran.lines] == [
        (each.id, each.event) for each in wanted
    ]
    assert all("label" not in each for each in ran.lines)
    assert ran.lines[0]["meta"] == {
        "risk_type": "leak", "number": 0, "episode": "set/0", "step": 1, "call": "c1",
        "tool": "read_mail",
    }  # fmt: skip
    assert {each["unit"] for each in vepa("parse", "traces.jsonl", "--unit", "call").lines} == {
        "call"
    }
    assert not (here / "artifacts").exists()


def test_events_of_a_model_with_labels_beside_them(vepa, here, at_server, server):
    ran = vepa("parse", "traces.jsonl", *at_server, "--json")
    assert ran.code == 0
    assert [(each["id"], each.get("label")) for each in ran.lines] == [
        ("set/0", "allow"), ("set/1", "refuse"), ("set/2", None),
    ]  # fmt: skip
    assert all(each["event"] == GOOD and each["unit"] == "trajectory" for each in ran.lines)
    assert ran.lines[1]["meta"] == {"risk_type": "leak", "number": 1}
    assert server.requests == 3
    asked = b"".join(seen.raw for seen in server.seen)
    assert b"canary" not in asked
    assert "canary" not in ran.out


def test_the_file_is_one_that_other_verbs_read(vepa, here, at_server):
    ran = vepa("parse", "traces.jsonl", *at_server, "--out", "deep/events.jsonl", "--json")
    assert ran.code == 0
    assert len(list(stream_events(here / "deep/events.jsonl"))) == 3
    told = {name: ran.json[name] for name in ("traces", "events", "failed", "skipped", "stopped")}
    assert told == {"traces": 3, "events": 3, "failed": [], "skipped": 0, "stopped": ""}
    assert ran.json["tokens"] > 0


def test_the_same_again_is_free(vepa, here, at_server, server):
    first = vepa("parse", "traces.jsonl", *at_server)
    assert vepa("parse", "traces.jsonl", *at_server).out == first.out
    assert server.requests == 3
    assert (here / "artifacts/parse/answers.sqlite").is_file()
    ledger = (here / "artifacts/parse/ledger.jsonl").read_text()
    assert '"purpose":"parse"' in ledger
    assert FAKE_KEY not in ledger
    assert "errand number" not in ledger


def test_what_fails_is_told_and_the_rest_is_written(vepa, here, at_server, server):
    server.play(lambda seen: Refuse() if number_of(seen) == 1 else Data(GOOD))
    ran = vepa("parse", "traces.jsonl", *at_server, "--out", "e.jsonl", "--json")
    assert ran.code == 1
    assert ran.json["failed"] == [
        {"id": "set/1", "unit": "trajectory", "reason": "the model declined", "kind": "declined"}
    ]
    assert "set/1: trajectory: declined" in ran.err
    assert [each.id for each in stream_events(here / "e.jsonl")] == ["set/0", "set/2"]


def test_known_ids_come_first_in_the_order_of_a_file(vepa, here, at_server):
    order = [{"id": name, "event": {}} for name in ("set/2", "other/9", "set/0")]
    (here / "order.jsonl").write_text("".join(json.dumps(each) + "\n" for each in order))
    ran = vepa("parse", "traces.jsonl", *at_server, "--order-of", "order.jsonl")
    assert [each["id"] for each in ran.lines] == ["set/2", "set/0", "set/1"]


def test_a_used_up_budget_keeps_what_is_done_and_goes_on_later(vepa, here, at_server, server):
    write_trajectories(here / "many.jsonl", [trace(at) for at in range(12)])
    ran = vepa(
        "parse", "many.jsonl", *at_server, "--workers", 1, "--max-tokens", 30_000, "--out",
        "e.jsonl", "--json",
    )  # fmt: skip
    assert ran.code == 1
    assert "tokens are used up" in ran.json["stopped"]
    assert ran.json["tokens"] <= 30_000
    done = [each.id for each in stream_events(here / "e.jsonl")]
    assert 0 < len(done) < 12
    assert done == [f"set/{at}" for at in range(len(done))]
    assert "goes on from here" in ran.err
    assert vepa("parse", "many.jsonl", *at_server, "--out", "e.jsonl").code == 0
    assert server.requests == 12
    assert len(list(stream_events(here / "e.jsonl"))) == 12


def test_a_dry_run_asks_nobody_and_knows_what_is_kept(vepa, here, at_server, server):
    ran = vepa("parse", "traces.jsonl", *at_server, "--dry-run", "--json")
    assert ran.code == 0
    found = ran.json
    assert (found["traces"], found["requests"], found["kept"], found["shortened"]) == (3, 3, 0, 0)
    assert 3 * 2000 < found["prompt"] < 3 * 10_000
    assert found["dollars"] == pytest.approx(
        found["prompt"] * 0.15e-6 + found["completion"] * 0.6e-6, rel=0.5
    )
    assert server.requests == 0
    assert not (here / "artifacts").exists()
    vepa("parse", "traces.jsonl", *at_server)
    again = vepa("parse", "traces.jsonl", *at_server, "--dry-run", "--json").json
    assert (again["kept"], again["prompt"], again["dollars"]) == (3, 0, 0.0)
    steps = vepa("parse", "traces.jsonl", *at_server, "--dry-run", "--unit", "step", "--json").json
    assert (steps["requests"], steps["kept"]) == (9, 0)


def test_traces_of_other_formats_and_bad_records(vepa, here, at_server):
    good = {
        "messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Yo."}]
    }
    lines = [json.dumps(good), "{broken", json.dumps(good)]
    (here / "chat.jsonl").write_text("\n".join(lines) + "\n")
    ran = vepa("parse", "chat.jsonl", *at_server)
    assert ran.code == 1
    assert len(ran.lines) == 2
    assert "skipped: chat.jsonl, record 2" in ran.err
    strict = vepa("parse", "chat.jsonl", *at_server, "--strict")
    assert strict.code == 2
    assert "record 2" in strict.err
    named = vepa("parse", "chat.jsonl", *at_server, "--dataset", "mine")
    assert [each["id"] for each in named.lines] == ["mine/1", "mine/3"]


def test_standard_input_holds_trajectories(process, here):
    ran = process("parse", "-", stdin=(here / "traces.jsonl").read_bytes(), cwd=here)
    assert ran.code == 0
    assert len(ran.lines) == 9


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--parser", "lora:adapters/x"], "no trained adapter"),
        (["--parser", "magic"], "names no parser"),
        (["--unit", "trajectory"], "llm:MODEL"),
        (["--parser", LLM, "--trace-tokens", "10"], "cannot be shown in 10 tokens"),
        (["--parser", "llm:nobody/knows"], "no provider is known"),
        (["--parser", "llm:recorded/nothing"], "no such recording"),
        (["--parser", "llm:scripted/x"], "needs its script"),
        (["--parser", LLM, "--settings", "bad.yaml"], "bad.yaml:2: temperature"),
        (["--parser", LLM, "--settings", "key.yaml"], "no setting"),
        (["--parser", LLM, "--settings", "model.yaml", "--out", "."], "folder"),
        (["--parser", "llm:openai/my-own", "--max-dollars", "1"], "price of this model"),
        (["--order-of", "missing.jsonl"], "no such file"),
        (["--schema", "missing.yaml"], "no such file"),
    ],
)  # fmt: skip
def test_bad_input_is_told_before_anything_is_asked(vepa, here, at_server, server, options, words):
    (here / "bad.yaml").write_text("max_tokens: 10\ntemperature: hot\n")
    (here / "key.yaml").write_text("api_key: sk-something\n")
    ran = vepa("parse", "traces.jsonl", *options)
    assert ran.code == 2
    assert words in ran.err
    assert "sk-something" not in ran.err
    assert ran.out == ""
    assert server.requests == 0


def test_a_missing_file(vepa, here):
    ran = vepa("parse", "nothing.jsonl")
    assert ran.code == 2
    assert "nothing.jsonl" in ran.err


def test_a_refused_key_is_told_once(vepa, here, at_server, server):
    server.play([Fail(401)])
    ran = vepa("parse", "traces.jsonl", *at_server, "--workers", 1)
    assert ran.code == 1
    assert ran.out == ""
    assert ran.err.count("OPENAI_API_KEY") == 1


def test_a_run_that_stopped_at_once_leaves_the_file_of_an_earlier_one(
    vepa, here, at_server, server
):
    (here / "e.jsonl").write_text("paid for\n")
    server.play([Fail(401)])
    ran = vepa("parse", "traces.jsonl", *at_server, "--workers", 1, "--out", "e.jsonl")
    assert ran.code == 1
    assert "e.jsonl was not written" in ran.err
    assert (here / "e.jsonl").read_text() == "paid for\n"


def test_traces_are_not_written_over(vepa, here):
    ran = vepa("parse", "traces.jsonl", "--out", "traces.jsonl")
    assert ran.code == 2
    assert "would be written over itself" in ran.err
    assert len((here / "traces.jsonl").read_text().splitlines()) == 3


def test_another_schema(vepa, here, at_server, server):
    (here / "s.yaml").write_text("version: 2\nfields:\n  mood: {calm: at rest, wild: not}\n")
    server.play([Data({"mood": "wild"})])
    ran = vepa("parse", "traces.jsonl", *at_server, "--schema", "s.yaml")
    assert [each["event"] for each in ran.lines] == [{"mood": "wild"}] * 3


def test_one_line_an_event_for_machines_too(vepa, here, at_server):
    plain: list[Any] = vepa("parse", "traces.jsonl", *at_server).lines
    assert vepa("parse", "traces.jsonl", *at_server, "--json").lines == plain
