"""Memory-blind on the real services: order, offices and company of an episode change no byte."""

from __future__ import annotations

import os
import random
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from listening import Heard

from vepa.collect.collecting import Collection
from vepa.collect.materials import assemble
from vepa.collect.orders import Order, environments_for, orders_of
from vepa.collect.pool import OfficePool
from vepa.collect.settings import CollectSettings
from vepa.corpus.episode import stream_episodes
from vepa.project import Project
from vepa.services import Office
from vepa.services.runtimes.process_runtime import ProcessRuntime

TASKS = 20


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_twenty_tasks_first_last_alone_and_beside_seven_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = int(os.environ.get("VEPA_TEST_SEED", random.randrange(10**6)))
    sys.stderr.write(f"VEPA_TEST_SEED={seed}\n")
    tasks, materials = assemble(Project())
    tasks = random.Random(seed).sample(tasks, TASKS)
    settings = CollectSettings(offices=1)
    orders = orders_of(tasks, settings, materials)
    environments = environments_for(tasks, materials)
    ProcessRuntime().install(environments)

    with ExitStack() as stack:
        offices = [
            stack.enter_context(Office.start(environments, materials.world_file)) for _ in range(8)
        ]

        def heard(
            name: str, wanted: list[Order], where: list[Office]
        ) -> tuple[dict[str, list[bytes]], dict[str, str]]:
            ear = Heard(monkeypatch)
            pool = OfficePool([], materials.world_file, offices=where)
            folder = tmp_path / name
            result = Collection(folder).collect(wanted, materials, settings, pool)
            assert result.whole, result.failures
            found = stream_episodes(folder / "episodes")
            return ear.bytes, {each.id: each.content_hash for each in found}

        forwards = heard("forwards", orders, offices[:1])
        assert len(forwards[0]) == len(orders) >= TASKS
        assert heard("backwards", orders[::-1], offices[1:2]) == forwards
        assert heard("beside", orders, offices) == forwards
        alone = heard("alone", orders[-1:], offices[2:3])
        assert alone[0] == {orders[-1].id: forwards[0][orders[-1].id]}
