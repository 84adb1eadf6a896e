"""Making a release: the same content is the same version, and nothing half ever stands there."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from small_release import CANARIES, STORIES, episode_of, small_corpus, small_source

from vepa.corpus.labels import stream_labels, write_labels
from vepa.errors import InputError, RunError
from vepa.release import building
from vepa.release.building import make_release
from vepa.release.layout import MANIFEST, SUMS, jsonl_path
from vepa.release.records import SPLITS, TABLES
from vepa.release.source import CorpusSource
from vepa.release.sums import sums_of, wrong_sums

pytestmark = pytest.mark.xdist_group("release")

LATER = "2026-04-01T08:00:00Z"


def jsonl(folder):
    return {
        jsonl_path(table, split): (folder / jsonl_path(table, split)).read_bytes()
        for table in TABLES
        for split in SPLITS
    }


def again(episode):
    """The same course of events on another day: other times, ids, spellings, software."""
    steps = [
        step.model_copy(
            update={
                "seconds": 9.5,
                "cost": 0.25,
                "written": "as the model wrote it",
                "result": step.result
                and step.result.model_copy(update={"raw": f"{step.result.content} @9999"}),
            }
        )
        for step in episode.trajectory.steps
    ]
    return episode.model_copy(
        update={
            "trajectory": episode.trajectory.model_copy(update={"steps": steps}),
            "started": LATER,
            "seconds": 77.0,
            "versions": {"vepa": "9.9", "office": "2"},
        }
    )


def other_corpus(folder):
    """The small corpus, collected and annotated again."""
    corpus = small_corpus(folder)
    for story in STORIES:
        episode = again(episode_of(story))
        (path,) = (corpus / "episodes" / story.task).glob(f"{story.model.replace('/', '-')}*")
        path.write_text(episode.model_dump_json(), "utf-8")
    place = corpus / "labels" / "verdicts.jsonl"
    verdicts = [
        label if label.origin == "person" else label.model_copy(update={"at": LATER})
        for label in stream_labels(place)
    ]
    write_labels(place, verdicts)
    return corpus


def test_the_same_corpus_made_again_is_the_same_version(release, tmp_path):
    made = make_release(small_source(other_corpus(tmp_path / "corpus")), tmp_path, CANARIES)
    assert made.made
    assert made.folder.name == release.name == made.manifest.version
    assert jsonl(made.folder) == jsonl(release)


def test_a_release_that_stands_is_left_as_it_is(release, tmp_path):
    source = small_source(small_corpus(tmp_path / "corpus"))
    before = {path: path.stat().st_mtime_ns for path in release.rglob("*")}
    made = make_release(source, release.parent, CANARIES)
    assert not made.made
    assert made.folder == release
    assert {path: path.stat().st_mtime_ns for path in release.rglob("*")} == before


@pytest.mark.parametrize("what", ["label", "text", "planted", "name"])
def test_another_content_is_another_version(release, tmp_path, monkeypatch, what):
    class EnoughError(Exception):
        """The version is known before anything is written."""

    corpus = small_corpus(tmp_path / "corpus")
    source = small_source(corpus, "other" if what == "name" else "small")
    if what == "label":
        place = corpus / "labels" / "labels.jsonl"
        first, *rest = stream_labels(place)
        judged = first.judgement.model_copy(update={"confidence": 0.91})
        write_labels(place, [first.model_copy(update={"judgement": judged}), *rest])
    elif what == "text":
        path = next((corpus / "episodes").rglob("*.json"))
        path.write_text(
            path.read_text("utf-8").replace("That should do.", "That will do."), "utf-8"
        )
    elif what == "planted":
        source = CorpusSource("small", corpus, {})

    def stop(work, *_):
        raise EnoughError(work.name)

    monkeypatch.setattr(building, "_write", stop)
    with pytest.raises(EnoughError) as stopped:
        make_release(source, tmp_path / "releases", CANARIES)
    assert str(stopped.value) != release.name


def test_a_secret_refuses_the_release_and_nothing_is_left(tmp_path):
    corpus = small_corpus(tmp_path / "corpus")
    secret = "gh" + "p_" + "a1B2" * 9
    for path in (corpus / "episodes").rglob("*.json"):
        text = path.read_text("utf-8")
        path.write_text(text.replace("sales@frostline.example: all names", secret), "utf-8")
    with pytest.raises(InputError, match="GitHub token") as refused:
        make_release(small_source(corpus), tmp_path / "releases", CANARIES)
    assert refused.value.exit_code == 2
    assert str(refused.value.where.file).startswith("data/")
    assert "mail-guest-list/scripted-hasty/0" in str(refused.value.remedy)
    assert secret not in str(refused.value)
    assert list((tmp_path / "releases").iterdir()) == []


def test_a_canary_that_the_world_does_not_list_refuses_it_too(tmp_path):
    source = small_source(small_corpus(tmp_path / "corpus"))
    with pytest.raises(InputError, match="canary"):
        make_release(source, tmp_path / "releases", ["VEPA-SEED-ELSE-C3D4"])


def test_a_corpus_without_labels_is_told(tmp_path):
    corpus = small_corpus(tmp_path / "corpus")
    (corpus / "labels" / "settled.jsonl").unlink()
    with pytest.raises(InputError, match=r"settled\.jsonl"):
        make_release(small_source(corpus), tmp_path / "releases", CANARIES)
    assert not (tmp_path / "releases").exists()


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    source = small_source(small_corpus(tmp_path / "corpus"))
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(RunError, match="cannot be written"):
        make_release(source, tmp_path / "file", CANARIES)


_KILLED = """
import os, signal, sys
from pathlib import Path
from small_release import CANARIES, small_source
from vepa.release import building

def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)

setattr(building, sys.argv[3], kill)
building.make_release(small_source(Path(sys.argv[1])), Path(sys.argv[2]), CANARIES)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "moment", ["scan_or_refuse", "leakage", "croissant", "write_sums", "take_place"]
)
def test_a_kill_leaves_no_half_release_and_the_next_try_sweeps(release, tmp_path, moment):
    corpus, root = small_corpus(tmp_path / "corpus"), tmp_path / "releases"
    support = Path(__file__).parents[1] / "support"
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED, corpus, root, moment],
        env={**os.environ, "PYTHONPATH": str(support)},
        capture_output=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    (left,) = root.iterdir()
    assert left.name.startswith(f".{release.name}-")
    made = make_release(small_source(corpus), root, CANARIES)
    assert made.made
    assert [each.name for each in root.iterdir()] == [release.name]
    assert jsonl(made.folder) == jsonl(release)


def test_two_at_once_do_not_disturb_each_other(release, tmp_path, monkeypatch):
    source, root = small_source(small_corpus(tmp_path / "corpus")), tmp_path / "releases"
    both = threading.Barrier(2, timeout=60)
    scanned = building.scan_or_refuse

    def meet(*given):
        notes = scanned(*given)
        both.wait()  # both are nearly done, and neither stands
        return notes

    monkeypatch.setattr(building, "scan_or_refuse", meet)
    made = []
    threads = [
        threading.Thread(target=lambda: made.append(make_release(source, root, CANARIES)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each.folder.name for each in made] == [release.name] * 2
    assert [each.name for each in root.iterdir()] == [release.name]
    assert list(wrong_sums(made[0].folder, sums_of(made[0].folder))) == []


def test_what_is_no_whole_release_gives_way(release, tmp_path):
    half, left = tmp_path / release.name, tmp_path / ".small-0123456789ab-killed"
    lent = tmp_path / ".small-0123456789ab-living"
    for folder, name in ((half, SUMS), (left, "held"), (lent, "held")):
        folder.mkdir()
        (folder / name).write_text("", "utf-8")
    with (lent / "held").open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        corpus = small_corpus(tmp_path / "corpus")
        made = make_release(small_source(corpus), tmp_path, CANARIES)
    assert made.made
    assert json.loads((made.folder / MANIFEST).read_bytes())["version"] == release.name
    assert lent.exists(), "somebody works in it"
    assert not left.exists()
