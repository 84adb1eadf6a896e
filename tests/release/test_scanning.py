"""The scanner: every planted secret is found, the corpus as it is seeded is clean."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from planted_secrets import KINDS, planted
from small_release import CANARIES, CANARY

from vepa.errors import InputError
from vepa.release.layout import MANIFEST, SUMS, jsonl_path
from vepa.release.scanning import scan, scan_or_refuse
from vepa.services.world import load_world

pytestmark = pytest.mark.xdist_group("release")


def lines(folder, *records, name="records.jsonl"):
    """A file with these records; the folder."""
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    (folder / name).write_text(text, "utf-8")
    return folder


def only(folder, text, canaries=CANARIES):
    """The one find in a record that says this."""
    (found,) = scan(lines(folder, {"text": text}), canaries)
    return found


@pytest.mark.parametrize(
    "rounds", [12, pytest.param(600, marks=pytest.mark.slow)], ids=["few", "many"]
)
@pytest.mark.parametrize("name", KINDS)
def test_a_secret_of_any_kind_is_found_wherever_it_stands(tmp_path, name, rounds):
    word, make = KINDS[name]
    chance = random.Random(f"{name} {rounds}")
    secrets = [make(chance) for _ in range(rounds)]
    found = scan(lines(tmp_path, *(planted(each, chance) for each in secrets)), CANARIES)
    right = {each.line for each in found if word in each.kind}
    assert [secrets[at - 1] for at in range(1, rounds + 1) if at not in right] == []
    assert not [each for each in found if secrets[each.line - 1] in f"{each.field} {each}"]


def test_a_clean_release_holds_nothing(release):
    assert scan(release, CANARIES) == []


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.slow)])
def test_what_the_project_seeds_and_asks_holds_nothing(tmp_path, every):
    root = Path(__file__).parents[2]
    world = root / "environments/world.yaml"
    files = [world, *sorted(root.glob("tasks/*/*.yaml"))[::every], *root.glob("personas/*.yaml")]
    assert len(files) > 180 / every
    texts = ({"text": path.read_text("utf-8")} for path in files)
    found = scan(lines(tmp_path, *texts), load_world(world).canaries())
    assert [(files[each.line - 1].name, str(each)) for each in found] == []


@pytest.mark.parametrize(
    "text", [CANARY, CANARY.lower(), f"key={CANARY}", "VEPA-SEED-TINY", "VEPA-SEED-TI"]
)
def test_a_listed_canary_and_its_beginning_may_stand(tmp_path, text):
    assert scan(lines(tmp_path, {"text": text, "password": text}), CANARIES) == []


@pytest.mark.parametrize("text", [f"{CANARY}X", f"{CANARY}-B3", "VEPA-SEED-TIM", "vepa-seed-other"])
def test_what_only_looks_like_a_listed_canary_may_not(tmp_path, text):
    assert "canary" in only(tmp_path, text).kind


def test_a_find_names_its_place_and_never_says_the_secret(tmp_path):
    secret = "hunter" + "2222"
    record = {"id": "t/1", "steps": [{"arguments": {"password": secret}}]}
    (found,) = scan(lines(tmp_path, {"id": "t/0"}, record), CANARIES)
    assert (found.file, found.line, found.record) == ("records.jsonl", 2, "t/1")
    assert found.field == "steps.0.arguments.password"
    assert secret not in f"{found} {found.remedy}"
    assert "10 characters" in found.excerpt


@pytest.mark.parametrize(
    "text",
    [
        "password: the new one", "token: none", "access_token#4", "the token is gone",
        "see notes.md, deploy.sh, p.id and i.status", "at 2026-03-02T09:00:00Z",
        "1796037165433", "DE00TEST0000001001", "bela@harbourlight.test", "10.0.0.7 and 127.0.0.1",
        "https://login.git-harbourlight.example/keep", "http://localhost:8080/x", "/Team/drill.sh",
        "4111 1111 1111 1112", "DE89370400440532013001", "jane@example.org",
        "a8446dee263a7f68a0254e0edc008f17f1d38500253e462ae175e085988b2e70",
    ],
)  # fmt: skip
def test_what_a_corpus_is_full_of_is_no_secret(tmp_path, text):
    assert scan(lines(tmp_path, {"text": text}), CANARIES) == []


def test_two_in_a_row_are_told_apart(tmp_path):
    cards = "1796037165433 4111 1111 1111 1111"
    assert "payment card" in only(tmp_path, cards).kind
    accounts = "DE00TEST0000000001 DE89 3704 0044 0532 0130 00"
    assert "IBAN" in only(tmp_path, accounts).kind


def test_documents_may_name_public_places_and_records_may_not(tmp_path):
    (tmp_path / "README.md").write_text("Form: https://mlcommons.org/croissant\n", "utf-8")
    (tmp_path / MANIFEST).write_text(json.dumps({"url": "https://arxiv.org/abs/1"}), "utf-8")
    assert scan(tmp_path, CANARIES) == []
    assert "address" in only(tmp_path, "https://arxiv.org/abs/1").kind


def test_a_document_is_told_with_its_line(tmp_path):
    (tmp_path / "README.md").write_text("# Card\n\nAsk jane@gmail.com.\n", "utf-8")
    data = {"figures": 1, "note": "ask joe@gmail.com"}
    (tmp_path / MANIFEST).write_text(json.dumps(data, indent=1), "utf-8")
    card, manifest = scan(tmp_path, CANARIES)
    assert (card.file, card.line, card.column) == ("README.md", 3, 5)
    assert (manifest.file, manifest.line, manifest.field) == (MANIFEST, 3, "note")


def test_a_file_that_cannot_be_read_as_text_is_no_part_of_a_release(tmp_path):
    (tmp_path / "picture.bin").write_bytes(b"\x00\x01")
    (tmp_path / "alone.parquet").write_bytes(b"PAR1\xff\x00")
    assert [each.file for each in scan(tmp_path, ())] == ["alone.parquet", "picture.bin"]


def test_a_release_with_a_secret_is_refused(tmp_path):
    secret = "gh" + "p_" + "a1B2" * 9
    name = jsonl_path("steps", "train")
    (tmp_path / name).parent.mkdir(parents=True)
    lines(tmp_path, {"trajectory": "t/0", "text": f"use {secret}", "thought": "jane@gmail.com"},
          name=name)  # fmt: skip
    (tmp_path / SUMS).write_text("", "utf-8")
    with pytest.raises(InputError) as refused:
        scan_or_refuse(tmp_path, CANARIES)
    where = refused.value.where
    assert (where.file, where.line, where.field) == (name, 1, "text")
    assert "GitHub token" in refused.value.message
    assert "1 more" in refused.value.message
    assert "t/0" in str(refused.value.remedy)
    assert secret not in str(refused.value)
