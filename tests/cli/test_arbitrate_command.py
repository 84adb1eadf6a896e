"""`vepa arbitrate`: from disputes to what stands, by an arbiter, a terminal and other tools."""

from __future__ import annotations

import io
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from disputed import ALLOW, REFUSE, item, label, opened
from errands import errand

from vepa.annotate.items import items_of
from vepa.corpus.labels import write_labels
from vepa.corpus.settled import stream_settled
from vepa.corpus.trajectory import write_trajectories
from vepa.project import Project

CORPUS = [errand(f"errand-{number}", user=f"Answer mail {number} of Ben.") for number in range(4)]
SEATS = [
    {"name": "a", "vendor": "one", "model": "scripted/annotator-a"},
    {"name": "b", "vendor": "two", "model": "scripted/annotator-b"},
]
ARBITER = {"name": "c", "vendor": "three", "model": "scripted/arbiter"}


@pytest.fixture
def place(tmp_path):
    """A project with panels, traces, and a folder of labels with three disputes."""
    annotation = tmp_path / "annotation"
    annotation.mkdir()
    for name in ("taxonomy.yaml", "codebook.md"):
        shutil.copy(Project().find("annotation", name), annotation / name)
    panels = {
        "panel.yaml": {},
        "panel.scripted.yaml": {"arbiter": ARBITER},
        "panel.paid.yaml": {"arbiter": {**ARBITER, "model": "openai/gpt-4o-mini"}},
        "panel.poor.yaml": {
            "arbiter": {**ARBITER, "model": "openai/gpt-4o-mini"},
            "budget": {"tokens": 10},
        },
    }
    for name, more in panels.items():
        (annotation / name).write_text(yaml.safe_dump({"panel": 1, "annotators": SEATS, **more}))
    write_trajectories(tmp_path / "traces.jsonl", CORPUS)
    write_labels(
        tmp_path / "labels" / "labels.jsonl",
        [
            label(step, name, REFUSE if name == "b" and number < 3 and at == 0 else ALLOW)
            for number, trace in enumerate(CORPUS)
            for at, step in enumerate(items_of(trace))
            for name in ("a", "b")
        ],
    )
    return tmp_path


@pytest.fixture
def arbitrate(vepa, place):
    """Run a verb at the folder of labels."""

    def run(verb, *arguments, panel="panel.yaml"):
        return vepa(
            "arbitrate", verb, place / "labels", *arguments, "--project", place, "--panel", panel
        )

    return run


@pytest.fixture
def filled(arbitrate, place):
    """A queue that people have to settle."""
    assert arbitrate("run", "--traces", place / "traces.jsonl").code == 0
    return place / "labels"


def stands(folder):
    return {(each.trajectory, each.step): each for each in stream_settled(folder / "settled.jsonl")}


def test_an_arbiter_settles_the_queue_and_what_stands_is_written(arbitrate, place):
    first = arbitrate(
        "run", "--traces", place / "traces.jsonl", "--json", panel="panel.scripted.yaml"
    )
    assert first.code == 0
    told = first.json
    assert (told["new"], told["settled_now"], told["failed_now"], told["left"]) == (3, 3, 0, 0)
    assert (told["steps"], told["how"]) == (12, {"agreed": 9, "arbiter": 3})
    settled = (place / "labels" / "settled.jsonl").read_bytes()
    ledger = (place / "labels" / "ledger.jsonl").read_text().splitlines()
    assert {json.loads(line)["tags"]["purpose"] for line in ledger} == {"arbitrate"}
    again = arbitrate("run", "--json", panel="panel.scripted.yaml").json
    assert (again["new"], again["settled_now"], again["steps"]) == (0, 0, 12)
    assert (place / "labels" / "settled.jsonl").read_bytes() == settled


def test_without_an_arbiter_people_are_waited_for_and_nothing_is_held_up(filled, arbitrate):
    assert len(stands(filled)) == 9
    told = arbitrate("status", "--json").json
    assert (told["total"], told["open"], told["settled"]) == (3, 3, 0)
    assert told["reasons"] == {"decision": 3, "triggers": 3}
    assert "3 open" in arbitrate("status").out


def test_a_dry_run_tells_tokens_and_cost_and_touches_nothing(arbitrate, place):
    before = sorted(path.name for path in (place / "labels").iterdir())
    told = arbitrate(
        "run", "--traces", place / "traces.jsonl", "--dry-run", "--json", panel="panel.paid.yaml"
    ).json
    assert (told["cases"], told["to_ask"], told["model"]) == (3, 3, "openai/gpt-4o-mini")
    assert told["prompt"] > 3 * 1_000
    assert 0 < told["dollars"] < told["at_most"]
    assert sorted(path.name for path in (place / "labels").iterdir()) == before
    free = arbitrate(
        "run", "--traces", place / "traces.jsonl", "--dry-run", "--json",
        panel="panel.scripted.yaml",
    ).json  # fmt: skip
    assert (free["cases"], free["to_ask"], free["dollars"]) == (3, 0, 0.0)


def test_a_dry_run_leaves_out_what_is_settled(filled, arbitrate, place):
    with opened(filled) as queue:
        queue.settle(queue.claim("ada").token, ALLOW)
    for more in ((), ("--traces", place / "traces.jsonl")):
        told = arbitrate("run", *more, "--dry-run", "--json", panel="panel.paid.yaml").json
        assert told["cases"] == 2


def test_a_verdict_from_the_pipe_stands_at_once(filled, process, place):
    ran = process(
        "arbitrate", "next", filled, "--as", "ada", "--one", "--project", place,
        stdin="3\ni 8\nh functional\nr\nn \x1b[2J looked twice\n.\n",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert "\x1b" not in ran.out
    assert "1 verdict given, 2 still open; 10 steps settled" in ran.err
    verdict = stands(filled)["errand-0", 1]
    assert (verdict.how, verdict.by) == ("person", ["ada"])
    assert verdict.note == "\x1b[2J looked twice"


def test_next_fills_a_queue_that_is_not_there_yet(arbitrate, place, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("q\n"))
    ran = arbitrate("next", "--as", "ada", "--traces", place / "traces.jsonl")
    assert ran.code == 0, ran.err
    assert "3 new disputes" in ran.err
    assert "the step to judge" in ran.out
    assert "0 verdicts given, 3 still open" in ran.err


def test_ctrl_c_at_a_terminal_gives_the_case_back(filled, place):
    leader, follower = pty.openpty()
    running = subprocess.Popen(
        [sys.executable, "-m", "vepa", "arbitrate", "next", str(filled), "--as", "ada",
         "--project", str(place)],
        stdin=follower, stdout=follower, stderr=follower, start_new_session=True,
    )  # fmt: skip
    os.close(follower)
    try:
        seen = b""
        deadline = time.monotonic() + 60
        while b"> " not in seen and time.monotonic() < deadline:
            seen += os.read(leader, 65536)
        assert b"the step to judge" in seen
        with opened(filled) as queue:
            assert queue.state().leased == 1
        assert _interrupted(running) == 130
    finally:
        if running.poll() is None:
            running.kill()
        os.close(leader)
    with opened(filled) as queue:
        assert (queue.state().leased, queue.given()) == (0, [])


def _interrupted(running: subprocess.Popen[bytes]) -> int:
    """The exit status after Ctrl-C, pressed again where nothing comes of it for ten seconds.

    Python's `input` can miss one that comes after it printed its prompt and before it waits.
    """
    for _ in range(6):
        os.killpg(running.pid, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            return running.wait(timeout=10)
    raise AssertionError("it does not end")


def test_a_readers_name_is_taken(filled, arbitrate):
    ran = arbitrate("next", "--as", "a")
    assert ran.code == 2
    assert "reader of the panel" in ran.err


@pytest.mark.parametrize("kind", ["jsonl", "label-studio", "argilla"])
def test_cases_leave_and_verdicts_come_back(filled, arbitrate, place, kind):
    path = place / "cases.json"
    told = arbitrate("export", "--to", kind, "--out", path, "--json").json
    assert (told["format"], told["cases"]) == (kind, 3)
    assert all(Path(each).stat().st_size for each in told["files"])
    hashes = [item(number).hash for number in range(2)]
    verdicts = [{"item": each, "judgement": {"decision": "allow", "confidence": 1}, "who": "ada"}
                for each in hashes]  # fmt: skip
    back = place / "back.jsonl"
    back.write_text("".join(json.dumps(each) + "\n" for each in verdicts))
    first = arbitrate("import", back, "--json")
    assert (first.code, first.json["taken"], first.json["by"]) == (0, 2, {"ada": 2})
    assert len(stands(filled)) == 11
    again = arbitrate("import", back)
    assert again.code == 0
    assert "0 taken, 2 known" in again.err


def test_a_malformed_verdict_is_exit_1_and_under_strict_exit_2_with_nothing_taken(
    filled, arbitrate, place
):
    good = {"item": item(0).hash, "judgement": {"decision": "allow", "confidence": 1}, "who": "ada"}
    back = place / "back.jsonl"
    back.write_text(f'{json.dumps(good)}\n{{"item": 7}}\n')
    strict = arbitrate("import", back, "--strict")
    assert strict.code == 2
    assert f"{back}:2" in strict.err
    with opened(filled) as queue:
        assert not queue.given()
    ran = arbitrate("import", back)
    assert ran.code == 1
    assert "1 taken" in ran.err
    assert f"malformed: {back}:2: record 2, item" in ran.err


def test_gold_is_added_and_told(filled, arbitrate, place):
    with opened(filled) as queue:
        queue.settle(queue.claim("ada").token, REFUSE)
    path = place / "cases.jsonl"
    arbitrate("export", "--all", "--out", path)
    told = arbitrate("gold", path, "--json")
    assert (told.code, told.json["added"], told.json["unanswered"]) == (0, 1, 2)
    assert arbitrate("status", "--json").json["gold"] == 1


@pytest.mark.parametrize(
    ("verb", "arguments", "told"),
    [
        ("status", (), "queue.sqlite"),
        ("run", (), "queue.sqlite"),
        ("export", ("--out", "x.jsonl"), "queue.sqlite"),
        ("export", ("--to", "labelstudio", "--out", "x"), "label-studio"),
        ("import", ("none.jsonl",), "queue.sqlite"),
    ],
)
def test_what_is_missing_is_told_and_nothing_is_made(arbitrate, place, verb, arguments, told):
    ran = arbitrate(verb, *arguments)
    assert ran.code == 2
    assert told in ran.err
    assert "remedy" in ran.err
    assert [path.name for path in (place / "labels").iterdir()] == ["labels.jsonl"]


def test_a_queue_of_another_taxonomy_is_refused(filled, arbitrate, place):
    path = place / "annotation" / "taxonomy.yaml"
    path.write_text(path.read_text().replace('version: "1.0"', 'version: "2.0"'))
    ran = arbitrate("status")
    assert ran.code == 2
    assert "taxonomy" in ran.err


@pytest.mark.slow  # loads litellm
def test_a_budget_that_ends_is_told_and_people_can_go_on(filled, arbitrate, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "VEPA-TEST-KEY")
    ran = arbitrate("run", "--json", panel="panel.poor.yaml")
    assert ran.code == 1
    assert (ran.json["settled_now"], ran.json["left"]) == (0, 3)
    assert "budget" in ran.json["stopped"]
    with opened(filled) as queue:
        assert queue.state().leased == 0
