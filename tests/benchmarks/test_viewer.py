"""The benchmark of the viewer on a few trajectories: its figures are there and make sense."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from chromium import chromium

from benchmarks import viewer
from benchmarks.suite.traces import invented, invented_events


@pytest.mark.browser
@pytest.mark.skipif(chromium() is None, reason="NOT RUN: no chromium here")
def test_its_figures_and_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pictures = tmp_path / "pictures"
    assert viewer.main(["--sizes", "40", "--loads", "2", "--pictures", str(pictures)]) == 0
    told = capsys.readouterr()
    (page,) = json.loads(told.out)["pages"]
    assert page["trajectories"] == 40
    for name in ("paint_ms", "list_ms", "first_search_ms", "later_search_ms", "open_ms"):
        assert 0 < page[name]["median"] <= page[name]["worst"], name
    assert "first paint, 40 trajectories" in told.err
    assert sorted(each.name for each in pictures.iterdir()) == ["viewer-phone.png", "viewer.png"]
    assert all(each.read_bytes().startswith(b"\x89PNG") for each in pictures.iterdir())


def test_without_a_browser_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("chromium.chromium", lambda: None)
    assert viewer.main([]) == 0
    assert capsys.readouterr().err == "NOT RUN: no chromium here\n"


def test_invented_trajectories_are_the_same_every_time_and_differ() -> None:
    first, again = ([each.content_hash for each in invented(30)] for _ in range(2))
    assert first == again
    assert len(set(first)) == 30
    assert [each.id for each in invented(3)] == [each.id for each in invented_events(3)]
