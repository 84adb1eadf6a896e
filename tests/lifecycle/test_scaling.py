"""The block `scale` of a profile, and the runners that it names."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from vepa.bench.runs.profile import corpus_profile
from vepa.errors import MissingExtraError, SettingError
from vepa.lifecycle import scaling
from vepa.lifecycle.profile import ScaleProfile, read_lifecycle


def written(folder: Path, scale: Any, **more: Any) -> Path:
    """A profile with the block as its last lines."""
    blocks = {"events": ["x.jsonl"], "corpus": {"collect": {"offices": 5}, "evolve": {}}, **more}
    file = folder / "p.yaml"
    file.write_text(yaml.safe_dump(blocks) + ("" if scale is None else scale))
    return file


@pytest.fixture
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "find_spec", lambda name: name)


@pytest.mark.usefixtures("_installed")
@pytest.mark.parametrize(
    ("block", "runner", "workers", "address"),
    [
        (None, "threads", 5, None),
        ("scale: {runner: dask}\n", "dask", 5, None),
        ("scale: {runner: ray, workers: 3, dashboard: true}\n", "ray", 3, None),
        (
            "scale: {runner: dask, address: 'tcp://10.0.0.5:8786'}\n",
            "dask",
            5,
            "tcp://10.0.0.5:8786",
        ),
        ("scale: {runner: ray, address: 'ray://head:10001'}\n", "ray", 5, "ray://head:10001"),
        ("scale: {runner: ray, address: 'head:6379'}\n", "ray", 5, "head:6379"),
    ],
)
def test_the_block_is_read(
    tmp_path: Path, block: str | None, runner: str, workers: int, address: str | None
) -> None:
    scale = scaling.scale_of(str(written(tmp_path, block)))
    assert (scale.runner, scale.workers, scale.address) == (runner, workers, address)
    assert scale.apart == (runner != "threads")


@pytest.mark.parametrize(
    ("block", "field", "told"),
    [
        ("scale: {runner: dusk}\n", "scale.runner", "dask"),
        ("scale: {runner: dask, worker: 3}\n", "scale.worker", "did you mean 'workers'"),
        ("scale: {runner: dask, workers: 0}\n", "scale.workers", "1"),
        ("scale: {workers: 3}\n", "scale", "name `runner: dask`"),
        ("scale: {runner: dask, address: '10.0.0.5:8786'}\n", "scale", "tcp://HOST:8786"),
        ("scale: {runner: ray, address: auto}\n", "scale", "ray://HOST:10001"),
        ("scale: {runner: ray, address: 'h:1', dashboard: true}\n", "scale", "its own dashboard"),
    ],
)
def test_a_wrong_block_is_told_with_line_and_field(
    tmp_path: Path, block: str, field: str, told: str
) -> None:
    file = written(tmp_path, block)
    _, (wrong,) = read_lifecycle(file)
    last = len(file.read_text().splitlines())
    assert (wrong.where.field, wrong.where.line) == (field, last)
    assert told in str(wrong)
    assert wrong.remedy
    with pytest.raises(SettingError):
        scaling.scale_of(str(file))


def test_without_a_corpus_there_is_nothing_to_scale(tmp_path: Path) -> None:
    _, (wrong,) = read_lifecycle(written(tmp_path, "scale: {runner: dask}\n", corpus=None))
    assert "needs a block `corpus`" in wrong.message


def test_the_corpus_policy_knows_nothing_of_it(tmp_path: Path) -> None:
    plain, apart = (
        corpus_profile(written(tmp_path, block), "p", tmp_path / "e.jsonl")
        for block in (None, "scale: {runner: dask}\n")
    )
    assert plain == apart is not None


@pytest.mark.parametrize("runner", ["dask", "ray"])
def test_a_missing_package_names_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runner: str
) -> None:
    monkeypatch.setattr(scaling, "find_spec", lambda name: None)
    file = written(tmp_path, f"scale: {{runner: {runner}}}\n")
    for call in (
        lambda: scaling.scale_of(str(file)),
        lambda: scaling.task_runner(ScaleProfile.model_validate({"runner": runner})),
    ):
        with pytest.raises(MissingExtraError) as caught:
            call()
        assert (caught.value.package, caught.value.extra) == (f"prefect-{runner}", "scale")
    assert scaling.scale_of(str(written(tmp_path, None))).runner == "threads"


@pytest.mark.slow  # imports Prefect
@pytest.mark.parametrize("runner", ["dask", "ray"])
def test_a_runner_keeps_to_loopback_and_tells_nobody(
    monkeypatch: pytest.MonkeyPatch, runner: Any
) -> None:
    if find_spec(f"prefect_{runner}") is None:
        pytest.skip("NOT RUN: the extra `scale` is not installed")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "1")
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "1")
    made: Any = scaling.task_runner(ScaleProfile(runner=runner, workers=2))
    if runner == "dask":
        assert made.cluster_kwargs["host"] == "127.0.0.1"
        assert made.cluster_kwargs["dashboard_address"] is None
        assert (made.cluster_kwargs["processes"], made.cluster_kwargs["n_workers"]) == (True, 2)
        return
    import os

    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
    assert os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] == "0"
    assert made.init_kwargs["address"] == "local"
    assert made.init_kwargs["include_dashboard"] is False
