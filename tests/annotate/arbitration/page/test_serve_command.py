"""`vepa arbitrate serve` as a process: it starts, is ended in any way, and goes on."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from disputed import opened
from served_page import Person, caller, labelled_folder

from vepa.cli import main
from vepa.cli.arbitrate_serve import _welcome
from vepa.cli.console import Output
from vepa.corpus.settled import stream_settled

pytestmark = pytest.mark.integration


@contextmanager
def process(folder: Path, *more: str) -> Iterator[tuple[subprocess.Popen[str], dict]]:
    command = [sys.executable, "-m", "vepa", "arbitrate", "serve", str(folder), "--json"]
    running = subprocess.Popen(
        [*command, "--panel", "panel.demo.yaml", *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        text = ""
        while not text.endswith("}\n") or text.count("{") != text.count("}"):
            line = running.stdout.readline()
            assert line, running.stderr.read()
            text += line
        yield running, json.loads(text)
    finally:
        running.kill()
        running.communicate()


def person(told: dict, name: str = "ada") -> Person:
    base, _, token = told["links"]["everybody"].partition("/login#")
    client = caller(base)
    answer = client.post("/login", data={"name": name, "token": token})
    assert answer.status_code == 303
    return Person(client)


def served_with(folder, *more):
    return main(["arbitrate", "serve", str(folder), "--panel", "panel.demo.yaml", *more])


def test_nothing_is_lost_when_it_is_killed_and_it_ends_cleanly(tmp_path, capsys):
    folder = labelled_folder(tmp_path)
    with process(folder) as (running, told):
        assert (told["open"], told["total"]) == (3, 3)
        ada = person(told)
        first = ada.take()
        assert ada.settle(first).status_code == 200
        held = ada.take()
        ada.client.close()
        running.kill()
        running.wait()
    with process(folder, "--port", str(told["port"])) as (running, again):
        assert again["port"] == told["port"], "the port is free again"
        assert again["links"] != told["links"], "a token lives as long as its server"
        assert served_with(folder, "--port", str(told["port"])) == 2
        assert "in use" in capsys.readouterr().err
        ada = person(again)
        assert ada.claim() == held, "what was lent is lent still"
        assert ada.settle(first).status_code == 200, "sent again: the same verdict"
        assert ada.settle(held).status_code == 200
        ada.client.close()
        running.send_signal(signal.SIGTERM)
        out, err = running.communicate(timeout=30)
    assert running.returncode == 0
    assert out == ""
    assert "1 dispute settled meanwhile, 2 of 3 in all" in err
    assert "Traceback" not in err
    token = again["links"]["everybody"].rpartition("#")[2]
    for secret in (token, first, held):
        assert secret not in err
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files if token.encode() in path.read_bytes()]
    assert len(list(stream_settled(folder / "settled.jsonl"))) == 2
    with opened(folder) as queue:
        assert [each.undone for each in queue.given()] == [None, None]


def test_a_folder_without_a_queue_is_told(tmp_path, capsys):
    assert served_with(tmp_path) == 2
    assert re.search(
        "there is no labels.jsonl[^\n]*\n  remedy: .*vepa annotate", capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ada\nada\n", "people.txt:2: 'ada' stands there twice"),
        ("# nobody\n\n", "there is no name in it"),
        ("ada\n" + "x" * 70, "people.txt:2: who: "),
    ],
)
def test_a_wrong_file_of_people_is_told(tmp_path, capsys, text, words):
    folder = labelled_folder(tmp_path / "labels", 1)
    (tmp_path / "people.txt").write_text(text)
    assert served_with(folder, "--people", str(tmp_path / "people.txt")) == 2
    assert words in capsys.readouterr().err


def test_a_page_that_others_can_reach_is_warned_of(capsys):
    server = SimpleNamespace(local=False, links={"": "http://desk.example:9/login#x"}, port=9)
    _welcome(Output(), server, 1, 2)
    told = capsys.readouterr()
    assert "not encrypted" in told.err
    assert told.out == "http://desk.example:9/login#x\n"
    _welcome(Output(), SimpleNamespace(**{**vars(server), "local": True}), 1, 2)
    assert "warning" not in capsys.readouterr().err


def test_a_missing_package_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("vepa.cli.arbitrate_serve._NEEDS", ("no_such_package",))
    assert served_with(tmp_path) == 2
    assert "extra 'pipeline'" in capsys.readouterr().err
