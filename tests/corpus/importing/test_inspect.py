"""Archives of Inspect: the head of a log beside its samples, and how members are compressed."""

from __future__ import annotations

import json
import sys
import zipfile
from importlib.util import find_spec

import pytest
from hand_written import imported, told

from vepa.corpus.importing import zstd
from vepa.errors import InputError

HEAD = {"version": 2, "status": "success", "eval": {"task": "greet", "model": "lab/model-a"}}
ZSTD = sys.version_info >= (3, 14) or find_spec("zstandard") is not None


def _sample(epoch, text):
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": "Good day."}]
    return {"id": "s", "epoch": epoch, "input": text, "target": "", "messages": messages}


def _log(file, head="header.json", samples=2):
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/summaries/1.json", json.dumps([{"id": "s", "epoch": 1}]))
        for epoch in range(1, samples + 1):
            sample = _sample(epoch, f"Hello {epoch}")
            archive.writestr(f"samples/s_epoch_{epoch}.json", json.dumps(sample))
        archive.writestr("summaries.json", json.dumps([{"id": "s", "epoch": 1}]))
        archive.writestr(head, json.dumps(HEAD))
    return file


@pytest.mark.parametrize("head", ["header.json", "_journal/start.json"])
def test_an_archive_gives_each_sample_with_the_head_of_its_log(head, tmp_path):
    found, report = imported(_log(tmp_path / "log.eval", head))
    assert (report.format, report.records, report.skipped) == ("inspect", 2, 0)
    assert [each.id for each in found] == ["log/greet/s/epoch-1", "log/greet/s/epoch-2"]
    assert {each.model for each in found} == {"lab/model-a"}
    assert told(found[1].steps[0]) == "user: Hello 2"


def test_epochs_come_in_the_order_of_their_numbers(tmp_path):
    found, _ = imported(_log(tmp_path / "log.eval", samples=11))
    assert [each.meta["epoch"] for each in found] == list(range(1, 12))


def test_a_document_is_streamed_and_one_bad_sample_does_not_lose_the_others(tmp_path):
    good, bad = _sample(1, "One"), {**_sample(2, "Two"), "messages": [{"role": "usher"}]}
    file = tmp_path / "log.json"
    file.write_text(json.dumps({**HEAD, "samples": [good, bad, _sample(3, "Three")]}, indent=1))
    found, report = imported(file)
    assert (report.records, report.skipped) == (3, 1)
    assert report.told[0].record == 2
    assert [told(each.steps[0]) for each in found] == ["user: One", "user: Three"]
    assert {each.model for each in found} == {"lab/model-a"}


def test_a_compression_that_cannot_be_read_is_told_with_what_to_do(tmp_path, monkeypatch):
    file = _log(tmp_path / "log.eval")
    monkeypatch.setattr(zstd, "METHOD", zipfile.ZIP_DEFLATED)
    monkeypatch.setattr(sys, "version_info", (3, 11))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(InputError, match="compressed with Zstandard") as error:
        imported(file)
    assert error.value.where.file == str(file)
    assert "inspect log convert" in error.value.remedy


@pytest.mark.skipif(not ZSTD, reason="NOT RUN: neither Python 3.14 nor the package zstandard")
def test_an_archive_of_today_is_compressed_with_zstandard(tmp_path):
    plain, file = _log(tmp_path / "plain.eval"), tmp_path / "log.eval"
    _recompress(plain, file)
    found, report = imported(file)
    assert (report.records, report.skipped) == (2, 0)
    assert [told(each.steps[0]) for each in found] == ["user: Hello 1", "user: Hello 2"]


def _recompress(plain, file):
    """The members as Inspect compresses them, two frames each; the archive's index names it so."""
    compressed = _compressor()
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(file, "w") as archive:
        for name in source.namelist():
            data = source.read(name)
            half = len(data) // 2
            archive.writestr(name, compressed(data[:half]) + compressed(data[half:]))
            info = archive.getinfo(name)
            info.compress_type, info.file_size = 93, len(data)
            info.CRC = zipfile.crc32(data)


def _compressor():
    if sys.version_info >= (3, 14):
        from compression import zstd as own

        return own.compress
    import zstandard

    return zstandard.ZstdCompressor().compress
