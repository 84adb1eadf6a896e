"""Two readers over a corpus: each content judged once by each, kept at once, never asked twice."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time

import pytest
from errands import MODEL, asked_at, errand
from model_servers import Data

from vepa.annotate.asking import Annotator, Failure
from vepa.annotate.dual import annotate
from vepa.annotate.items import items_of
from vepa.annotate.journal import LabelJournal
from vepa.annotate.panel import load_panel
from vepa.corpus.labels import stream_labels
from vepa.errors import BudgetError, SettingError
from vepa.llm import Budget, open_model
from vepa.parsing.instrumented import parse_trajectory
from vepa.project import Project

PANEL, RULES = load_panel(Project())
ALLOW = {
    "evidence": [],
    "rationale": "An ordinary step.",
    "triggers": [],
    "decision": "allow",
    "risk_source": "none",
    "harm": "none",
    "severity": "none",
    "confidence": 0.75,
    "event": [],
}
REFUSE = ALLOW | {
    "triggers": ["incorrect_tool_parameters"],
    "decision": "refuse",
    "risk_source": "inherent_agent_failures",
    "harm": "functional_and_opportunity_harm",
    "severity": "low",
}
CORPUS = [errand("one"), errand("two"), errand("three", user="Answer the mail of Ada.")]


def readers(server, **more):
    return [
        Annotator(
            seat, open_model(MODEL, settings=asked_at(server), **more), RULES, PANEL.trace_tokens
        )
        for seat in PANEL.annotators
    ]


def test_each_content_is_judged_once_by_each_and_every_step_has_two_labels(server, tmp_path):
    server.play(lambda seen: Data(REFUSE if seen.number % 2 else ALLOW))
    outcome = annotate(readers(server), tmp_path, CORPUS)
    distinct = {item.hash for each in CORPUS for item in items_of(each)}
    assert len(server.seen) == outcome.asked == 2 * len(distinct)
    labels = list(stream_labels(tmp_path / "labels.jsonl"))
    assert labels == list(outcome.labels)
    places = [(label.trajectory, label.step, label.annotator) for label in labels]
    assert places == [
        (each.id, item.step, seat.name)
        for each in CORPUS
        for item in items_of(each)
        for seat in PANEL.annotators
    ]
    one = {(x.step, x.annotator): x.judgement for x in labels if x.trajectory == "one"}
    two = {(x.step, x.annotator): x.judgement for x in labels if x.trajectory == "two"}
    assert one == two


def test_a_second_run_asks_nothing_and_new_steps_only_are_asked_for(server, tmp_path):
    server.play([Data(ALLOW)])
    first = annotate(readers(server), tmp_path, CORPUS[:1])
    again = annotate(readers(server), tmp_path, CORPUS[:1])
    assert (again.asked, list(again.labels)) == (0, list(first.labels))
    more = annotate(readers(server), tmp_path, CORPUS)
    assert more.asked == first.asked
    assert len(server.seen) == first.asked + more.asked


def test_judgements_under_other_rules_are_not_used(server, tmp_path):
    server.play([Data(ALLOW)])
    first = annotate(readers(server), tmp_path, CORPUS[:1])
    others = readers(server)
    for reader in others:
        reader.rules = type(RULES)(RULES.taxonomy, RULES.codebook + "\nBe strict.")
    assert annotate(others, tmp_path, CORPUS[:1]).asked == first.asked


def test_a_budget_that_ends_keeps_what_was_judged(server, tmp_path):
    server.play([Data(ALLOW)])
    budget = Budget(tokens=30_000)
    with pytest.raises(BudgetError):
        annotate(readers(server, budget=budget), tmp_path, CORPUS, workers=1)
    paid = len(server.seen)
    assert 0 < paid < 12
    outcome = annotate(readers(server), tmp_path, CORPUS)
    assert outcome.asked == 2 * outcome.items - paid


def test_failures_stand_beside_the_labels(server, tmp_path):
    server.play(lambda seen: Data(ALLOW if "step 1," in seen.last else ALLOW | {"evidence": [
        {"step": 0, "quote": "nobody wrote this"}]}))  # fmt: skip
    outcome = annotate(readers(server), tmp_path, CORPUS[:1])
    assert {failure.step for failure in outcome.failures} == {3, 4}
    lines = (tmp_path / "failures.jsonl").read_text().splitlines()
    assert [Failure.model_validate_json(line) for line in lines] == list(outcome.failures)
    assert outcome.figures()["origins"] == {"model": 2}


def test_changing_every_label_leaves_the_events_as_they_are(server, tmp_path):
    def events():
        return [record.model_dump_json() for each in CORPUS for record in parse_trajectory(each)]

    before = events()
    server.play([Data(ALLOW)])
    annotate(readers(server), tmp_path / "one", CORPUS)
    server.play([Data(REFUSE | {"event": [{"field": "action_kind", "value": "pay"}]})])
    annotate(readers(server), tmp_path / "two", CORPUS)
    assert events() == before


def test_two_processes_do_not_write_into_one_journal(tmp_path):
    with (
        LabelJournal(tmp_path / "a.jsonl", "how"),
        pytest.raises(SettingError, match="another process"),
        LabelJournal(tmp_path / "a.jsonl", "how"),
    ):
        pass


def test_half_a_line_is_cut_off_and_written_over(server, tmp_path):
    server.play([Data(ALLOW)])
    label = readers(server)[0].judge(next(items_of(CORPUS[0])))
    path = tmp_path / "a.jsonl"
    with LabelJournal(path, "how") as journal:
        journal.add(label)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])
    with LabelJournal(path, "how") as journal:
        assert len(journal) == 1
        journal.add(label.model_copy(update={"item": "1" * 64}))
    assert len([json.loads(line) for line in path.read_text().splitlines()]) == 2


KILLED = """
import sys
sys.path[:0] = {paths!r}
from errands import MODEL, asked_at, errand
from pathlib import Path
from types import SimpleNamespace
from vepa.annotate.asking import Annotator
from vepa.annotate.dual import annotate
from vepa.annotate.panel import load_panel
from vepa.llm import open_model
from vepa.project import Project
panel, rules = load_panel(Project())
server = SimpleNamespace(openai={address!r})
readers = [Annotator(seat, open_model(MODEL, settings=asked_at(server)), rules, panel.trace_tokens)
           for seat in panel.annotators]
corpus = [errand(str(n), user=f"Answer mail {{n}}.") for n in range(6)]
print("ready", flush=True)
annotate(readers, Path({folder!r}), corpus, workers=2)
"""


def test_kill_9_loses_no_label_and_doubles_none(server, tmp_path):
    server.play([Data(ALLOW)])
    code = KILLED.format(paths=sys.path[:], address=server.openai, folder=str(tmp_path / "out"))
    running = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        deadline = time.monotonic() + 60
        while len(server.seen) < 9 and running.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        running.kill()
        running.wait()
        running.stdout.close()
    answered = len(server.seen)
    assert answered >= 9
    corpus = [errand(str(n), user=f"Answer mail {n}.") for n in range(6)]
    outcome = annotate(readers(server), tmp_path / "out", corpus, workers=2)
    assert len(outcome.labels) == 2 * outcome.steps == 36
    assert len({(x.item, x.annotator) for x in outcome.labels}) == 36
    # What was on its way at the kill is paid again: at most one a worker.
    assert len(server.seen) <= 36 + 2


def test_the_journal_takes_judgements_from_many_threads(server, tmp_path):
    server.play([Data(ALLOW)])
    label = readers(server)[0].judge(next(items_of(CORPUS[0])))
    with LabelJournal(tmp_path / "a.jsonl", "how") as journal:
        threads = [
            threading.Thread(
                target=lambda n=n: [
                    journal.add(label.model_copy(update={"item": f"{n:02}{m:062}"}))
                    for m in range(20)
                ]
            )
            for n in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with LabelJournal(tmp_path / "a.jsonl", "how") as journal:
        assert len(journal) == 80
