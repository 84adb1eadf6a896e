"""The card and the datasheet: figures of the release itself, and nothing that is not so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest
import yaml
from small_release import CANARY, STORIES

from vepa.release.card import card, column_table, datasheet
from vepa.release.citing import bibtex
from vepa.release.describing import DESCRIBED_TABLES, columns_of, kinds_of
from vepa.release.frames import schema_of
from vepa.release.layout import CARD, DATASHEET, LEAKAGE, jsonl_path, parquet_path
from vepa.release.records import SPLITS, TABLES

pytestmark = pytest.mark.xdist_group("release")


@pytest.fixture
def leaks(release):
    return json.loads((release / LEAKAGE).read_text("utf-8"))


@pytest.fixture
def text(release):
    return (release / CARD).read_text("utf-8")


def head_of(text):
    assert text.startswith("---\n"), "loaders look for the head at the very first line"
    return yaml.safe_load(text.split("---\n")[1])


def table_after(text, heading):
    """The cells of the first table whose head begins with `heading`."""
    rows = text[text.index(f"| {heading} |") :].split("\n\n")[0].splitlines()
    return [[cell.strip().strip("`") for cell in row.strip("|").split("|")] for row in rows[2:]]


def lines_of(release, table, split):
    return [
        json.loads(line) for line in (release / jsonl_path(table, split)).open(encoding="utf-8")
    ]


def changed(manifest, **figures):
    return manifest.model_copy(update={"figures": {**manifest.figures, **figures}})


def test_the_head_names_every_table_and_split_once_with_files_that_are_there(release, text):
    head = head_of(text)
    assert [config["config_name"] for config in head["configs"]] == list(TABLES)
    assert [c["config_name"] for c in head["configs"] if c.get("default")] == ["steps"]
    for config in head["configs"]:
        assert [each["split"] for each in config["data_files"]] == list(SPLITS)
        assert all((release / each["path"]).is_file() for each in config["data_files"])
    assert head["license"] == "apache-2.0"
    assert head["size_categories"] == ["n<1K"]
    assert head["annotations_creators"] == ["machine-generated", "expert-generated"]


@pytest.mark.parametrize(
    ("rows", "name"),
    [(999, "n<1K"), (1000, "1K<n<10K"), (99_999, "10K<n<100K"), (10**7, "n>10M")],
)
def test_the_size_is_that_of_the_default_table(manifest, leaks, rows, name):
    counts = {**manifest.rows, "steps": {"train": rows, "validation": 0, "test": 0}}
    larger = manifest.model_copy(update={"rows": counts})
    assert head_of(card(larger, leaks))["size_categories"] == [name]


def test_what_has_no_rows_is_not_listed_for_loaders(manifest, leaks, text):
    rows = {**manifest.rows, "events_call": dict.fromkeys(SPLITS, 0)}
    rows["labels"] = {**rows["labels"], "test": 0}
    sparse = card(manifest.model_copy(update={"rows": rows}), leaks)
    listed = {each["config_name"]: each["data_files"] for each in head_of(sparse)["configs"]}
    assert list(listed) == [table for table in TABLES if table != "events_call"]
    assert [each["split"] for each in listed["labels"]] == ["train", "validation"]
    said = "empty splits and tables are not listed"
    assert said in sparse
    assert said not in text


def test_counts_are_those_of_the_files(release, text):
    for table, *numbers in table_after(text, "table"):
        heights = [pl.read_parquet(release / parquet_path(table, split)).height for split in SPLITS]
        assert [int(number) for number in numbers] == [*heights, sum(heights)]
    for split, episodes, tasks, _, _, judged, refuse in table_after(text, "split"):
        trajectories = lines_of(release, "trajectories", split)
        settled = [line["judgement"]["decision"] for line in lines_of(release, "settled", split)]
        assert int(episodes) == len(trajectories)
        assert int(tasks) == len({each["task"] for each in trajectories})
        assert int(judged) == len(settled)
        assert refuse.startswith(f"{settled.count('refuse')} (")


def test_triggers_are_counted_in_every_split(release, text):
    told = {trigger: list(map(int, counts)) for trigger, *counts in table_after(text, "trigger")}
    found = {trigger: [0, 0, 0] for trigger in told}
    for at, split in enumerate(SPLITS):
        for line in lines_of(release, "settled", split):
            for trigger in line["judgement"]["triggers"]:
                found[trigger][at] += 1
    assert told == found
    assert sum(map(sum, told.values())) == sum(story.trigger is not None for story in STORIES)


def test_it_tells_who_labelled_and_how_far_they_agree(release, text):
    given = {kind: int(count) for kind, count, _ in table_after(text, "given by")}
    origins = [line["origin"] for split in SPLITS for line in lines_of(release, "labels", split)]
    assert given == {kind: origins.count(kind) for kind in ("person", "recorded", "scripted")}
    assert "86.0 % stored answers of a real model, 12.0 % scripts that stand in" in text
    assert "**two passes of one model family: an upper bound on agreement between" in text
    assert "| a, b | decision | 24 | 0.70 | 0.25 to 0.95 |" in text
    assert "| 1.00 | no interval: resamples do not vary |" in text


def test_scripts_are_called_scripts_and_models_are_not(manifest, leaks, text):
    said = "8 of 8 episodes were played by scripts and not by models."
    assert said in text
    assert "was decided by that author: the share of `refuse` (12.5 % of the judged steps)" in text
    alive = card(changed(manifest, scripted=0, models={"openai/m": 8}), leaks)
    assert "No episode was scripted." in alive
    assert "by scripts and not by models" not in alive
    assert "8 episodes of agents at work" in alive
    assert "3 of them scripted" in card(changed(manifest, scripted=3), leaks)


def test_what_has_no_label_is_said(manifest, leaks, text):
    assert "Every call and every answer has a settled label." in text
    splits = {**manifest.figures["splits"]}
    splits["train"] = {**splits["train"], "settled": splits["train"]["settled"] - 2}
    for made in (card, datasheet):
        assert "2 calls and answers have no settled label." in made(
            changed(manifest, splits=splits), leaks
        )


def test_nobody_is_made_up(manifest, leaks, release):
    told = (release / DATASHEET).read_text("utf-8")
    assert "People gave 1 of the labels" in told
    alone = datasheet(changed(manifest, label_origins={"model": 48}), leaks)
    assert "No people: agents, users and readers are programs." in alone
    assert "100.0 % models that were asked for this corpus." in alone


def test_leaks_are_told(manifest, leaks, text):
    for finding in leaks["findings"]:
        assert f"- **{finding['level']}**: {finding['text']}" in text
    overlap = {**leaks["overlap"], "tasks": {**leaks["overlap"]["tasks"], "shared": 7}}
    assert "| tasks | 7 |" in card(manifest, {**leaks, "overlap": overlap})
    assert "`meant`" in text[text.index("No model that is to guard may see") :].split("\n\n")[1]


def test_a_name_cannot_break_a_table(manifest, leaks):
    odd = card(changed(manifest, label_models={"a | b\nc": 3}), leaks)
    assert "| a \\| b c | 3 |" in odd


def test_the_citation_names_this_version(manifest, text):
    assert bibtex(manifest) in text
    assert f"@misc{{{manifest.version}," in text
    assert manifest.content_sha256 in bibtex(manifest)
    assert "year = {2026}" in bibtex(manifest)


def test_the_datasheet_answers_every_question_it_asks(release):
    told = (release / DATASHEET).read_text("utf-8")
    assert re.findall("^## (.+)$", told, re.MULTILINE) == [
        "Motivation", "Composition", "Collection", "Preprocessing and labelling", "Uses",
        "Distribution", "Maintenance",
    ]  # fmt: skip
    asked = re.split(r"^(?=\*\*.+\?\*\*|## )", told, flags=re.MULTILINE)
    answers = [each.partition("?**")[2].strip() for each in asked if each.startswith("**")]
    assert len(answers) == told.count("?**") > 35
    assert all(len(answer) > 10 for answer in answers), "a question without an answer"


def test_the_same_release_has_the_same_words_and_no_place_or_secret(release, manifest, leaks):
    for name, made in ((CARD, card), (DATASHEET, datasheet)):
        told = (release / name).read_text("utf-8")
        assert made(manifest, leaks) == told
        assert str(release) not in told
        assert CANARY not in told
        assert "{{" not in told.replace("{{VEPA contributors}}", "")


@pytest.mark.parametrize("table", TABLES)
def test_every_column_is_described(table, text):
    assert list(columns_of(table)) == list(kinds_of(table)) == list(schema_of(table))
    assert all(meaning.strip() for meaning in columns_of(table).values())
    assert DESCRIBED_TABLES[table] in text
    assert column_table(table) in text


def test_the_docs_tell_the_same_columns():
    """Run `python -c "from vepa.release.card import column_table as t; print(t('TABLE'))"` to
    write a table of docs/releases.md anew."""
    told = (Path(__file__).parents[2] / "docs" / "releases.md").read_text("utf-8")
    missing = [table for table in TABLES if column_table(table) not in told]
    assert missing == []
