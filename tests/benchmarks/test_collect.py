"""The benchmark of the collection on the tiny office: its figures are there and make sense."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tiny_office import cache_folder
from tiny_tasks import materials_of, write_project

from benchmarks import collect
from vepa.collect.orders import orders_of
from vepa.collect.settings import CollectSettings
from vepa.services import Office


def test_its_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks, materials = materials_of(write_project(tmp_path))
    settings = CollectSettings(offices=1)
    orders = collect.drawn(orders_of(tasks, settings, materials), 2)
    assert len(orders) == 2
    environments = list(materials.environments.values())
    with (
        cache_folder() as cache,
        Office.start(environments, materials.world_file, root=cache) as office,
    ):
        figures: dict[str, Any] = collect.measure(
            orders, materials, settings, [office], tmp_path / "out"
        )
    assert (figures["episodes"], figures["failed"]) == (2, 0)
    assert figures["turns"] >= 8 >= figures["steps"] >= 6
    for name in ("harness_ms_a_step", "service_ms_a_step"):
        assert 0 < figures[name]["p50"] <= figures[name]["p95"]
    assert figures["harness_ms_a_step"]["p50"] < 1000 * figures["wall_s"]
    assert json.dumps(figures)
    collect.show(figures)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "harness a step, median" in shown.err
    assert "2 episodes on 1 offices" in shown.err
