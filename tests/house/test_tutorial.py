"""The tutorial: every command exists as printed, and what it lets people write is right."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from vepa.cli import app, main

ROOT = Path(__file__).parents[2]
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
#: A fence that holds `cat > FILE <<'END'`, what is written, END.
WRITTEN = re.compile(r"^cat > (\S+) <<'END'\n(.*?)^END\n", re.MULTILINE | re.DOTALL)
#: What a wrong command line raises, wherever typer keeps its click.
USAGE = typer.BadParameter.__bases__[0]
FENCES = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """Every `vepa` command, in order: of the fences, lines that go on joined, then of sentences."""
    blocks = [WRITTEN.sub("", block).replace("\\\n", " ") for block in FENCES.findall(TUTORIAL)]
    found = [line for block in blocks for line in block.splitlines() if line.startswith("vepa ")]
    return found + re.findall(r"`(vepa [^`\n]+)`", TUTORIAL)


def parsed(command: str) -> Any:
    """The context of a command's verb; its arguments are taken apart as the command does it."""
    words = shlex.split(command)[1:]
    verb: Any = typer.main.get_command(app)
    context = verb.context_class(verb, info_name="vepa")
    while hasattr(verb, "commands"):
        name = words.pop(0)
        assert name in verb.commands, f"{command}: there is no {name!r}"
        verb, parent = verb.commands[name], context
        context = verb.context_class(verb, info_name=name, parent=parent)
    return verb.make_context(verb.name, words, parent=context.parent)


def test_there_are_commands() -> None:
    assert len(commands()) >= 20
    assert {command.split()[1] for command in commands()} >= {
        "run", "show", "arbitrate", "corpus", "policy", "decide", "import", "parse",
    }  # fmt: skip


@pytest.mark.parametrize("command", sorted(set(commands())))
def test_a_command_has_this_verb_and_these_options(command: str) -> None:
    assert parsed(command).params


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("vepa polish x", "polish"),
        ("vepa policy check", "POLICY"),
        ("vepa run --sloppy", "--sloppy"),
    ],
)
def test_a_command_that_is_not_there_is_found(wrong: str, said: str) -> None:
    with pytest.raises((AssertionError, USAGE)) as caught:
        parsed(wrong)
    error: Any = caught.value
    assert said in (error.format_message() if isinstance(error, USAGE) else str(error))


def test_make_knows_the_targets() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^make (\S+)", TUTORIAL, re.MULTILINE))
    assert "run" in targets
    assert [name for name in targets if not re.search(rf"^{name}:", makefile, re.MULTILINE)] == []


def test_what_is_written_by_hand_does_what_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    for name, text in WRITTEN.findall(TUTORIAL):
        (tmp_path / name).write_text(text, "utf-8")
    told: dict[str, str] = {}
    for command in commands():
        # What needs a run, or a model, is not tried here.
        if "mine/" not in command or re.search(r"artifacts/|mine/labels|wider|llm:", command):
            continue
        capsys.readouterr()
        assert main(shlex.split(command)[1:]) == 0, command
        told[command.split(" mine/")[0]] = capsys.readouterr().out
    assert told.keys() == {
        "vepa policy check", "vepa policy test", "vepa import", "vepa show", "vepa parse",
        "vepa decide --policy",
    }  # fmt: skip
    for verb in ("vepa policy test", "vepa decide --policy"):
        assert told[verb] in TUTORIAL, f"the tutorial shows another output of {verb}"
    assert "⟦T1! collect@drop.example⟧" in told["vepa show"]
    digits = re.search(r"policy_hash (\w+)…", TUTORIAL)
    assert digits is not None
    assert f"policy_hash {digits[1]}" in told["vepa policy check"]
