from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vepa.cli import main

QUICK = ["--rounds", "4", "--seeds", "1", "--patches", "4", "--jobs", "1"]
COMMAND = [sys.executable, "-c", "import sys; from vepa.cli import main; sys.exit(main())"]


def bench(capsys, *arguments):
    code = main(["bench", "run", *map(str, arguments)])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_json_is_one_document_and_out_holds_the_same(rjudge_path, tmp_path, capsys):
    target = tmp_path / "deep" / "result.json"
    code, out, err = bench(
        capsys, rjudge_path, *QUICK, "--json", "--baselines", "lookup,hoeffding", "--out", target
    )
    assert code == 0
    document = json.loads(out)
    assert json.loads(target.read_text()) == document
    assert str(target) in err
    assert {"hoeffding", "hoeffding_tuned", "lookup"} <= set(document["baselines"])
    assert document["config"]["evolution"]["patches"] == 4


def test_people_get_a_table(rjudge_path, capsys):
    code, out, _ = bench(capsys, rjudge_path, *QUICK, "--baselines", "lookup")
    assert code == 0
    assert "macro-F1 on covered events" in out
    assert "unsafe allowed, of those decided" in out
    assert "look-up on " in out
    assert "lookup" not in out
    assert "not asked for" not in out
    assert "seed 0, " in out
    assert "± –" in out, "one seed has no deviation"
    assert "± 0" not in out


def test_modes_are_joined_and_the_estimated_share_of_wrong_feedback_is_told(
    rjudge_path, tmp_path, capsys
):
    target = tmp_path / "result.json"
    mode = ["--authority", "noise-aware+prospective", "--flip", "0.2", "--feedback", "1"]
    code, out, _ = bench(capsys, rjudge_path, *QUICK, *mode, "--out", target)
    assert code == 0
    document = json.loads(target.read_text())
    assert document["config"]["authority"] == "noise-aware+prospective"
    share = document["wrong_feedback"]["mean"]
    assert share == document["by_seed"][0]["wrong_feedback"]
    assert 0.1 < share < 0.3
    (told,) = [line for line in out.splitlines() if "wrong feedback, estimated" in line]
    assert f"{share:.3f}" in told


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("held-out+held-out", "both say which part holds"),
        ("early+anytime", "both say which prior holds"),
        ("noise-aware+paper", "both say which test holds"),
        ("noise-aware+later", "held-out, noise-aware, early, ungated, anytime"),
    ],
)
def test_modes_that_cannot_be_joined_are_told_with_field_and_remedy(
    rjudge_path, capsys, mode, words
):
    code, out, err = bench(capsys, rjudge_path, *QUICK, "--authority", mode)
    assert (code, out) == (2, "")
    assert "authority: " in err
    assert "remedy: " in err
    assert words in err


def test_people_are_told_that_no_look_up_was_made(rjudge_path, capsys):
    code, out, _ = bench(capsys, rjudge_path, *QUICK, "--baselines", "hoeffding", "--seeds", 2)
    assert code == 0
    assert "look-ups were not asked for" in out
    assert "Hoeffding tree, tuned" in out
    assert "± –" not in out
    assert "seeds 0 to 1, " in out


def test_options_reach_the_settings(rjudge_path, capsys):
    code, out, _ = bench(
        capsys,
        rjudge_path,
        *QUICK,
        "--json",
        *("--view", "observable,instrumented", "--mask-unknown", "0.1", "--feedback", "0.25"),
        *("--flip", "0.1", "--flip-target", "scenario=:0.4", "--first-seed", "7"),
        *("--authority", "prospective+early", "--selection", "greedy", "--verify", "refuse"),
        *("--allow-target", "0.99", "--refuse-target", "0.9"),
    )
    assert code == 0
    document = json.loads(out)
    config = document["config"]
    assert set(document["views"]) == {"observable", "instrumented"}
    assert (config["mask_unknown"], config["feedback"], config["flip"]) == (0.1, 0.25, 0.1)
    assert config["target"] == {"key": "scenario", "value": "", "share": 0.4}
    assert config["seeds"] == [7]
    assert config["authority"] == "prospective+early"
    assert "wrong_feedback" not in document["views"]["observable"]
    assert config["evolution"]["selection"] == "greedy"
    assert config["evolution"]["verify"] == "refuse"
    assert config["gates"]["allow"]["target"] == 0.99
    assert config["gates"]["refuse"]["target"] == 0.9
    assert config["gates"]["allow"]["confidence"] == 0.5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--view", "fulll"], "did you mean 'full'"),
        (["--baselines", "forest,svm"], "'svm' is not a baseline"),
        (["--authority", "paper+beta"], "authority"),
        (["--authority", "paper+prospective"], "settle the same thing"),
        (["--allow-target", "1.5"], "--allow-target"),
        (["--refuse-target", "0"], "--refuse-target"),
        (["--proposer", "oracle"], "oracle"),
        (["--selection", "best"], "--selection"),
        (["--verify", "maybe"], "--verify"),
        (["--flip", "1.5"], "--flip"),
        (["--flip", "nan"], "--flip"),
        (["--feedback", "-1"], "--feedback"),
        (["--mask-unknown", "2"], "--mask-unknown"),
        (["--rounds", "0"], "--rounds"),
        (["--rounds", "189"], "at most 188 rounds"),
        (["--seeds", "0"], "--seeds"),
        (["--view", ","], "--view"),
        (["--flip-target", "scenario"], "KEY=VALUE:SHARE"),
        (["--flip-target", "scenario=x:2"], "KEY=VALUE:SHARE"),
        (["--flip-target", "planet=Mars:0.5"], "no event has meta planet"),
    ],
)
def test_a_wrong_option_is_told_and_nothing_is_written(
    rjudge_path, tmp_path, capsys, arguments, words
):
    target = tmp_path / "result.json"
    code, out, err = bench(capsys, rjudge_path, "--out", target, *arguments)
    assert code == 2
    assert words in err
    assert "Traceback" not in err
    assert out == ""
    assert not target.exists()


def test_a_file_named_twice_and_a_missing_one(rjudge_path, tmp_path, capsys):
    code, _, err = bench(capsys, rjudge_path, rjudge_path, *QUICK)
    assert (code, "named twice" in err) == (2, True)
    code, _, err = bench(capsys, tmp_path / "none.jsonl", *QUICK)
    assert (code, "no such file" in err) == (2, True)


def test_an_unlabelled_event_is_named(rjudge_path, tmp_path, capsys):
    lines = rjudge_path.read_text().splitlines()
    record = json.loads(lines[4])
    del record["label"]
    lines[4] = json.dumps(record)
    file = tmp_path / "some.jsonl"
    file.write_text("\n".join(lines))
    code, _, err = bench(capsys, file, *QUICK)
    assert code == 2
    assert record["id"] in err
    assert str(file) in err


def test_standard_input(rjudge_path, capsys, monkeypatch):
    with rjudge_path.open() as handle:
        monkeypatch.setattr(sys, "stdin", handle)
        code, out, _ = bench(capsys, "-", *QUICK, "--json")
    assert code == 0
    assert list(json.loads(out)["config"]["files"]) == ["<stdin>"]


@pytest.mark.integration
def test_the_same_document_for_every_hash_seed(rjudge_path):
    seen = set()
    for seed in ("1", "2"):
        printed = subprocess.run(
            [*COMMAND, "bench", "run", str(rjudge_path), *QUICK, "--json"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        document = json.loads(printed)
        del document["seconds"]
        seen.add(json.dumps(document))
    assert len(seen) == 1


def processes(group):
    """How many processes of a process group live."""
    found = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, of = stat.read_text().rpartition(")")[2].split()[:3]
            found += int(of) == group and state != "Z"
    return found


def wait_for(condition):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail("waited for 30 s")


@pytest.mark.integration
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="counts processes in /proc")
@pytest.mark.parametrize("delay", [0.0, 1.5])
def test_an_interrupt_ends_all_processes_with_130(rjudge_path, tmp_path, delay):
    target = tmp_path / "result.json"
    options = ["--seeds", "500", "--baselines", "forest", "--jobs", "2", "--out", str(target)]
    process = subprocess.Popen(
        [*COMMAND, "bench", "run", str(rjudge_path), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(lambda: processes(process.pid) >= 3)  # the command and its two workers
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert (out, err) == ("", "")
    assert not target.exists()
    wait_for(lambda: processes(process.pid) == 0)


@pytest.mark.integration
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="counts processes in /proc")
def test_workers_die_with_a_killed_command(rjudge_path):
    process = subprocess.Popen(
        [*COMMAND, "bench", "run", str(rjudge_path), "--seeds", "500", "--jobs", "2"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_for(lambda: processes(process.pid) >= 4)  # the command, two workers, a tracker
    process.kill()
    process.wait()
    wait_for(lambda: processes(process.pid) == 0)
