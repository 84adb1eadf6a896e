"""The docker runtime on a real engine: what goes wrong is told, and nothing is left behind."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from docker.errors import APIError, ImageNotFound

from vepa.errors import InputError, RunError, ServiceError
from vepa.services import Environment, Office, clean_up, load_environment
from vepa.services.compose import FIRST_PORT, compose_document
from vepa.services.contract import keep_contract
from vepa.services.drivers import Endpoint
from vepa.services.places import Places, places
from vepa.services.runtimes.docker_runtime import DockerRuntime
from vepa.services.runtimes.images import BASE, LABELS, connect
from vepa.services.snapshots import read_state
from vepa.services.steps import Connection
from vepa.services.world import load_world

# One after the other: they share images, and look at what is left of all.
pytestmark = [pytest.mark.docker, pytest.mark.xdist_group("engine"), pytest.mark.timeout(300)]

NOTES = Path(__file__).parent / "environments" / "notes"
#: How an image that knows nothing of VEPA is run.
OFFICIAL = """docker:
  image: vepa-test/notes:1
  ports: {http: 8000}
  files: {/srv/config.json: '{"address": ""}', /srv/data/prepared: ''}
  data: /srv/data
  command: [python3, /srv/serve.py, --host, "{{ host }}", --port, "{{ ports.http }}",
            --data, "{{ data }}", --config, /srv/config.json]
  user: "1234"
"""
Make = Callable[..., Environment]


@pytest.fixture(scope="module")
def engine() -> Any:
    return connect()


@pytest.fixture(scope="module")
def root(engine: Any) -> Iterator[Places]:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        Path(folder).chmod(0o755)  # other accounts have to pass through
        patch.setenv("VEPA_CACHE", folder)
        yield places()
        for image in [
            *engine.images.list(filters=ours()),
            *engine.images.list(filters={"label": f"{LABELS['environment']}=notes"}),
        ]:
            with suppress(ImageNotFound, APIError):  # gone, or another worker's container has it
                engine.images.remove(image.id, force=True)


@pytest.fixture(autouse=True)
def nothing_left(root: Places, engine: Any) -> Iterator[None]:
    """Whatever a test did: no container, no network and no reaper outlive it."""
    yield
    assert (containers(engine), networks(engine), reapers()) == ([], [], [])


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """The notes environment, with text of its files replaced."""

    def changed(*, yaml: tuple[str, str] = ("", ""), serve: tuple[str, str] = ("", "")) -> Any:
        folder = tmp_path / "notes"
        shutil.copytree(NOTES, folder, ignore=shutil.ignore_patterns("__pycache__"))
        for name, (old, new) in (("environment.yaml", yaml), ("serve.py", serve)):
            text = (folder / name).read_text()
            assert old in text
            (folder / name).write_text(text.replace(old, new, 1))
        return load_environment(folder / "environment.yaml")

    return changed


def ours() -> dict[str, str]:
    """Filter of what belongs to the cache folder of these tests; other tests run beside them."""
    return {"label": f"vepa.root={mark()}"}


def mark() -> str:
    return DockerRuntime()._offices.mark


def containers(engine: Any) -> list[str]:
    return [each.name for each in engine.containers.list(all=True, filters=ours())]


def networks(engine: Any) -> list[str]:
    return [each.name for each in engine.networks.list(filters=ours())]


def reapers() -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                argv = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            reaper = any(part.endswith(b"/runtimes/reaper.py") for part in argv)
            if reaper and mark().encode() in argv:
                found.append(int(entry.name))
    return found


def until(check: Callable[[], Any], seconds: float = 20) -> Any:
    limit = time.monotonic() + seconds
    while not (value := check()):
        assert time.monotonic() < limit, "it did not happen in time"
        time.sleep(0.05)
    return value


def up(environment: Environment, world_file: Path, **options: Any) -> Office:
    return Office.start([environment], world_file, runtime="docker", **options)


@pytest.mark.parametrize("how", ["live, signal: HUP", "restart"])
def test_contract(make, world_file, how):
    contract = keep_contract(
        [make(yaml=("how: live, signal: HUP", f"how: {how}"))], world_file, "docker"
    )
    assert {"the state is the seed", "tool notes_delete"} <= {
        each.name for each in contract.clauses
    }
    assert [f"{clause.name}: {clause.why}" for clause in contract.broken] == []


def test_an_official_image_keeps_the_contract(make, world_file, engine, monkeypatch, tmp_path):
    """One that knows nothing of VEPA: its own command, configuration and place for data."""
    (tmp_path / "Dockerfile").write_text(f"FROM {BASE}\nCOPY serve.py /srv/serve.py\n")
    # Seen from inside, the port that clients use is unknown, so this one cannot be strict.
    text = (NOTES / "serve.py").read_text().replace('!= config["address"]', '== ""')
    (tmp_path / "serve.py").write_text(text)
    engine.images.build(path=str(tmp_path), tag="vepa-test/notes:1", rm=True)
    environment = make(yaml=("docker: {memory: 64}", OFFICIAL))
    monkeypatch.setenv("VEPA_DOCKER_IMAGES", "official")
    try:
        contract = keep_contract([environment], world_file, "docker")
        assert [f"{clause.name}: {clause.why}" for clause in contract.broken] == []
        with up(environment, world_file):
            (container,) = engine.containers.list(filters=ours())
            assert container.attrs["Config"]["User"] == "1234"
            assert "/opt/vepa" not in str(container.top()["Processes"])
    finally:
        engine.images.remove("vepa-test/notes:1", force=True)


def test_a_container_is_closed_in(make, world_file, engine):
    with up(make(), world_file, office_id="closed") as office:
        (container,) = engine.containers.list(filters=ours())
        host, labels = container.attrs["HostConfig"], container.labels
        assert (labels["vepa.office"], labels["vepa.service"]) == ("closed", "notes")
        assert labels["vepa.content"] == office.seeds["notes"].key
        assert host["CapDrop"] == ["ALL"]
        assert host["SecurityOpt"] == ["no-new-privileges"]
        assert host["Memory"] == host["MemorySwap"] == 64 * 1024**2
        assert container.attrs["Config"]["User"] == "vepa"
        status = container.exec_run(["cat", "/proc/1/status"]).output.decode()
        assert "CapEff:\t0000000000000000" in status
        assert "NoNewPrivs:\t1" in status
        (bindings,) = container.ports.values()
        assert {each["HostIp"] for each in bindings} == {"127.0.0.1"}
        (network,) = engine.networks.list(filters={"label": "vepa.office=closed"})
        assert list(container.attrs["NetworkSettings"]["Networks"]) == [network.name]
        check = [*container.attrs["Config"]["Healthcheck"]["Test"][1:]]
        assert container.exec_run(check).exit_code == 0
        memory = office.condition("notes").memory
        assert memory is not None
        assert 1 < memory < 64


def test_two_offices_side_by_side(make, world_file, engine):
    environment = make()
    with up(environment, world_file) as one, up(environment, world_file) as two:
        assert one.endpoint("notes").ports != two.endpoint("notes").ports
        with one.session() as session:
            assert session.call("notes_delete", {"id": "plan"}).ok
        assert one.check("notes", "note_exists", {"id": "plan"}) is False
        assert two.check("notes", "note_exists", {"id": "plan"}) is True
        assert len(networks(engine)) == 2
    assert networks(engine) == []


def test_many_threads_at_once(make, world_file):
    """The SDK's clients must not be shared: a thread would close the socket of another one."""
    with up(make(), world_file) as office:
        slot = office._slot("notes")

        def work(_: int) -> int:
            good = 0
            for _ in range(12):
                good += office.condition("notes").state == "running"
                good += office.runtime._offices.find(slot).exec_run(["true"]).exit_code == 0
                good += "listening" in office.logs("notes", 1000)
            return good

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(work, range(8))) == [36] * 8


def test_a_service_that_died_comes_back_with_a_reset(make, world_file, engine):
    with up(make(), world_file) as office:
        before = dict(office.endpoint("notes").ports)
        (container,) = engine.containers.list(filters=ours())
        container.exec_run(["sh", "-c", "kill -9 $(cat /proc/1/task/1/children)"])
        until(lambda: office.condition("notes").state == "failed")
        condition = office.condition("notes")
        assert condition.endpoint is None
        assert "exit code 137" in condition.reason
        assert "the service has ended (SIGKILL)" in condition.reason
        office.reset(["notes"], everything=True)
        assert office.at_seed("notes")
        assert dict(office.endpoint("notes").ports) == before


def test_a_service_that_dies_at_start(make, world_file):
    died = make(serve=("parser = argparse", "sys.exit('no licence found')\nparser = argparse"))
    with pytest.raises(ServiceError) as caught:
        up(died, world_file)
    said = str(caught.value)
    assert "died before it was healthy: its container ended with exit code 1" in said
    assert "no licence found" in said
    assert str(died.file) in said


def test_a_service_that_hangs(make, world_file):
    hung = make(
        serve=(
            "http.server.ThreadingHTTPServer",
            "signal.pause()\nhttp.server.ThreadingHTTPServer",
        ),
        yaml=("seconds: 30", "seconds: 2"),
    )
    began = time.monotonic()
    with pytest.raises(ServiceError, match=r"was not healthy within 2 s") as caught:
        up(hung, world_file)
    assert "notes: listening" in str(caught.value)
    assert time.monotonic() - began < 60


def test_preparing_fails(make, world_file):
    failing = make(yaml=("open('{{ data }}/prepared', 'w').close()", "raise SystemExit(9)"))
    with pytest.raises(ServiceError, match=r"prepare\.0 failed with exit code 9"):
        up(failing, world_file)


def test_a_program_that_is_not_there(make, world_file):
    absent = make(yaml=('command: ["{{ python }}"', 'command: ["no-such-program"'))
    with pytest.raises(ServiceError, match="cannot be started: no-such-program"):
        up(absent, world_file)


def test_more_memory_than_allowed(make, world_file):
    greedy = make(serve=("parser = argparse", "hog = bytearray(200_000_000)\nparser = argparse"))
    with pytest.raises(ServiceError, match="died before it was healthy"):
        up(greedy, world_file)


def test_a_wrong_image(make, world_file, monkeypatch):
    wrong = make(yaml=("{memory: 64}", "{image: 'vepa-nobody/nothing:0', ports: {http: 80}}"))
    monkeypatch.setenv("VEPA_DOCKER_IMAGES", "official")
    with pytest.raises(InputError, match="cannot be pulled") as caught:
        up(wrong, world_file)
    assert caught.value.exit_code == 2
    assert caught.value.where.field == "docker.image"
    assert caught.value.where.file == str(wrong.file)


def test_a_port_in_use(make, world_file):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = make(yaml=("ports: {http: 0}", f"ports: {{http: {other.getsockname()[1]}}}"))
        with pytest.raises(InputError, match="notes: a port is in use") as caught:
            up(taken, world_file)
        assert str(taken.file) in str(caught.value)


def test_the_log_is_kept(make, world_file, root):
    with up(make(), world_file) as office:
        assert "notes: listening" in office.logs("notes")
        office.runtime.stop(office._slot("notes"))
        assert office.condition("notes").state == "stopped"
        assert "notes: listening" in office.logs("notes")
        assert "notes: listening" in (root.office(office.id) / "notes" / "service.log").read_text()


def test_the_compose_file_is_true(make, world_file, engine):
    """What it says, done by hand: the seeded service, at the address that it was told."""
    environment = make()
    with up(environment, world_file) as office:
        seed = office.state("notes")
    told = compose_document([environment], world_file)["services"]["notes"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    chosen = f"${{VEPA_PORT_NOTES_HTTP:-{FIRST_PORT}}}"
    network = engine.networks.create("vepa-test-compose")
    container = engine.containers.run(
        told["image"],
        detach=True,
        environment={"VEPA_SPEC": told["environment"]["VEPA_SPEC"].replace(chosen, str(port))},
        ports={told["ports"][0].rpartition(":")[2]: ("127.0.0.1", port)},
        network=network.name,
        cap_drop=told["cap_drop"],
        security_opt=told["security_opt"],
    )
    try:
        there = Endpoint("127.0.0.1", {"http": port})
        with Connection(environment, there, load_world(world_file)) as it:
            found = until(lambda: state_or_none(it) or container.reload() or ended(container))
            assert found == seed
        assert container.exec_run(told["healthcheck"]["test"][1:]).exit_code == 0
    finally:
        container.remove(force=True)
        network.remove()


def ended(container: Any) -> str:
    return "" if container.status == "running" else container.logs().decode()


def state_or_none(connection: Connection) -> Any:
    try:
        return read_state(connection)
    except RunError:
        return None


OWNER = """
import sys, time
from pathlib import Path
from vepa.services import Office, load_environment
office = Office.start(
    [load_environment(sys.argv[1])], Path(sys.argv[2]), runtime="docker", office_id="owned"
)
print("up", flush=True)
time.sleep(600)
"""


@pytest.fixture
def owner(make: Make, world_file: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process, whose office is up."""
    argv = [sys.executable, "-c", OWNER, str(make().file), str(world_file)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "up\n"
            yield process
        finally:
            process.kill()


def test_the_owner_is_killed(owner, engine, make, world_file, root):
    assert len(containers(engine)) == len(networks(engine)) == len(reapers()) == 1
    owner.kill()
    until(lambda: containers(engine) == [])
    until(lambda: networks(engine) == [])
    until(lambda: reapers() == [])
    clean_up()
    assert list(root.offices.iterdir()) == []


def test_the_next_start_clears_up_after_a_crash(owner, engine, world_file, root):
    for reaper in reapers():
        os.kill(reaper, signal.SIGKILL)
    owner.kill()
    owner.wait()
    assert len(containers(engine)) == len(networks(engine)) == 1
    environment = load_environment(owner.args[3])
    with up(environment, world_file) as office:
        assert containers(engine) == [f"vepa-{mark()}-{office.id}-notes"]
        assert office.at_seed("notes")
        assert not root.office("owned").exists()


def test_containers_of_an_office_without_a_folder_are_lost(owner, engine, world_file, root):
    for reaper in reapers():
        os.kill(reaper, signal.SIGKILL)
    owner.kill()
    owner.wait()
    shutil.rmtree(root.office("owned"))
    DockerRuntime().ready([])
    assert containers(engine) == networks(engine) == []
