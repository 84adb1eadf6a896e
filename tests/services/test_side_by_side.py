"""Many at once, twice the same, and killed in the middle: offices do not touch each other."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, zip_longest
from pathlib import Path

import pytest
from the_nine import NINE
from tiny_office import cache_folder

from vepa.services import Environment, Office, clean_up
from vepa.services.places import Places, places
from vepa.services.recording import Recorder
from vepa.services.runtimes import processes

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

CALLS_OF_AN_EPISODE = 30
WORKERS, CALLS_OF_A_WORKER = 8, 15
#: The one that workers write to, and two more; all nine take 8 s of CPU to start.
FEW = ("database", "files", "tickets")
#: Those whose servers have processes of their own, and one that has none.
FORKING = ("chat", "database", "files")


@pytest.fixture(scope="module")
def other(nine: dict[str, Environment], world_file: Path) -> Iterator[Office]:
    """A second office beside `office`."""
    with Office.start(list(nine.values()), world_file) as running:
        yield running


def few_and_nine(few: tuple[str, ...]) -> pytest.MarkDecorator:
    """A test of a few services; of all nine in the long checks."""
    params = [few, pytest.param(NINE, marks=pytest.mark.slow)]
    return pytest.mark.parametrize("names", params, ids=["few", "nine"])


@pytest.fixture
def some(names: tuple[str, ...], nine: dict[str, Environment]) -> dict[str, Environment]:
    return {name: nine[name] for name in names}


@pytest.fixture
def pair(some: dict[str, Environment], world_file: Path) -> Iterator[tuple[Office, Office]]:
    with (
        Office.start(list(some.values()), world_file) as one,
        Office.start(list(some.values()), world_file) as two,
    ):
        yield one, two


def episode(nine: dict[str, Environment]) -> list[tuple[str, dict]]:
    """Thirty calls over all services, in turn: reads, writes and removals."""
    columns = []
    for environment in nine.values():
        reads = [tool for tool in environment.tools if tool.effect == "read"]
        writes = [tool for tool in environment.tools if tool.effect != "read"]
        mixed = chain.from_iterable(zip_longest(reads, writes, reads))
        columns.append([(tool.name, tool.examples[0]) for tool in mixed if tool])
    calls = [call for call in chain.from_iterable(zip_longest(*columns)) if call]
    return calls[:CALLS_OF_AN_EPISODE]


def record(office: Office, calls: list[tuple[str, dict]], role: str):
    with Recorder(office, role, "episode") as recorder:
        recorder.user("Work through the list.")
        for tool, arguments in calls:
            recorder.call(tool, arguments)
        return recorder.trajectory()


@pytest.mark.slow  # test_contract resets every service, test_blind compares what models receive
def test_the_same_episode_reads_the_same_after_a_reset_and_in_another_office(office, other, nine):
    calls = episode(nine)
    assert len(calls) == CALLS_OF_AN_EPISODE
    assert {tool.split("_")[0] for tool, _ in calls} == set(nine)
    first = record(office, calls, "it")
    report = office.reset()
    second = record(office, calls, "it")
    office.reset()
    third = record(other, calls, "it")
    other.reset()
    told = [[step.result.content for step in each.steps[1:]] for each in (first, second, third)]
    assert told[0] == told[1] == told[2]
    assert first.content_hash == second.content_hash == third.content_hash
    assert sum(step.result.ok for step in first.steps[1:]) > CALLS_OF_AN_EPISODE / 2
    assert len(report.reset) >= 5
    assert report.unexpected == ()


@pytest.mark.slow  # test_contract.py holds each service to it in every run
def test_after_a_reset_every_service_is_at_its_seed(office, nine):
    record(office, episode(nine), "manager")
    office.reset()
    assert [name for name in nine if not office.at_seed(name)] == []


def open_descriptors() -> int:
    """Files and sockets that this process holds."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def _work(office: Office, number: int, some: dict[str, Environment]) -> list[str]:
    """Calls of one worker: reads everywhere, and files that carry the office's name."""
    draw = random.Random(number)
    reads = [
        tool for environment in some.values() for tool in environment.tools if tool.effect == "read"
    ]
    failed = []
    with office.session(key=f"worker-{number}") as session:
        for at in range(CALLS_OF_A_WORKER):
            if at % 5 == 0:
                name = f"{office.id}-{number}-{at}"
                outcome = session.call(
                    "files_write", {"path": f"/Team/{name}.txt", "text": f"by {name}"}
                )
                again = session.call("files_read", {"path": f"/Team/{name}.txt"})
                if f"by {name}" not in again.content:
                    failed.append(again.content)
            else:
                tool = draw.choice(reads)
                outcome = session.call(tool.name, tool.examples[0])
            if not outcome.ok:
                failed.append(outcome.content)
    return failed


@few_and_nine(FEW)
def test_two_offices_and_eight_workers_do_not_touch_each_other(pair, some):
    office, other = offices = pair
    ports = [
        port for each in offices for name in some for port in each.endpoint(name).ports.values()
    ]
    assert len(set(ports)) == len(ports)
    descriptors = open_descriptors()
    with ThreadPoolExecutor(WORKERS) as pool:
        jobs = [pool.submit(_work, offices[number % 2], number, some) for number in range(WORKERS)]
        assert [problem for job in jobs for problem in job.result()] == []
    assert open_descriptors() <= descriptors
    for mine, others in ((office, other), (other, office)):
        seen = str(mine.state("files"))
        assert mine.id in seen
        assert others.id not in seen
        assert mine.reset().reset == ("files",)
        assert mine.at_seed("files")


KILLED = """
import sys
from pathlib import Path
from vepa.services import Office, load_environment
office = Office.start([load_environment(each) for each in sys.argv[2:]], Path(sys.argv[1]))
print(office.id, flush=True)
with office.session() as session:
    while True:
        for environment in office.environments.values():
            tool = environment.tools[0]
            session.call(tool.name, tool.examples[0])
"""


@pytest.fixture
def own(nine: dict[str, Environment]) -> Iterator[Places]:
    """A cache where nobody else sweeps; it borrows software, and snapshots of other offices."""
    shared = places()
    with cache_folder() as made:
        made.services.symlink_to(shared.services)
        made.snapshots.symlink_to(shared.snapshots)
        yield made


@few_and_nine(FORKING)
def test_kill_9_in_the_middle_leaves_nothing_and_the_next_start_works(own, some, world_file):
    seed = random.randrange(10**6)
    files = [str(environment.file) for environment in some.values()]
    killed = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(world_file), *files],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "VEPA_CACHE": str(own.root)},
    )
    try:
        assert killed.stdout is not None
        office = killed.stdout.readline().strip()
        assert {each.service for each in processes.launchers(own.root, [office])} == set(some)
        time.sleep(random.Random(seed).uniform(0, 2))
    finally:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        killed.stdout.close()
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and running(own):
        time.sleep(0.1)
    assert running(own) == [], f"seed of the moment: {seed}"
    folder: Path = own.office(office)
    assert folder.exists()
    clean_up(own)
    assert not folder.exists()
    descriptors = open_descriptors()
    with Office.start(list(some.values()), world_file, office_id=office, root=own) as again:
        assert [name for name in some if again.condition(name).state != "running"] == []
    assert not folder.exists()
    assert running(own) == []
    assert open_descriptors() <= descriptors


def running(cache: Places) -> list[processes.Marked]:
    """What runs of a cache's offices."""
    return [*processes.launchers(cache.root), *processes.leftovers(cache.root)]
