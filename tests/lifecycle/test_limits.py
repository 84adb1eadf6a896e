"""Which limits of a Prefect server the tasks of a profile wait for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tiny_office import ROOT

from vepa.errors import SettingError
from vepa.lifecycle.limits import AskedModels, asked_models, limits_of

SEATS = [
    {"name": "a", "vendor": "one", "model": "openai/gpt-x"},
    {"name": "b", "vendor": "two", "model": "recorded/pass", "otherwise": "anthropic/claude-x"},
]
ARBITER = {"name": "c", "vendor": "three", "model": "gemini/pro"}


def written(folder: Path, annotate: dict[str, object] | None) -> Path:
    """A profile with real models, and its panel."""
    (folder / "annotation").mkdir(parents=True)
    for name in ("taxonomy.yaml", "codebook.md"):
        (folder / "annotation" / name).write_bytes((ROOT / "annotation" / name).read_bytes())
    panel = {"panel": 1, "annotators": SEATS, "arbiter": ARBITER}
    (folder / "annotation/real.yaml").write_text(yaml.safe_dump(panel))
    (folder / "flows/profiles").mkdir(parents=True)
    profile = {
        "title": "Real models",
        "events": ["some.events.jsonl"],
        "corpus": {"collect": {"models": ["scripted", "openai/gpt-x"], "user": "ollama/llama"}},
    }
    blocks = {**profile, **({} if annotate is None else {"annotate": annotate})}
    (folder / "flows/profiles/real.yaml").write_text(yaml.safe_dump(blocks))
    return folder


def test_each_provider_once_and_none_offline() -> None:
    models = ["openai/gpt-x", None, "scripted", "scripted/user", "recorded/pass-a", "openai/o9"]
    assert limits_of([*models, "anthropic/claude-x"]) == ["vepa-anthropic", "vepa-openai"]


def test_of_a_profile_with_real_models(tmp_path: Path) -> None:
    folder = written(tmp_path / "project", {"panel": "real.yaml"})
    seats = {"a": ["vepa-openai"], "b": ["vepa-anthropic"], "c": ["vepa-gemini"]}
    asked = asked_models("real", str(folder))
    assert asked == AskedModels(["vepa-ollama", "vepa-openai"], seats, ["vepa-gemini"])


def test_no_arbiter_is_asked_where_people_settle(tmp_path: Path) -> None:
    folder = written(tmp_path / "project", {"panel": "real.yaml", "arbiter": False})
    assert asked_models("real", str(folder)).arbiter == []


def test_without_a_panel_only_the_collection_asks(tmp_path: Path) -> None:
    asked = asked_models("real", str(written(tmp_path / "project", None)))
    assert asked == AskedModels(["vepa-ollama", "vepa-openai"])


def test_the_demo_asks_nobody() -> None:
    assert asked_models("demo", str(ROOT)) == AskedModels([], {"a": [], "b": [], "c": []}, [])


def test_a_wrong_block_is_told(tmp_path: Path) -> None:
    folder = written(tmp_path / "project", {"pannel": "real.yaml"})
    with pytest.raises(SettingError) as told:
        asked_models("real", str(folder))
    assert told.value.where.field == "annotate.pannel"


def test_who_asks_nobody_needs_no_prefect() -> None:
    code = (
        "import sys\nfrom vepa.lifecycle.limits import within\n"
        "with within([]):\n    pass\nprint('prefect' in sys.modules, 'litellm' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["False", "False"]
