"""What has passed its checks is not checked again, and whatever has changed is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_office import cache_folder, write_environment

from vepa.errors import MissingExtraError, SettingError
from vepa.services import load_environment
from vepa.services.environment import checked, load, outside
from vepa.services.places import Places


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[Places]:
    with cache_folder() as places:
        monkeypatch.setenv("VEPA_CACHE", str(places.root))
        yield places


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_environment(tmp_path)


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the environments that were checked."""
    done: list[str] = []
    real = load._in_content

    def counted(environment: Any, document: Any) -> Any:
        done.append(environment.name)
        return real(environment, document)

    monkeypatch.setattr(load, "_in_content", counted)
    return done


def records(cache: Places) -> int:
    return len(list(cache.checked.iterdir())) if cache.checked.is_dir() else 0


def test_the_second_time_it_is_only_read(cache: Places, file: Path, checks: list[str]) -> None:
    first = load_environment(file)
    assert (checks, records(cache)) == (["memos"], 1)
    second = load_environment(file)
    assert (checks, records(cache)) == (["memos"], 1)
    assert second == first
    assert second.folder == first.folder


@pytest.mark.parametrize("what", ["file", "world", "beside", "code"])
def test_whatever_changes_is_checked_again(
    cache: Places, file: Path, checks: list[str], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    load_environment(file)
    world = file.parents[1] / "world.yaml"
    if what == "file":
        file.write_text(file.read_text("utf-8") + "# more\n", "utf-8")
    elif what == "world":
        world.write_text(world.read_text("utf-8") + "# more\n", "utf-8")
    elif what == "beside":
        (file.parent / "seed" / "more.yaml").touch()
    else:
        monkeypatch.setattr(checked, "_code", lambda: "other code")
    load_environment(file)
    assert len(checks) == 2
    load_environment(file)
    assert len(checks) == 2


def test_what_is_wrong_is_never_on_record(cache: Places, tmp_path: Path, file: Path) -> None:
    load_environment(file)
    write_environment(tmp_path, {"tools.0.result": "all.data |"})
    for _ in range(2):
        with pytest.raises(SettingError, match="expression"):
            load_environment(file)
    (file.parent / "seed" / "memos.yaml").unlink()
    write_environment(tmp_path)
    (file.parent / "seed" / "memos.yaml").unlink()
    with pytest.raises(SettingError, match="no such file"):
        load_environment(file)
    assert records(cache) == 1


def test_settings_that_could_not_be_checked_are_not_on_record(
    cache: Places, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> None:
        raise MissingExtraError("httpx", "services")

    monkeypatch.setattr(outside, "make_driver", missing)
    monkeypatch.delitem(sys.modules, "vepa.services.drivers.http", raising=False)
    load_environment(file)
    assert records(cache) == 0


def test_reading_makes_no_cache_folder(
    tmp_path: Path, file: Path, checks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VEPA_CACHE", str(tmp_path / "absent"))
    load_environment(file)
    load_environment(file)
    assert len(checks) == 2
    assert not (tmp_path / "absent").exists()


def test_old_records_go(cache: Places, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked, "_KEPT", 2)
    for number in range(4):
        file.write_text(file.read_text("utf-8") + f"# {number}\n", "utf-8")
        load_environment(file)
    assert records(cache) == 2
