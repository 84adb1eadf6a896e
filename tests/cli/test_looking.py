"""What watches a run: looks while it goes on, once more at its end, and leaves no thread."""

from __future__ import annotations

import threading

import pytest

from vepa.cli.looking import Looking
from vepa.cli.run_labels import LabelWatcher
from vepa.cli.run_watch import EpisodeWatcher, Watcher


class Seen(Looking):
    """Notes its looks."""

    def __init__(self) -> None:
        super().__init__("looking", 3, 0.001)
        self.told: list[str] = []
        self.looked = threading.Event()

    def begin(self) -> None:
        self.told.append("begin")

    def look(self, *, last: bool = False) -> None:
        self.told.append("last" if last else "look")
        self.looked.set()


def test_looks_come_between_a_beginning_and_a_last_one() -> None:
    with Seen() as seen:
        assert seen.looked.wait(10)
    assert (seen.told[0], seen.told[-1]) == ("begin", "last")
    assert "look" in seen.told


@pytest.mark.parametrize("failing", ["work", "last look"])
def test_however_it_ends_no_thread_and_no_bar_are_left(failing: str) -> None:
    class Failing(Seen):
        def look(self, *, last: bool = False) -> None:
            if last and failing == "last look":
                raise RuntimeError(failing)
            super().look(last=last)

    seen = Failing()

    def work() -> None:
        with seen:
            if failing == "work":
                raise RuntimeError(failing)

    with pytest.raises(RuntimeError, match=failing):
        work()
    assert not seen._thread.is_alive()
    assert not seen.progress.live.is_started


def test_a_line_is_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    Seen().say("[bold]task[/bold]")
    assert capsys.readouterr().err == "[bold]task[/bold]\n"


@pytest.mark.parametrize("watcher", [EpisodeWatcher, LabelWatcher, Watcher])
def test_all_watchers_of_a_run_end_in_the_same_way(watcher: type[Looking]) -> None:
    own = set(vars(watcher)) & {"__enter__", "__exit__", "_watch"}
    assert issubclass(watcher, Looking)
    assert own == set(), "how a watcher begins and ends is written once"
