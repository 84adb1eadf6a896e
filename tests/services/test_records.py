"""What is kept on disk of an office, and what a crash leaves of it."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from tiny_office import cache_folder

from vepa.errors import RunError
from vepa.services import clean_up, records
from vepa.services.places import Places


@pytest.fixture
def cache() -> Iterator[Places]:
    with cache_folder() as places:
        yield places


def names(cache: Places) -> list[str]:
    return sorted(path.name for path in cache.offices.iterdir())


def test_of_many_that_claim_an_id_at_once_one_gets_it(cache: Places) -> None:
    begin = threading.Barrier(8)

    def claim(_: int) -> bool:
        begin.wait()
        with suppress(FileExistsError):
            records.claim(cache, "demo", "process")
            return True
        return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(claim, range(8))) == 1
    assert names(cache) == ["demo"]


def test_a_removal_that_is_killed_leaves_nothing_that_looks_like_an_office(
    cache: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of a folder was neither up nor down: its name was taken, and `down` did not know it."""
    folder = records.claim(cache, "demo", "process")
    records.own(folder, None, "process")  # as `vepa services up` leaves it
    (folder / "office.json").write_text("{}")

    def killed(path: Path, **_: object) -> None:
        (path / "office.json").unlink()
        os.kill(os.getpid(), signal.SIGKILL)

    def remove() -> None:
        monkeypatch.setattr(shutil, "rmtree", killed)
        records.remove(folder)

    process = multiprocessing.get_context("fork").Process(target=remove)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert not folder.exists()
    records.remove(records.claim(cache, "demo", "process"))
    assert len(names(cache)) == 1
    clean_up(cache)
    assert names(cache) == []


def test_a_half_made_folder_goes(cache: Places) -> None:
    cache.offices.mkdir()
    (cache.offices / ".claim-x").mkdir()
    clean_up(cache)
    assert names(cache) == []


def test_an_office_is_not_claimed_while_dead_ones_are_swept(cache: Places) -> None:
    """Else the new one of the same name would be swept for the dead one."""
    with ThreadPoolExecutor(1) as pool:
        with records.coming_and_going(cache):
            claimed = pool.submit(records.claim, cache, "demo", "process")
            with pytest.raises(TimeoutError):
                claimed.result(timeout=0.3)
            assert names(cache) == []
        claimed.result(timeout=5)
    assert names(cache) == ["demo"]


def test_what_is_put_on_record_meanwhile_stays(tmp_path: Path) -> None:
    log = records.WriteLog(tmp_path)
    assert (log.names(), log.count("mail")) == (set(), 0)
    log.clear("mail", 0)
    log.mark("mail")
    seen = log.count("mail")
    log.mark("mail")
    log.clear("mail", seen)
    assert log.names() == {"mail"}
    log.clear("mail", log.count("mail"))
    assert log.names() == set()


def test_no_office_no_record(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="office 'demo' still up"):
        records.WriteLog(tmp_path / "demo").mark("mail")


def test_an_office_whose_end_was_killed_is_swept(cache: Places) -> None:
    """Its services stopped, its record there: it was up for `up` and dead for `reset`."""
    folder = records.claim(cache, "demo", "process")
    records.own(folder, None, "process")
    clean_up(cache)
    assert names(cache) == ["demo"]
    process = multiprocessing.get_context("fork").Process(
        target=records.going, args=(folder, "process")
    )
    process.start()
    process.join()
    clean_up(cache)
    assert names(cache) == []
    records.going(folder, "process")
    assert names(cache) == []
