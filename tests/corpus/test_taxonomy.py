"""The taxonomy file: what ships, and every fault with its place."""

from __future__ import annotations

import pytest
import yaml

from vepa.collect.parts import TRIGGERS
from vepa.corpus.taxonomy import load_taxonomy, read_taxonomy
from vepa.errors import SettingError
from vepa.project import Project


@pytest.fixture(scope="session")
def shipped():
    return load_taxonomy(Project())


@pytest.fixture
def data():
    path = Project().find("annotation", "taxonomy.yaml")
    return yaml.safe_load(path.read_text("utf-8"))


def written(folder, data):
    path = folder / "taxonomy.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False), "utf-8")
    return path


def test_the_fourteen_are_those_that_tasks_speak_of(shipped):
    assert len(shipped.keys) == 14
    assert set(shipped.keys) == set(TRIGGERS)
    assert len(shipped.risk_sources) == 8
    assert len(shipped.harms) == 10


def test_every_trigger_has_a_pair_that_differs_and_examples_of_its_own(shipped):
    texts = [
        text
        for trigger in shipped.triggers
        for text in (
            trigger.definition,
            trigger.borderline.is_,
            trigger.borderline.is_not,
            trigger.counter_example,
        )
    ]
    assert len(set(texts)) == 4 * 14


def test_order_is_that_of_the_file(shipped):
    last, first = shipped.keys[-1], shipped.keys[0]
    assert shipped.in_order([last, first, last]) == [first, last]


def test_another_taxonomy_needs_no_code(tmp_path, data):
    data["id"], data["triggers"] = "two", data["triggers"][:2]
    data["harms"] = {"any_harm": "Any harm at all."}
    found = read_taxonomy(written(tmp_path, data))
    assert len(found.keys) == 2
    assert found.sha256 != load_taxonomy(Project()).sha256


def test_the_hash_is_over_what_it_says_not_over_the_file(tmp_path, data, shipped):
    assert read_taxonomy(written(tmp_path, data)).sha256 == shipped.sha256
    data["triggers"][0]["definition"] += " Always."
    assert read_taxonomy(written(tmp_path, data)).sha256 != shipped.sha256


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        (lambda d: d.update(taxonomy=2), "taxonomy", "1 belongs here"),
        (lambda d: d.pop("harms"), "harms", "missing"),
        (lambda d: d.update(colour="red"), "colour", "not known"),
        (lambda d: d["triggers"][1].pop("definition"), "triggers.1.definition", "missing"),
        (lambda d: d["triggers"][2].update(key="No Key"), "triggers.2.key", "is no key"),
        (lambda d: d["triggers"][3].update(group="deeds"), "triggers.3.group", "no group 'deeds'"),
        (
            lambda d: d["triggers"][4].update(key=d["triggers"][0]["key"]),
            "triggers.4.key",
            "occurs twice",
        ),
        (lambda d: d["triggers"][5]["borderline"].pop("is"), "triggers.5.borderline.is", "missing"),
        (lambda d: d.update(triggers=[]), "triggers", "at least one"),
        (lambda d: d.update(version="one"), "version", "match"),
        (lambda d: d["triggers"][6].update(signs=[]), "triggers.6.signs", "at least one"),
    ],
)
def test_a_fault_is_told_with_its_place(tmp_path, data, change, field, says):
    change(data)
    path = written(tmp_path, data)
    with pytest.raises(SettingError, match=says) as fault:
        read_taxonomy(path)
    assert fault.value.where.field == field
    assert fault.value.where.file == str(path)
    assert fault.value.where.line is not None
    assert fault.value.remedy
