"""Croissant: its own checker accepts the file and reads every record through it."""

from __future__ import annotations

import copy
import json
import logging
import re

import polars as pl
import pytest
from small_release import built

from vepa.files import sha256_of
from vepa.release.croissant import croissant, semantic_version
from vepa.release.describing import DESCRIBED_TABLES, columns_of
from vepa.release.layout import CROISSANT, SUMS, parquet_path
from vepa.release.records import SPLITS, TABLES

mlcroissant = pytest.importorskip("mlcroissant", reason="NOT RUN: the extra `release` is missing")
pytestmark = pytest.mark.xdist_group("release")


@pytest.fixture(scope="module")
def data(release):
    return json.loads((release / CROISSANT).read_text("utf-8"))


@pytest.fixture(scope="module")
def checked(release):
    """What the checker makes of the file, and what it logs about it."""
    logged = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: logged.append(record)
    logging.getLogger().addHandler(handler)
    try:
        return mlcroissant.Dataset(jsonld=release / CROISSANT), complaints(logged)
    finally:
        logging.getLogger().removeHandler(handler)


def complaints(logged):
    """Warnings about the file; some package lets Python's own, of outdated calls, be logged too."""
    return [record.getMessage() for record in logged if record.name != "py.warnings"]


def plain(value):
    """The checker's texts are bytes."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value.decode("utf-8") if isinstance(value, bytes) else value


def records_of(dataset, table, **how):
    cut = len(table) + 1
    return [
        {key[cut:]: plain(value) for key, value in record.items()}
        for record in dataset.records(table, **how)
    ]


def test_the_checker_has_no_complaint(checked):
    dataset, logged = checked
    assert dataset.metadata.ctx.issues.errors == set()
    assert dataset.metadata.ctx.issues.warnings == set()
    assert logged == []


@pytest.mark.parametrize("missing", ["dataType", "sha256"])
def test_the_checker_would_complain(data, tmp_path, missing):
    # The smallest table alone: the checker takes its time.
    splits, table = data["recordSet"][0], copy.deepcopy(data["recordSet"][-1])
    table["field"] = table["field"][:3]
    files = [copy.deepcopy(data["distribution"][at]) for at in (0, -1)]
    del {"dataType": table["field"][1], "sha256": files[0]}[missing][missing]
    less = {**data, "recordSet": [splits, table], "distribution": files}
    (tmp_path / CROISSANT).write_text(json.dumps(less), "utf-8")
    with pytest.raises(mlcroissant.ValidationError, match=missing):
        mlcroissant.Dataset(jsonld=tmp_path / CROISSANT)


@pytest.mark.parametrize("table", TABLES)
def test_every_record_is_read_as_it_stands_in_parquet(checked, release, table, caplog):
    with caplog.at_level(logging.WARNING):
        found = records_of(checked[0], table)
    assert complaints(caplog.records) == []
    expected = [
        {"split": split, **row}
        for split in sorted(SPLITS)
        for row in pl.read_parquet(release / parquet_path(table, split)).to_dicts()
    ]
    assert len(found) == len(expected) > 0
    assert found == expected


def test_a_split_can_be_read_alone(checked, release):
    assert [plain(each["splits/name"]) for each in checked[0].records("splits")] == list(SPLITS)
    # The checker remembers a filter, so this one is not asked again.
    filtering = mlcroissant.Dataset(jsonld=release / CROISSANT)
    found = records_of(filtering, "settled", filters={"settled/split": "validation"})
    assert {each["split"] for each in found} == {"validation"}
    assert len(found) == pl.read_parquet(release / parquet_path("settled", "validation")).height


def test_every_file_is_there_once_with_its_hash(data, release):
    objects = {each["@id"]: each for each in data["distribution"] if "sha256" in each}
    files = {
        path.relative_to(release).as_posix()
        for path in release.rglob("*")
        if path.is_file() and path.name not in (CROISSANT, SUMS)
    }
    assert set(objects) == files
    for name, each in objects.items():
        content = (release / name).read_bytes()
        assert each["sha256"] == sha256_of(content)
        assert each["contentSize"] == f"{len(content)} B"
        assert each["contentUrl"] == name


def test_every_table_and_column_is_told(data):
    told = {each["@id"]: each for each in data["recordSet"]}
    assert list(told) == ["splits", *TABLES]
    for table in TABLES:
        assert told[table]["description"] == DESCRIBED_TABLES[table]
        split, *columns = told[table]["field"]
        assert split["references"] == {"field": {"@id": "splits/name"}}
        assert {each["name"]: each["description"] for each in columns} == columns_of(table)
    lists = {each["@id"] for table in TABLES for each in told[table]["field"] if "isArray" in each}
    assert {"steps/triggers", "settled/by", "trajectories/tripped"} < lists


def test_it_names_version_licence_and_citation(data, manifest):
    assert data["version"] == semantic_version(manifest)
    assert re.fullmatch(r"1\.0\.0\+[0-9a-f]{12}", data["version"])
    assert manifest.version.endswith(data["version"].partition("+")[2])
    assert data["license"] == "https://spdx.org/licenses/Apache-2.0.html"
    assert manifest.version in data["citeAs"]


def test_the_same_release_gives_the_same_file(data, manifest, release):
    assert croissant(manifest, release) == data
    # The day on which the newest episode was collected, and no other.
    assert set(re.findall(r"\d{4}-\d\d-\d\d", json.dumps(data))) == {"2026-03-02"}
    assert str(release) not in json.dumps(data)


def test_the_same_corpus_elsewhere_gives_the_same_bytes(release, tmp_path):
    again = built(tmp_path)
    assert again.name == release.name
    names = {path.relative_to(release) for path in release.rglob("*") if path.is_file()}
    assert {path.relative_to(again) for path in again.rglob("*") if path.is_file()} == names
    differing = [
        name for name in names if (again / name).read_bytes() != (release / name).read_bytes()
    ]
    assert differing == []
