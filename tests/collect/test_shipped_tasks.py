"""The tasks that ship: enough of everything, no two alike, and each proved on the real services."""

from __future__ import annotations

import os
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from vepa.collect.materials import assemble
from vepa.collect.orders import Materials
from vepa.collect.tasks import TEMPERAMENTS, Task, matching
from vepa.collect.tasks.balance import alike, repeated, weigh
from vepa.collect.tasks.checking import TaskReport
from vepa.collect.tasks.proving import prove
from vepa.project import Project
from vepa.services import Office
from vepa.services.runtimes.process_runtime import ProcessRuntime

#: Drawn anew in every run; the slow test proves them all.
SAMPLE = 20
#: Triggers whose content must be an inert stand-in.
INERT = ("generation_of_harmful_offensive_content", "instruction_for_harmful_illegal_activity",
         "generation_of_malicious_executables")  # fmt: skip


@pytest.fixture(scope="module")
def shipped() -> tuple[list[Task], Materials]:
    return assemble(Project())


@pytest.fixture(scope="module")
def files() -> dict[str, Path]:
    return matching(Project())


def test_there_are_enough_of_each(shipped: tuple[list[Task], Materials]) -> None:
    tasks, materials = shipped
    found = weigh(tasks)
    assert found.tasks >= 170
    assert 0.4 <= found.clean / found.tasks <= 0.6
    assert found.crossing >= found.tasks / 3
    assert {name: count for name, count in found.triggers.items() if count < 6} == {}
    assert len(found.environments) == 9
    assert {name: count for name, count in found.environments.items() if count < 10} == {}
    assert found.median_calls >= 4
    assert set(found.temperaments) == set(TEMPERAMENTS)
    assert len(materials.personas) >= 12
    assert len(found.personas) >= 12


def test_no_two_are_alike(shipped: tuple[list[Task], Materials]) -> None:
    tasks, _ = shipped
    assert list(alike(tasks)) == []
    assert list(repeated(tasks)) == []


def test_the_corpus_is_large_enough(shipped: tuple[list[Task], Materials]) -> None:
    tasks, _ = shipped
    assert sum(len(task.plans) for task in tasks) >= 240


def test_nothing_in_them_leads_out_or_works(files: dict[str, Path]) -> None:
    for name, path in files.items():
        text = path.read_text("utf-8")
        hosts = re.findall(
            r"@([a-z0-9.-]+\.[a-z]{2,})\b|https?://([a-z0-9.-]+)", text, re.IGNORECASE
        )
        foreign = {
            host
            for pair in hosts
            for host in pair
            if host and not host.rstrip(".").endswith((".test", ".example"))
        }
        assert foreign == set(), name
        assert re.search(r"\b(sk-[A-Za-z0-9]{16,}|AKIA[0-9A-Z]{16}|ghp_\w{20,})\b", text) is None, (
            name
        )


def test_harmful_content_is_a_stand_in(
    shipped: tuple[list[Task], Materials], files: dict[str, Path]
) -> None:
    for task in shipped[0]:
        if set(INERT) & set(task.triggers):
            text = files[task.id].read_text("utf-8").casefold()
            assert "withheld" in text or "inert" in text, task.id


@pytest.fixture(scope="module")
def nine(shipped: tuple[list[Task], Materials]) -> Iterator[Office]:
    _, materials = shipped
    environments = list(materials.environments.values())
    ProcessRuntime().install(environments)
    with Office.start(environments, materials.world_file) as office:
        yield office


def _problems(reports: list[TaskReport]) -> list[str]:
    return [
        f"{report.task}: {each.code}: {each.place}: {each.message}"
        for report in reports
        for each in report.problems
    ]


@pytest.fixture(scope="module")
def sample(shipped: tuple[list[Task], Materials]) -> list[Task]:
    seed = int(os.environ.get("VEPA_TEST_SEED", random.randrange(10**6)))
    sys.stderr.write(f"VEPA_TEST_SEED={seed}\n")
    return random.Random(seed).sample(shipped[0], SAMPLE)


@pytest.mark.integration
@pytest.mark.xdist_group("shipped-tasks")
@pytest.mark.parametrize("part", range(4))
def test_a_sample_does_what_it_says(
    shipped: tuple[list[Task], Materials], nine: Office, sample: list[Task], part: int
) -> None:
    _, materials = shipped
    reports = list(prove([nine], sample[part::4], materials.personas, materials.prompts))
    assert len(reports) == SAMPLE // 4
    assert _problems(reports) == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_task_does_what_it_says(shipped: tuple[list[Task], Materials], nine: Office) -> None:
    tasks, materials = shipped
    reports = list(prove([nine], tasks, materials.personas, materials.prompts))
    assert len(reports) == len(tasks)
    assert _problems(reports) == []
