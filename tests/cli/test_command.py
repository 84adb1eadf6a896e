"""The command as such: what it loads, its options, and how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import vepa as package
from vepa.cli import console
from vepa.errors import MissingExtraError

HEAVY = (
    *("numpy", "pydantic", "yaml", "polars", "prefect", "rich", "jinja2", "httpx", "docker"),
    *("vepa.policy", "vepa.services"),
)


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from vepa.cli import main\n"
        "code = main(['--help'])\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], code)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *shown, last = done.stdout.strip().splitlines()
    assert last == "[] 0"
    for verb in ("policy", "schema", "decide", "validate", "run", "bench", "services", "tools"):
        assert any(line.strip().startswith(verb) for line in shown), f"{verb} is not listed"


def test_version(vepa: Any) -> None:
    ran = vepa("--version")
    assert (ran.code, ran.out) == (0, f"vepa {package.__version__}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("policy", "nonsense"),
        ("policy", "check"),
        ("policy", "check", "p", "--nonsense"),
        ("policy", "check", "a", "b"),
        ("decide", "e.jsonl"),
        ("policy", "explain", "p", "e", "--nearest", "many"),
        ("policy", "explain", "p", "e", "--nearest", "-1"),
    ],
)
def test_usage_errors_end_with_2_and_say_where_help_is(
    vepa: Any, arguments: tuple[str, ...]
) -> None:
    ran = vepa(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert "--help`" in ran.err
    ran = vepa(*arguments, "--json")
    assert ran.code == 2
    assert set(ran.json["error"]) == {"message", "file", "line", "field", "remedy"}


@pytest.mark.parametrize("group", [(), ("policy",), ("schema",), ("services",), ("tools",)])
def test_without_a_verb_help_goes_to_stderr(vepa: Any, group: tuple[str, ...]) -> None:
    ran = vepa(*group)
    assert (ran.code, ran.out) == (2, "")
    assert "Usage:" in ran.err


def test_json_may_stand_before_or_after_the_verb(vepa: Any, files: Path) -> None:
    after = vepa("policy", "check", files / "p.yaml", "--json")
    before = vepa("--json", "policy", "check", files / "p.yaml")
    assert before.json == after.json
    assert before.json["ok"] is True


def test_a_project_that_is_no_folder(vepa: Any, files: Path) -> None:
    ran = vepa("validate", "--project", files / "p.yaml", "--json")
    assert ran.code == 2
    assert ran.json["error"]["message"] == "no such folder"
    assert vepa("--project", files / "p.yaml", "validate").code == 2


def test_json_errors_have_file_line_field_and_remedy(vepa: Any, files: Path) -> None:
    (files / "e.jsonl").write_text('{"injection": "none"}\n{"injection": "nun"}\n')
    ran = vepa("decide", "--policy", files / "p.yaml", files / "e.jsonl", "--json")
    assert ran.code == 2
    first, last = ran.lines
    assert first["verdict"] == "abstain"
    assert last["error"] == {
        "message": "'nun' is not in the domain of 'injection'",
        "file": str(files / "e.jsonl"),
        "line": 2,
        "field": "event.injection",
        "remedy": "values: unknown, none, ignored, followed",
    }
    assert ran.err.startswith(f"error: {files / 'e.jsonl'}:2: event.injection: ")


def test_an_interrupt_ends_with_130(files: Path) -> None:
    done = subprocess.Popen(
        [sys.executable, "-m", "vepa", "decide", "--policy", files / "p.yaml", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert done.stdin is not None
    assert done.stdout is not None
    done.stdin.write('{"id": "a", "event": {}}\n')
    done.stdin.flush()
    assert done.stdout.readline() == "a\tabstain\t-\n"  # answered while the input is still open
    done.send_signal(signal.SIGINT)
    out, err = done.communicate(timeout=60)
    assert (done.returncode, out) == (130, "")
    assert "Traceback" not in err


def test_a_reader_that_goes_away_is_no_traceback(files: Path) -> None:
    with (files / "many.jsonl").open("w") as handle:
        handle.writelines('{"injection": "none"}\n' for _ in range(20_000))
    done = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "vepa",
            "decide",
            "--policy",
            files / "p.yaml",
            files / "many.jsonl",
            "--json",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert done.stdout is not None
    assert done.stdout.readline()
    done.stdout.close()
    assert done.stderr is not None
    assert done.stderr.read() == b""
    done.stderr.close()
    assert done.wait(timeout=60) in (1, 141)


def test_text_from_files_does_not_steer_the_terminal(vepa: Any, files: Path) -> None:
    record = {"id": "x\u001b[31m\ny\tz", "event": {}}
    (files / "e.jsonl").write_text(json.dumps(record) + "\n")
    ran = vepa("decide", "--policy", files / "p.yaml", files / "e.jsonl")
    assert ran.out == "x\\x1b[31m\\x0ay\\x09z\tabstain\t-\n"


def test_a_plain_failure_of_ours_is_not_hidden() -> None:
    def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        console.guarded(broken)


def test_documents_hold_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="JSON"):
        console.Output(True).document({"x": float("nan")})


def test_tables_show_markup_as_text_and_go_where_text_goes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for as_json in (False, True):
        console.Output(as_json).table(("a", "b"), [("[red]x[/red]", 1)], right=("b",))
        told = capsys.readouterr()
        shown, other = (told.err, told.out) if as_json else (told.out, told.err)
        assert "[red]x[/red]" in shown
        assert other == ""


def test_a_missing_extra_sends_nobody_to_an_unknown_package(vepa: Any, monkeypatch: Any) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MissingExtraError("river", "bench")

    monkeypatch.setattr("vepa.cli.registry.project_files", fail)
    ran = vepa("validate", "--json")
    assert ran.code == 2
    assert ran.json["error"]["message"] == "the package 'river' is not installed"
    remedy = ran.json["error"]["remedy"]
    assert "`pip install '.[bench]'` in the folder of VEPA's source" in remedy
    assert "'vepa[" not in ran.err
    assert f"error: the package 'river' is not installed\n  remedy: {remedy}\n" == ran.err


def test_the_verbs_are_put_together_once_a_process(
    vepa: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = vepa("policy", "--help")
    monkeypatch.setattr("typer.main.get_command", None)
    again = vepa("policy", "--help")
    assert (again.code, again.out) == (first.code, first.out)
    assert "check" in again.out
