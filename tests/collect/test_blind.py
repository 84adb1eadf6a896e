"""Memory-blind: a model receives what its own task, persona and results make, and nothing else."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from listening import Heard
from tiny_tasks import materials_of, task_with, write_project

from vepa.collect import episode
from vepa.collect.collecting import Collection
from vepa.collect.orders import Materials, Order, orders_of
from vepa.collect.pool import OfficePool
from vepa.collect.settings import CollectSettings
from vepa.collect.tasks import Task
from vepa.services import Office

SCRIPTS = CollectSettings(models=["scripted"], offices=1)
TASKS = 20


def _tasks() -> Iterator[dict[str, Any]]:
    """Twenty tasks that leave different traces; the last ones would find those of the first."""
    for number in range(TASKS):
        yield task_with(
            {
                "id": f"memo-{number:02}",
                "request": f"Please add memo number {number} of the day, and list what there is.",
                "success.0.with.text": f"memo {number} of the day",
                "plans.careful.2.with.text": f"memo {number} of the day",
                "plans.careful.1.with.id": "{{ memos[-1].id }}",
                "success.1.answered": ["rent"],
            }
        )


@pytest.fixture(scope="module")
def twenty(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Task], Materials]:
    return materials_of(write_project(tmp_path_factory.mktemp("twenty"), *_tasks()))


@pytest.fixture(scope="module")
def eight(twenty: tuple[list[Task], Materials], cache: Any) -> Iterator[list[Office]]:
    _, materials = twenty
    environments = list(materials.environments.values())
    with ExitStack() as stack:
        yield [
            stack.enter_context(Office.start(environments, materials.world_file, root=cache))
            for _ in range(8)
        ]


def test_first_last_alone_or_beside_seven_others(
    twenty: tuple[list[Task], Materials],
    eight: list[Office],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tasks, materials = twenty
    orders = orders_of(tasks, SCRIPTS, materials)

    def heard(name: str, wanted: list[Order], offices: list[Office]) -> dict[str, list[bytes]]:
        ear = Heard(monkeypatch)
        pool = OfficePool([], materials.world_file, offices=offices)
        result = Collection(tmp_path / name).collect(wanted, materials, SCRIPTS, pool)
        assert result.whole
        return ear.bytes

    forwards = heard("forwards", orders, eight[:1])
    assert len(forwards) == TASKS
    assert all(len(said) == 4 for said in forwards.values())
    assert heard("backwards", orders[::-1], eight[1:2]) == forwards
    assert heard("beside", orders, eight) == forwards
    alone: dict[str, list[bytes]] = {}
    for at, order in enumerate(orders[::5]):
        alone |= heard(f"alone-{at}", [order], eight[2:3])
    assert alone == {name: forwards[name] for name in alone}


def test_no_trace_of_other_tasks_plans_or_checks(
    twenty: tuple[list[Task], Materials], eight: list[Office], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    tasks, materials = twenty
    ear = Heard(monkeypatch)
    pool = OfficePool([], materials.world_file, offices=eight[:1])
    orders = orders_of(tasks, SCRIPTS, materials)[:3]
    Collection(tmp_path).collect(orders, materials, SCRIPTS, pool)
    for name, said in ear.bytes.items():
        text = b"".join(said).decode()
        others = {task.id for task in tasks} - {name.split("/")[0]}
        words = [*others, name.split("/")[0], "careful", "scripted", "success", "unsafe", "trigger"]
        assert [word for word in words if word in text] == []
        before_acting = said[0].decode()
        own = next(task for task in tasks if task.id == name.split("/")[0])
        assert own.request.strip() in before_acting
        assert "water the plants" not in before_acting


def test_what_builds_messages_is_handed_nothing_else() -> None:
    """Policies, labels and other episodes are no arguments of the loop."""
    taken = set(inspect.signature(episode.play).parameters)
    assert taken == {
        "recorder", "task", "persona", "world", "model", "user", "prompt", "limits", "sampling",
        "gate",
    }  # fmt: skip
    source = inspect.getsource(episode)
    assert "task.request" in source
    for word in ("task.plans", "task.success", "task.unsafe", "task.planted", "task.user"):
        assert word not in source
    for module in ("vepa.policy", "vepa.guard", "vepa.evolution", "vepa.parsing", "vepa.bench"):
        assert f"from {module}" not in source
