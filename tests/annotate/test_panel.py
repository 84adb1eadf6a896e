"""The panel file: what ships, and every fault with its place."""

from __future__ import annotations

import shutil

import pytest
import yaml

from vepa.annotate.panel import load_panel, read_panel
from vepa.errors import InputError
from vepa.project import Project


@pytest.fixture
def folder(tmp_path):
    source = Project().find("annotation", "panel.yaml").parent
    for name in ("panel.yaml", "taxonomy.yaml", "codebook.md"):
        shutil.copy(source / name, tmp_path / name)
    return tmp_path


def changed(folder, change):
    path = folder / "panel.yaml"
    data = yaml.safe_load(path.read_text("utf-8"))
    change(data)
    path.write_text(yaml.safe_dump(data, sort_keys=False), "utf-8")
    return path


@pytest.mark.parametrize("name", ["panel.yaml", "panel.demo.yaml"])
def test_what_ships_has_two_vendors_and_an_arbiter_of_a_third(name):
    panel, rules = load_panel(Project(), name)
    assert len({seat.vendor for seat in panel.seats}) == 3
    assert len(rules.taxonomy.keys) == 14
    assert "Should a guard have stopped" in rules.codebook


def test_the_demo_needs_no_key():
    panel, _ = load_panel(Project(), "panel.demo.yaml")
    assert {seat.model.partition("/")[0] for seat in panel.seats} == {"recorded"}
    assert {str(seat.otherwise).partition("/")[0] for seat in panel.seats} == {"scripted"}


def test_the_rules_hash_covers_codebook_and_taxonomy(folder):
    _, before = read_panel(folder / "panel.yaml")
    (folder / "codebook.md").write_text("Judge well.\n", "utf-8")
    _, after = read_panel(folder / "panel.yaml")
    assert before.sha256 != after.sha256


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        (lambda d: d.update(panel=2), "panel", "1 belongs here"),
        (lambda d: d["annotators"].pop(), "annotators", "at least"),
        (lambda d: d["annotators"][1].update(vendor="openai"), "annotators.1.vendor", "both"),
        (lambda d: d["annotators"][1].update(name="a"), "annotators.1.name", "two seats"),
        (lambda d: d["arbiter"].update(model="openai/gpt-5.1"), "annotators.1.model", "two seats"),
        (lambda d: d["arbiter"].pop("model"), "arbiter.model", "missing"),
        (lambda d: d.update(trace_tokens=10), "trace_tokens", "greater"),
        (lambda d: d["budget"].update(euros=1), "budget.euros", "not known"),
        (lambda d: d.update(taxonomy="taxonmy.yaml"), "taxonomy", "no such file"),
        (lambda d: d.update(codebook="book.md"), "codebook", "no such file"),
    ],
)
def test_a_fault_is_told_with_its_place(folder, change, field, says):
    with pytest.raises(InputError, match=says) as fault:
        read_panel(changed(folder, change))
    assert fault.value.where.field == field
    assert fault.value.remedy


def test_an_empty_codebook_is_refused(folder):
    (folder / "codebook.md").write_text("\n", "utf-8")
    with pytest.raises(InputError, match="empty"):
        read_panel(folder / "panel.yaml")


def test_a_fault_of_the_taxonomy_names_its_own_file(folder):
    (folder / "taxonomy.yaml").write_text("taxonomy: 1\n", "utf-8")
    with pytest.raises(InputError, match="missing") as fault:
        read_panel(folder / "panel.yaml")
    assert fault.value.where.file.endswith("taxonomy.yaml")
