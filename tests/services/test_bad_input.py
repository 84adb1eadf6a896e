"""What cannot be started: an error with file, field and remedy; nothing is left running."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_office import cache_folder, nothing_left, write_environment

from vepa.errors import InputError, RunError, ServiceError, SettingError
from vepa.services import Office, clean_up, load_environment
from vepa.services.overview import look, take_down
from vepa.services.places import Places
from vepa.services.runtimes import processes

Start = Callable[..., Office]


@pytest.fixture
def cache() -> Iterator[Places]:
    with cache_folder() as places:
        yield places


@pytest.fixture
def start(cache: Places, tmp_path: Path) -> Start:
    """Start the tiny office with dotted paths of its environment changed."""

    def run(changes: dict[str, Any] | None = None, *, mode: str = "plain", **more: Any) -> Office:
        file = write_environment(tmp_path, changes, mode=mode)
        world = tmp_path / "environments" / "world.yaml"
        return Office.start([load_environment(file)], world, root=cache, **more)

    return run


@pytest.mark.parametrize(
    ("changes", "mode", "field", "message", "remedy"),
    [
        ({}, "dies", "process", "died before it was healthy: ", "`health`"),
        ({}, "dies", "process", "cannot read the configuration", "`process`"),
        ({"health.seconds": 0.5}, "hangs", "process", "not healthy within 0.5 s: ", "`health`"),
        ({"health.seconds": 4}, "sick", "process", "answered 503 to GET /healthz", "`health`"),
        ({}, "refuses", "seed.steps.0", "answered 422: ", "seeds"),
        ({"state.steps.0.http.path": "/broken"}, "plain", "process", "out of order", ""),
        ({"process.prepare": [["{{ python }}", "-c", "raise SystemExit('no room')"]]}, "plain",
         "process.prepare.0", "no room", "by hand"),
    ],
)  # fmt: skip
def test_a_service_that_does_not_come_up(
    start: Start, cache: Places, changes: dict[str, Any], mode: str, field: str, message: str,
    remedy: str,
) -> None:  # fmt: skip
    began = time.monotonic()
    with pytest.raises(InputError) as caught:
        start(changes, mode=mode)
    error = caught.value
    assert error.exit_code == 2
    assert message in str(error)
    assert (error.where.file or "").endswith("environments/memos/environment.yaml")
    assert error.where.field == field
    assert remedy in (error.remedy or "")
    assert time.monotonic() - began < 40
    nothing_left(cache)


def test_a_service_error_is_bad_input_and_a_run_that_stopped() -> None:
    assert issubclass(ServiceError, InputError)
    assert issubclass(ServiceError, RunError)


@pytest.mark.parametrize(
    ("changes", "field", "message", "remedy"),
    [
        ({"process.packages": ["not-there==1.0"]}, "process.packages", "is not installed",
         "vepa services install"),
        ({"process.programs": ["no-such-program"]}, "process.programs", "'no-such-program'",
         "install it"),
        ({"process.command": ["no-such-program", "{{ ports.http }}"]}, None, "no-such-program", ""),
        (
            {"process.command": ["{{ pythn }}"]},
            "process.command",
            "no template here knows 'pythn'",
            "'python'",
        ),
        ({"seed.steps.0.for": "seed.nothing"}, "seed.steps.0", "nothing", ""),
        (
            {"seed.steps.0.http": {"path": "memos"}},
            "seed.steps.0.http.path",
            "pattern",
            "keys: ",
        ),
        ({"seed.steps.0.capture": {"memo": "answer.data.x"}}, "seed.steps.0", "'x'", ""),
        ({"state.value": "all.data.x.y"}, "state.value", "all.data.x.y", ""),
        ({"drivers.http": {"port": "web"}}, "drivers.http.port", "no port 'web'", "http"),
        ({"accounts.admin.password": "{{ secrets.none }}"}, "accounts.admin.password", "none",
         "secrets of the world"),
    ],
)  # fmt: skip
def test_what_is_missing_or_wrong(
    start: Start, cache: Places, changes: dict[str, Any], field: str | None, message: str,
    remedy: str,
) -> None:  # fmt: skip
    with pytest.raises(InputError) as caught:
        start(changes)
    error = caught.value
    assert error.exit_code == 2
    assert message in error.message
    assert error.where.file
    assert error.where.field == field
    assert error.where.line or not (field or "").startswith(("seed.", "state."))
    assert remedy in (error.remedy or "")
    nothing_left(cache)


def test_a_port_in_use(start: Start, cache: Places) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with pytest.raises(InputError) as caught:
            start({"process.ports.http": port})
        assert str(port) in caught.value.message
        assert "port 0" in (caught.value.remedy or "")
        nothing_left(cache)
    with start({"process.ports.http": port}) as office:
        assert dict(office.endpoint("memos").ports) == {"http": port}


def test_one_that_fails_takes_the_others_down(start: Start, cache: Places, tmp_path: Path) -> None:
    good = load_environment(write_environment(tmp_path / "good"))
    bad = tmp_path / "bad"
    write_environment(bad, mode="dies")
    folder = (bad / "environments" / "memos").rename(bad / "environments" / "pads")
    file = folder / "environment.yaml"
    (folder / "seed" / "memos.yaml").rename(folder / "seed" / "pads.yaml")
    file.write_text(file.read_text().replace("memos", "pads"))
    world = tmp_path / "good" / "environments" / "world.yaml"
    with pytest.raises(ServiceError, match="pads"):
        Office.start([good, load_environment(file)], world, root=cache)
    assert [*processes.launchers(cache.root), *processes.leftovers(cache.root)] == []
    assert list(cache.offices.iterdir()) == []


def test_the_world_is_missing_or_wrong(start: Start, cache: Places, tmp_path: Path) -> None:
    environment = load_environment(write_environment(tmp_path))
    with pytest.raises(InputError, match="no such file") as caught:
        Office.start([environment], tmp_path / "none.yaml", root=cache)
    assert caught.value.where.file == str(tmp_path / "none.yaml")
    broken = tmp_path / "broken.yaml"
    broken.write_text("world: 1\npeople: none\n")
    with pytest.raises(InputError) as caught:
        Office.start([environment], broken, root=cache)
    assert caught.value.where.file == str(broken)
    nothing_left(cache)


def test_names_of_offices(start: Start, cache: Places) -> None:
    for name in ("Big", "a b", "../x", "", "-x", "x" * 33):
        with pytest.raises(SettingError, match="no name for an office") as caught:
            start(office_id=name)
        assert caught.value.where.field == "--office"
    with start(office_id="mine") as office:
        with pytest.raises(SettingError, match="'mine' is up already") as caught:
            start(office_id="mine")
        assert "vepa services down --office mine" in (caught.value.remedy or "")
        assert office.condition("memos").state == "running"
    nothing_left_but_snapshots(cache)


def nothing_left_but_snapshots(cache: Places) -> None:
    shutil.rmtree(cache.snapshots)
    nothing_left(cache)


def test_no_office_an_unknown_one_and_one_of_many(start: Start, cache: Places) -> None:
    for office in (None, "mine"):
        with pytest.raises(SettingError, match="no office is up") as caught:
            Office.attach(office, root=cache)
        assert caught.value.remedy == "vepa services up"
    with start(office_id="mine"), start(office_id="yours"):
        with pytest.raises(SettingError, match="no office 'min'") as caught:
            Office.attach("min", root=cache)
        assert "mine" in (caught.value.remedy or "")
        with pytest.raises(SettingError, match="2 offices are up") as caught:
            Office.attach(root=cache)
        assert "mine, yours" in (caught.value.remedy or "")
        assert Office.attach("yours", root=cache).id == "yours"


def test_files_that_changed_since_the_start(start: Start, cache: Places) -> None:
    office = start(detached=True)
    file = office.environments["memos"].file
    file.write_text(file.read_text().replace("Keeps memos", "Keeps many memos"))
    with pytest.raises(SettingError, match="has changed") as caught:
        Office.attach(root=cache)
    assert f"vepa services down --office {office.id}" in (caught.value.remedy or "")
    (view,) = look(root=cache)  # it can be looked at all the same, and taken down
    assert view.healthy
    file.unlink()
    (view,) = look(root=cache)
    assert not view.healthy
    assert "no such file" in view.problem
    assert take_down(root=cache) == office.id
    nothing_left_but_snapshots(cache)


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from vepa.services import Office, load_environment
from vepa.services.places import Places
file = Path(sys.argv[1])
print("go", flush=True)
world, root = file.parents[1] / "world.yaml", Places(Path(sys.argv[2]))
Office.start([load_environment(file)], world, root=root, detached=True)
"""


@pytest.mark.parametrize("number", [9, 2])
def test_a_start_that_is_killed_or_interrupted(cache: Places, tmp_path: Path, number: int) -> None:
    file = write_environment(tmp_path, mode="hangs")
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, file, cache.root, Path(__file__).parent],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert child.stdout is not None
    child.stdout.readline()
    limit = time.monotonic() + 60
    while not _serving(cache):
        assert child.poll() is None
        assert time.monotonic() < limit
        time.sleep(0.02)
    child.send_signal(number)
    assert child.wait(timeout=60) != 0
    child.stdout.close()
    if number == 9:
        limit = time.monotonic() + 30
        while processes.launchers(cache.root) and time.monotonic() < limit:
            time.sleep(0.05)
        clean_up(cache)
    nothing_left(cache)


def _serving(cache: Places) -> bool:
    """Whether a service of a seed waits to be healthy."""
    return any("serve" in path.read_text() for path in cache.offices.glob("*/*/service.log"))


@pytest.mark.parametrize("place", ["own", "OfficeRecord.write"])
def test_a_full_disk_is_told_and_leaves_nothing(
    start: Start, cache: Places, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(f"vepa.services.records.{place}", full)
    with pytest.raises(SettingError, match="not usable: No space left") as caught:
        start()
    assert caught.value.where.file == str(cache.root)
    assert "VEPA_CACHE" in (caught.value.remedy or "")
    cache.snapshots.mkdir(exist_ok=True)
    nothing_left_but_snapshots(cache)
