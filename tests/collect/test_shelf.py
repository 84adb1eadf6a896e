"""Episodes on disk: which one somebody means by a part of its id."""

from __future__ import annotations

from pathlib import Path

import pytest
from shown_episodes import keep, made

from vepa.collect.episodes.shelf import on_shelf, open_episode
from vepa.errors import InputError


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    for task in ("memo-rent", "memo-rent-again"):
        for model in ("scripted/careful", "scripted/gullible"):
            keep(tmp_path / "a", made(task=task, model=model))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("memo-rent/scripted-careful/0", "memo-rent/scripted-careful/0"),
        ("memo-rent/scripted/careful/0", "memo-rent/scripted-careful/0"),
        ("memo-rent/scripted-careful", "memo-rent/scripted-careful/0"),
        ("again/scripted/gull", "memo-rent-again/scripted-gullible/0"),
    ],
)
def test_an_episode_is_found_by_a_part_of_its_id(shelf: Path, name: str, found: str) -> None:
    assert open_episode(name, [shelf]).trajectory.id == found


def test_what_means_several_is_told(shelf: Path) -> None:
    with pytest.raises(InputError) as caught:
        open_episode("memo-rent", [shelf])
    assert caught.value.message == (
        "'memo-rent' means 2 episodes: memo-rent/scripted-careful/0, memo-rent/scripted-gullible/0"
    )
    with pytest.raises(InputError, match="means 4 episodes"):
        open_episode("memo", [shelf])


def test_what_means_none_is_told_with_the_nearest(shelf: Path) -> None:
    with pytest.raises(InputError) as caught:
        open_episode("memo-rend/scripted-careful/0", [shelf])
    assert "memo-rent/scripted-careful/0" in str(caught.value.remedy)
    with pytest.raises(InputError, match="there are none in"):
        open_episode("memo", [shelf / "nowhere"])


def test_two_copies_are_told_by_their_files(shelf: Path) -> None:
    other = keep(shelf / "b", made(task="memo-rent", model="scripted/careful"))
    with pytest.raises(InputError) as caught:
        open_episode("memo-rent/scripted-careful/0", [shelf / "a", shelf / "b"])
    assert str(other) in caught.value.message
    assert len(on_shelf([shelf, shelf / "a"])) == 5, "a file counts once"
    assert open_episode(str(other), []).file == str(other)
