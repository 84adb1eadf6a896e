"""`vepa decide`: a stream of decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vepa.policy import load_policy


def test_json_lines(vepa: Any, files: Path) -> None:
    policy = load_policy((files / "p.yaml").read_text())
    ran = vepa("decide", "--policy", files / "p.yaml", files / "e.jsonl", "--json")
    assert ran.code == 0
    same = {"policy_hash": policy.policy_hash}
    assert ran.lines == [
        {"id": "a", "verdict": "refuse", "rules": ["r1"], **same},
        {"id": "b", "verdict": "allow", "rules": ["r2"], **same},
        {"id": "line-4", "verdict": "abstain", "rules": [], **same},
    ]


def test_lines_for_people(vepa: Any, files: Path) -> None:
    ran = vepa("decide", "--policy", files / "p.yaml", files / "e.jsonl")
    assert ran.out == "a\trefuse\tr1\nb\tallow\tr2\nline-4\tabstain\t-\n"


def test_all_rules(vepa: Any, files: Path) -> None:
    ran = vepa("decide", "--policy", files / "p.yaml", files / "e.jsonl", "--all-rules", "--json")
    assert [line["rules"] for line in ran.lines] == [["r1"], ["r2"], ["r3"]]


def test_stdin_and_what_was_decided_before_a_bad_line_stays(process: Any, files: Path) -> None:
    good = (files / "e.jsonl").read_text()
    ran = process("decide", "--policy", files / "p.yaml", "-", stdin=good)
    assert (ran.code, ran.out) == (0, "a\trefuse\tr1\nb\tallow\tr2\nline-4\tabstain\t-\n")
    ran = process("decide", "--policy", files / "p.yaml", "-", stdin=good + "{oops\n" + good)
    assert ran.code == 2
    assert ran.out == "a\trefuse\tr1\nb\tallow\tr2\nline-4\tabstain\t-\n"
    assert ran.err.startswith("error: <stdin>:5: malformed JSON")


def test_policy_on_stdin_and_never_both(process: Any, files: Path) -> None:
    text = (files / "p.yaml").read_text()
    ran = process("decide", "--policy", "-", files / "e.jsonl", stdin=text)
    assert ran.out.startswith("a\trefuse\tr1\n")
    both = process("decide", "--policy", "-", "-", stdin=text)
    assert both.code == 2
    assert "cannot be two files at once" in both.err


def test_a_step_is_not_decided_by_a_policy_of_trajectories(vepa: Any, files: Path) -> None:
    (files / "e.jsonl").write_text(
        '{"id": "a", "event": {}}\n{"id": "b", "unit": "step", "event": {}}\n'
    )
    ran = vepa("decide", "--policy", files / "p.yaml", files / "e.jsonl")
    assert (ran.code, ran.out) == (2, "a\tabstain\t-\n")
    assert f"{files / 'e.jsonl'}:2: unit: event 'b' is a step" in ran.err
    assert "use a policy of unit 'step'" in ran.err


def test_decisions_are_the_same_bytes_in_every_process(process: Any, files: Path) -> None:
    data = Path(__file__).parents[2] / "data" / "rjudge_dev.events.jsonl"
    one = process("decide", "--policy", files / "p.yaml", data, "--json")
    other = process("decide", "--policy", files / "p.yaml", data, "--json")
    assert one.code == 0
    assert one.out == other.out
    assert len(one.lines) == 188
