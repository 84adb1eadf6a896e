"""The files that the processes of one scaled-out stage share."""

from __future__ import annotations

from pathlib import Path

import pytest

from vepa.bench.runs.board import Board
from vepa.errors import RunError, SettingError


@pytest.fixture
def board(tmp_path: Path) -> Board:
    return Board.begin(tmp_path, "a" * 64, 2)


def test_a_part_is_held_by_one(board: Board, tmp_path: Path) -> None:
    other = Board(tmp_path, board.token)
    with board.claim("memo") as mine:
        assert mine
        with other.claim("memo") as theirs, other.claim("rent") as free:
            assert (theirs, free) == (False, True)
    with other.claim("memo") as theirs:
        assert theirs


def test_what_came_of_parts_is_told(board: Board) -> None:
    assert (board.done("b"), board.count(), board.stopped) == (False, 0, None)
    board.put("b", {"at": 2})
    board.put("a", {"at": 1})
    assert (board.done("b"), board.count()) == (True, 2)
    assert board.outcomes() == [{"at": 1}, {"at": 2}]
    board.stop("no more money")
    assert board.stopped == "no more money"


def test_a_folder_that_the_worker_does_not_see_is_told(tmp_path: Path) -> None:
    board = Board(tmp_path / "elsewhere", "token")
    for call in (board.about, lambda: board.put("memo", {}), lambda: board.check("a" * 64)):
        with pytest.raises(SettingError, match="does not see this folder") as caught:
            call()
        assert caught.value.where.file == str(tmp_path / "elsewhere")
        assert "mount the folder of artifacts at the same path" in str(caught.value)
    assert not (tmp_path / "elsewhere").exists(), "nothing is written to a place of its own"


def test_another_run_that_took_over_is_told(board: Board, tmp_path: Path) -> None:
    with board.claim("memo"):
        later = Board.begin(tmp_path, "a" * 64, 1)
        with later.claim("memo") as theirs:
            assert not theirs, "what an earlier run is at is still held"
        with pytest.raises(RunError, match="another run has taken over"):
            board.put("memo", {})
    assert later.count() == 0


def test_a_worker_that_would_make_something_else_is_told(board: Board) -> None:
    board.check("a" * 64)
    with pytest.raises(SettingError, match="would make something else") as caught:
        board.check("b" * 64)
    assert "bring checkout, packages and profile" in str(caught.value.remedy)


def test_signs_of_life_and_waits_that_took_too_long(board: Board) -> None:
    before = board.pulse()
    with board.alive("share-0"), board.alive("share-1"):
        pass
    assert board.pulse() > before
    assert (board.count(), board.outcomes()) == (0, [])
    told = pytest.raises(RunError, match="a wait took too long: of the service")
    with told, board.alive("share-0"):
        raise TimeoutError("of the service")


def test_taken_down_nothing_is_left(board: Board, tmp_path: Path) -> None:
    with board.claim("memo"):
        board.withdraw()
        with pytest.raises(SettingError, match="does not see"), board.claim("rent"):
            pass
        with Board.begin(tmp_path, "a" * 64, 1).claim("memo") as mine:
            assert not mine, "locks outlive a run that was ended early"
    board.end()
    assert list(tmp_path.iterdir()) == []
