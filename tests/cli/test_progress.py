"""Progress on stderr: lines in place on a terminal, plain lines elsewhere."""

from __future__ import annotations

import io
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from vepa.cli.progress import Steps


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_elsewhere_every_message_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with Steps("starting", ("mail",)) as tell:
        tell("mail: seeding")
        tell("Collecting radicale==3.9.0")
    told = capsys.readouterr()
    assert told.err == "mail: seeding\nCollecting radicale==3.9.0\n"
    assert told.out == ""


def test_lines_of_many_threads_stay_whole(capsys: pytest.CaptureFixture[str]) -> None:
    lines = {f"{number}: {'x' * 200}" for number in range(200)}
    with Steps("starting") as tell, ThreadPoolExecutor(8) as pool:
        list(pool.map(tell, lines))
    assert set(capsys.readouterr().err.splitlines()) == lines


def test_on_a_terminal_each_name_has_a_line_that_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with Steps("starting", ("mail", "files")) as tell:
        tell("mail: seeding")
        tell("files: up after 1.0 s")
        tell("[bold]something else[/bold]")  # no markup
        shown = {name: tell._progress.tasks[at] for name, at in tell._tasks.items()}
        assert shown["mail"].description == "  mail: seeding"
        assert (shown["files"].finished, shown["mail"].finished) == (True, False)
        assert shown[""].description == "starting: [bold]something else[/bold]"
        tell._progress.refresh()
    assert "mail: seeding" in terminal.getvalue()


def test_an_error_stops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(RuntimeError), Steps("starting") as tell:
        raise RuntimeError
    assert not tell._progress.live.is_started
