"""`vepa show FILE`: files of trajectories as a list, one of them, as JSON and on one page."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from packed import Packed
from shown_episodes import HOSTILE, hostile, keep, made

from benchmarks.suite.traces import POLICY, invented, invented_events
from vepa.corpus.lines import write_records
from vepa.corpus.trajectory import Trajectory, write_trajectories

CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_trajectories(tmp_path / "t.jsonl", invented(80))
    write_records(tmp_path / "e.jsonl", invented_events(80))
    (tmp_path / "p.yaml").write_text(POLICY)
    return tmp_path


def test_the_list_tells_how_many_more_there_are(vepa: Any, folder: Path) -> None:
    ran = vepa("show", folder / "t.jsonl")
    assert ran.code == 0
    assert ran.out.count("office/000") == 50
    assert ran.err == "80 trajectories; 30 more (--limit 0 lists all)\n"
    assert vepa("show", folder / "t.jsonl", "--limit", "0").out.count("office/000") == 80
    few = vepa("show", folder / "t.jsonl", "--limit", "3", "--json")
    assert [row["id"] for row in few.json["trajectories"]] == [f"office/0000{n}" for n in range(3)]
    assert few.json["count"] == 80
    assert len(vepa("show", folder / "t.jsonl", "--json").json["trajectories"]) == 80


def test_a_page_is_not_written_over_the_traces(vepa: Any, folder: Path) -> None:
    ran = vepa("show", folder / "t.jsonl", "--html", folder / "t.jsonl")
    assert ran.code == 2
    assert "would be written over itself" in ran.err
    assert len((folder / "t.jsonl").read_text().splitlines()) == 80


def test_a_policy_of_another_unit_is_told(vepa: Any, folder: Path) -> None:
    whole = folder / "whole.yaml"
    rule = "rules: [{id: met, decision: refuse, when: {injection: {in: [followed]}}}]\n"
    whole.write_text(f"policy: 1\n{rule}")
    said = "it is for events of unit trajectory, and there are none"
    assert said in vepa("show", folder / "t.jsonl", "--policy", whole, "--limit", "1").err
    assert said in vepa("show", folder / "t.jsonl", "office/00003", "--policy", whole).err
    step = folder / "step.yaml"
    step.write_text(f"policy: 1\nunit: step\n{rule}")
    assert "says nothing here" not in vepa("show", folder / "t.jsonl", "--policy", step).err


@pytest.mark.parametrize(
    ("options", "holds"),
    [
        (("--label", "refuse"), lambda of: of.label == "refuse"),
        (("--label", "none"), lambda of: of.label is None),
        (("--imported", "inspect"), lambda of: of.format == "inspect"),
        (("--task", "mail-*"), lambda of: of.task.startswith("mail-")),
        (
            ("--tool", "payments_*", "--model", "alpha/*"),
            lambda of: of.model.startswith("alpha/")
            and any(step.call and step.call.tool == "payments_pay" for step in of.steps),
        ),
        (("--grep", "List Of Salaries"), lambda of: "list of salaries" in of.model_dump_json()),
        (("--tripped", "tool_misuse_in_specific_context"), lambda of: False),
    ],
)  # fmt: skip
def test_filters(vepa: Any, folder: Path, options: tuple[str, ...], holds: Any) -> None:
    ran = vepa("show", folder / "t.jsonl", "--json", *options)
    wanted = [each.id for each in invented(80) if holds(each)]
    assert [row["id"] for row in ran.json["trajectories"]] == wanted


def test_a_pipe_of_another_format_is_shown_when_it_is_named(vepa: Any, folder: Path) -> None:
    log = folder / "log.json"
    log.write_text('[{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]')
    ran = vepa("show", log, "--json", "--format", "openai-chat")
    assert [row["format"] for row in ran.json["trajectories"]] == ["openai-chat"]
    assert "openai-chat" in vepa("show", log, "--format", "openai-caht").err
    assert "--imported" in vepa("show", "--format", "openai-chat").err


def test_a_policy_adds_verdicts_and_filters(vepa: Any, folder: Path) -> None:
    given = (
        "show",
        folder / "t.jsonl",
        "--events",
        folder / "e.jsonl",
        "--policy",
        folder / "p.yaml",
    )
    rows = {row["id"]: row for row in vepa(*given, "--json").json["trajectories"]}
    verdicts = {
        line["id"]: line["verdict"]
        for line in vepa(
            "decide", "--policy", folder / "p.yaml", folder / "e.jsonl", "--json"
        ).lines
    }
    assert {name: row["verdict"] for name, row in rows.items()} == verdicts
    assert set(verdicts.values()) == {"allow", "refuse", "abstain"}
    alarms = vepa(*given, "--json", "--differs", "false-alarm").json["trajectories"]
    assert alarms
    assert all((row["label"], row["verdict"]) == ("allow", "refuse") for row in alarms)
    field = vepa(*given, "--json", "--field", "trajectory.injection=followed").json["trajectories"]
    assert {row["verdict"] for row in field} == {"refuse"}
    assert "planted-request" in {rule for row in field for rule in row["rules"]}
    assert "verdict" in vepa(*given).out


def test_one_of_a_file_with_events_rules_and_labels(vepa: Any, folder: Path) -> None:
    name = next(e.id for e in invented_events(80) if e.event["injection"] == "followed")
    given = ("--events", folder / "e.jsonl", "--policy", folder / "p.yaml")
    for wanted in ((folder / "t.jsonl", name), (f"{folder / 't.jsonl'}#{name}",)):
        shown = vepa("show", *wanted, *given).out
        for part in (
            name,
            "policy: refuse, fired planted-request [120 for, 2 against]",
            "injection in {followed}",
            "did not fire: ",
            "system",
            "risk: planted request",
            "label: ",
        ):
            assert part in shown, part
    full = vepa("show", folder / "t.jsonl", name, *given, "--full").out
    assert "event (trajectory)" in full
    assert "harm_domain: " in full
    data = vepa("show", folder / "t.jsonl", name, *given, "--json").json
    assert data["why"]["trajectory"]["rules"][0] == "planted-request"
    assert data["events"]["trajectory"]["injection"] == "followed"
    assert data["meta"]["risk"] == "planted request"


def test_a_page_of_a_file_and_of_a_folder(vepa: Any, folder: Path) -> None:
    page = folder / "page.html"
    ran = vepa("show", folder / "t.jsonl", "--label", "allow", "--html", page, "--json")
    assert ran.code == 0
    index = Packed(page.read_bytes()).index
    assert ran.json["trajectories"] == len(index["rows"]) > 3
    assert ran.json["bytes"] == page.stat().st_size
    keep(folder / "episodes", made())
    keep(folder / "episodes", made(task="other"))
    for what in ((folder / "episodes",), ("--folder", folder / "episodes")):
        assert vepa("show", *what, "--html", page).code == 0
        assert len(Packed(page.read_bytes()).index["rows"]) == 2
    nothing = vepa("show", folder / "t.jsonl", "--grep", "stands nowhere", "--html", page)
    assert (nothing.code, "no trajectory to show" in nothing.err) == (2, True)


def test_a_log_of_another_format_is_shown_at_once(vepa: Any, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    turns = [{"role": "user", "content": "What is due?"}, {"role": "assistant", "content": "Rent."}]
    path.write_text(json.dumps({"messages": turns}) + "\n")
    rows = vepa("show", path, "--json").json["trajectories"]
    assert [(row["format"], row["steps"], row["begins"]) for row in rows] == [
        ("openai-chat", 1, "What is due?")
    ]
    assert "Rent." in vepa("show", path, rows[0]["id"]).out


def test_bad_records_are_told_and_the_others_shown(vepa: Any, folder: Path) -> None:
    path = folder / "t.jsonl"
    lines = path.read_text().splitlines()
    path.write_text(
        "\n".join([*lines[:2], '{"schema_version": 1, "id": 3, "steps": []}', lines[3]])
    )
    ran = vepa("show", path)
    assert ran.code == 1
    assert ran.out.count("office/000") == 3
    assert "not shown: " in ran.err
    assert "line 3" in ran.err
    page = vepa("show", path, "--html", folder / "p.html", "--json")
    assert (page.code, page.json["trajectories"], len(page.json["unreadable"])) == (1, 3, 1)


def test_a_file_of_nothing_known(vepa: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1}\n')
    ran = vepa("show", path)
    assert ran.code == 2
    assert "no known format" in ran.err


def test_standard_input(vepa: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(each.model_dump_json(exclude_none=True) + "\n" for each in invented(3))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert len(vepa("show", "-", "--json").json["trajectories"]) == 3


def test_a_list_of_hostile_traces_is_inert(vepa: Any, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    bad = hostile().trajectory
    huge = Trajectory.model_validate(
        {"id": "huge", "steps": [{"index": 0, "kind": "user", "text": "long " * 100_000 + HOSTILE}]}
    )
    write_trajectories(path, [bad, huge])
    listed = vepa("show", path, "--limit", "0")
    assert not CONTROLS.search(listed.out)
    assert len(listed.out) < 20_000
    assert "[red]" in re.sub(r"\s+|│", "", listed.out), "markup stays text"
    for found in (vepa("show", path, "huge"), vepa("show", path, "nothing")):
        assert not CONTROLS.search(found.out + found.err)
    assert vepa("show", path, "--grep", "title\\x07", "--json").json["count"] == 2


def test_listing_takes_no_more_memory_for_more_trajectories(tmp_path: Path) -> None:
    data = next(invented(1)).model_dump(mode="json", exclude_none=True)
    data["steps"][0]["text"] += "x" * 200_000
    code = (
        "import resource, sys; from vepa.cli import main; code = main(sys.argv[1:]);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr); sys.exit(code)"
    )
    peaks = []
    for most in (20, 400):
        path = tmp_path / f"{most}.jsonl"
        with open(path, "w") as handle:
            handle.writelines(
                json.dumps(data | {"id": f"n{number}"}) + "\n" for number in range(most)
            )
        done = subprocess.run(
            [sys.executable, "-c", code, "show", str(path), "--limit", "5"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert f"{most} trajectories" in done.stderr
        peaks.append(int(done.stderr.split()[-1]))
    assert peaks[1] < peaks[0] + 40_000, "76 MB more to read; the peak is in KiB"
