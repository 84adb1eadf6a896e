"""Files of a benchmark come from upstream or from a path, whole and checked, or not at all."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from upstream import Upstream, cut, endless, gives, leads_to, says

from vepa.corpus.benchmarks import Benchmark, downloads, fetch, is_fetched, place_of
from vepa.corpus.importing import Import
from vepa.errors import InputError, RunError, SettingError
from vepa.files import sha256_of


def body(*numbers: int) -> bytes:
    """A file of R-Judge with records of these numbers."""
    turns = [{"role": "user", "content": "Hello"}]
    records = [{"id": n, "contents": [turns], "label": n % 2} for n in numbers]
    return json.dumps(records).encode()


BODY = body(1, 2, 3)
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"


@pytest.fixture
def upstream():
    with Upstream() as running:
        yield running


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def bench(upstream: Upstream | None, *names: str, **first: object) -> Benchmark:
    """A benchmark whose files are at the stand-in."""
    files: list[dict[str, object]] = [{"name": name} for name in names or ("all.json",)]
    files[0] |= first
    return Benchmark.model_validate(
        {
            "name": "mine",
            "title": "Mine",
            "format": "rjudge",
            "home": "https://bench.example/",
            "address": upstream.address if upstream else "https://bench.example/",
            "licence": "CC0-1.0",
            "citation": "Nobody, Nothing, 2025",
            "files": files,
        }
    )


def left(cache: Path) -> list[str]:
    """What is in the cache, temporary things included."""
    return sorted(
        str(path.relative_to(cache / "benchmarks")) for path in cache.rglob("*") if path.is_file()
    )


@pytest.mark.parametrize("told", [True, False])
def test_a_file_is_downloaded_once_and_pinned(upstream, cache, told):
    upstream.does["/all.json"] = gives(BODY, told=told)
    notes: list[str] = []
    mine = bench(upstream)
    assert not is_fetched(mine, cache)
    found = fetch(mine, cache=cache, note=notes.append)
    assert found.path == place_of(mine, cache) == cache / "benchmarks/mine/all.json"
    assert found.path.read_bytes() == BODY
    assert (found.records, found.new, found.pinned) == (3, ("all.json",), ("all.json",))
    assert found.sums == {"all.json": sha256_of(BODY)}
    assert notes[0].startswith(f"downloading {upstream.address}all.json")
    assert "CC0-1.0" in notes[0]
    assert sha256_of(BODY) in notes[1]
    again = fetch(mine, cache=cache)
    assert (again.new, again.pinned, again.sums) == ((), (), found.sums)
    assert upstream.asked == ["/all.json"]
    assert is_fetched(mine, cache)
    assert [each.id for each in Import(found.path)] == ["r-judge/1", "r-judge/2", "r-judge/3"]


def test_several_files_are_a_folder(upstream, cache):
    upstream.does |= {"/a/x.json": gives(body(1)), "/b/y.json": gives(body(2, 3))}
    found = fetch(bench(upstream, "a/x.json", "b/y.json"), cache=cache)
    assert found.path == cache / "benchmarks/mine"
    assert found.records == 3
    assert [each.id for each in Import(found.path)] == ["r-judge/1", "r-judge/2", "r-judge/3"]


def test_what_came_before_a_fault_stays_and_is_not_asked_for_again(upstream, cache):
    upstream.does["/a.json"] = gives(body(1))
    mine = bench(upstream, "a.json", "b.json")
    with pytest.raises(RunError, match="404"):
        fetch(mine, cache=cache)
    assert left(cache) == ["mine.pins.json", "mine/a.json"]
    upstream.does["/b.json"] = gives(body(2))
    assert fetch(mine, cache=cache).new == ("b.json",)
    assert upstream.asked == ["/a.json", "/b.json", "/b.json"]


def test_a_listed_checksum_holds(upstream, cache):
    upstream.does["/all.json"] = gives(BODY)
    found = fetch(bench(upstream, sha256=sha256_of(BODY), bytes=len(BODY)), cache=cache)
    assert found.pinned == ()
    assert left(cache) == ["mine/all.json"]


def test_a_redirect_is_followed(upstream, cache):
    upstream.does |= {"/all.json": leads_to("/there"), "/there": gives(BODY)}
    assert fetch(bench(upstream), cache=cache).records == 3
    assert upstream.asked == ["/all.json", "/there"]


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("http://files.example/all.json", "only https"),
        ("ftp://files.example/all.json", "redirect"),
        ("file:///etc/passwd", "[Rr]edirect"),
        ("/all.json", "redirect"),
        ("https://me:secret@files.example/", "without a user"),
    ],
)
def test_a_redirect_that_is_not_followed(upstream, cache, target, says):
    upstream.does["/all.json"] = leads_to(target)
    with pytest.raises(RunError, match=says):
        fetch(bench(upstream), cache=cache)
    assert left(cache) == []


def test_nobody_is_led_to_this_machine():
    origin = "https://bench.example/all.json"
    for url in ("http://127.0.0.1:80/x", "https://localhost/x", "http://[::1]/x"):
        assert downloads.check_address(url, origin) == "it leads to this machine"
        assert downloads.check_address(url, "http://localhost:1/") == ""


@pytest.mark.parametrize(
    "url", ["http://bench.example/", "bench.example", "https:///x", "https://a:x/"]
)
def test_addresses_that_are_not_taken(url):
    assert downloads.check_address(url) != ""


@pytest.mark.parametrize(
    ("does", "kind", "says"),
    [
        (says(404), RunError, "404"),
        (says(503), RunError, "503"),
        (cut(BODY), RunError, "ended"),
        (gives(BODY + b" "), InputError, "its checksum is"),
        (gives(body(1, 2, 4)), InputError, "its checksum is"),
        (
            gives(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
            InputError,
            "Git LFS",
        ),
    ],
    ids=["404", "503", "cut", "one byte more", "another content", "a pointer"],
)
def test_what_is_not_the_listed_file_leaves_nothing(upstream, cache, does, kind, says):
    upstream.does["/all.json"] = does
    mine = bench(upstream, sha256=sha256_of(BODY))
    with pytest.raises(kind, match=says) as caught:
        fetch(mine, cache=cache)
    assert f"{upstream.address}all.json" in str(caught.value)
    assert "remedy" in str(caught.value)
    assert left(cache) == []


@pytest.mark.parametrize(
    ("does", "says"),
    [
        (gives(b"<html><title>Sign in</title></html>"), "not of the format rjudge"),
        (gives(b'[{"messages": []}]'), "not of the format rjudge"),
        (gives(BODY[:-20]), "the end is missing"),
        (gives(b""), "empty"),
        (gives(b"[]"), "0 of 0 records"),
    ],
    ids=["a page", "another format", "half a file", "nothing", "no records"],
)
def test_a_file_without_a_checksum_has_to_be_of_the_format(upstream, cache, does, says):
    upstream.does["/all.json"] = does
    with pytest.raises(InputError, match=says):
        fetch(bench(upstream), cache=cache)
    assert left(cache) == []


@pytest.mark.parametrize("does", [gives(BODY), gives(BODY, told=False), endless()])
def test_a_file_that_is_too_large_is_not_read_to_its_end(upstream, cache, does, monkeypatch):
    upstream.does["/all.json"] = does
    monkeypatch.setattr("vepa.corpus.benchmarks.fetching.MAX_BYTES", 100)
    with pytest.raises(RunError, match="more than the 100 "):
        fetch(bench(upstream), cache=cache)
    assert left(cache) == []


def test_a_listed_size_is_the_limit(upstream, cache):
    upstream.does["/all.json"] = endless()
    with pytest.raises(RunError, match="more than the 20 "):
        fetch(bench(upstream, bytes=20), cache=cache)
    upstream.does["/all.json"] = gives(BODY)
    with pytest.raises(InputError, match="listed"):
        fetch(bench(upstream, bytes=len(BODY) + 5), cache=cache)
    assert left(cache) == []


def test_nobody_answers(cache):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mine = bench(None).model_copy(update={"address": f"http://127.0.0.1:{port}/"})
    with pytest.raises(RunError, match=r"refused[\s\S]*vepa fetch mine --from PATH"):
        fetch(mine, cache=cache)


def test_a_host_that_nobody_knows(cache, monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(RunError, match="is there a network"):
        fetch(bench(None), cache=cache)


def test_files_come_from_a_path(cache, tmp_path):
    (tmp_path / "own/b").mkdir(parents=True)
    (tmp_path / "own/x.json").write_bytes(body(1))
    (tmp_path / "own/b/y.json").write_bytes(body(2))
    found = fetch(bench(None, "a/x.json", "b/y.json"), tmp_path / "own", cache=cache)
    assert (found.records, found.new) == (2, ("a/x.json", "b/y.json"))
    assert (cache / "benchmarks/mine/a/x.json").read_bytes() == body(1)
    one = bench(None).model_copy(update={"name": "one"})
    assert fetch(one, tmp_path / "own/x.json", cache=cache).path.name == "all.json"


@pytest.mark.parametrize(
    ("names", "source", "says"),
    [
        (("all.json",), "nowhere", "no such file or folder"),
        (("all.json",), "own", "no all.json is here"),
        (("a.json", "b.json"), "own/x.json", "has 2 files"),
    ],
)
def test_a_path_without_the_files(cache, tmp_path, names, source, says):
    (tmp_path / "own").mkdir()
    (tmp_path / "own/x.json").write_bytes(body(1))
    with pytest.raises(InputError, match=says):
        fetch(bench(None, *names), tmp_path / source, cache=cache)
    assert left(cache) == []


def test_a_pinned_checksum_holds_for_what_comes_later(upstream, cache):
    upstream.does["/all.json"] = gives(BODY)
    mine = bench(upstream)
    path = fetch(mine, cache=cache).path
    path.write_bytes(body(9))
    with pytest.raises(InputError, match="in the cache was changed"):
        fetch(mine, cache=cache)
    path.unlink()
    upstream.does["/all.json"] = gives(body(9))
    with pytest.raises(InputError, match="pinned before"):
        fetch(mine, cache=cache)
    upstream.does["/all.json"] = gives(BODY)
    assert fetch(mine, cache=cache).pinned == ()
    (cache / "benchmarks/mine.pins.json").write_text("[1]")
    with pytest.raises(InputError, match="no pinned checksums"):
        fetch(mine, cache=cache)


def test_another_number_of_records_is_told(upstream, cache):
    upstream.does["/all.json"] = gives(BODY)
    notes: list[str] = []
    fetch(bench(upstream).model_copy(update={"records": 4}), cache=cache, note=notes.append)
    assert notes[-1] == "mine: 3 records, 4 are listed"


def test_a_cache_that_cannot_be_written(upstream, tmp_path):
    (tmp_path / "cache").write_text("a file")
    upstream.does["/all.json"] = gives(BODY)
    with pytest.raises(SettingError, match="cache cannot be written"):
        fetch(bench(upstream), cache=tmp_path / "cache")
    assert upstream.asked == []
