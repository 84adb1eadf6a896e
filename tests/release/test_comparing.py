"""Comparing releases: records, fields, splits, labels, figures and provenance, then and now."""

from __future__ import annotations

import json
import shutil

import pytest
from small_release import ANNOTATION, CANARIES, small_corpus, small_source

from vepa.corpus.labels import stream_labels, write_labels
from vepa.corpus.settled import stream_settled, write_settled_labels
from vepa.errors import InputError
from vepa.release.building import make_release
from vepa.release.comparing import diff
from vepa.release.layout import PROVENANCE, jsonl_path
from vepa.release.records import SPLITS, TABLES

pytestmark = pytest.mark.xdist_group("release")

FLIPPED = ("mail-guest-list/scripted-hasty/0", 2)
GONE = "calendar-crane-check/scripted-careful/0"


def judged_otherwise(judgement):
    """A refusal for one trigger as a refusal for another, or as an allowance."""
    return judgement.model_copy(
        update={"triggers": [], "decision": "allow", "risk_source": None, "harm": None,
                "severity": None, "rationale": "Fine after all."}
    )  # fmt: skip


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """A release with one episode less, one step that stands otherwise, and another prompt."""
    folder = tmp_path_factory.mktemp("other")
    corpus = small_corpus(folder / "corpus")
    (corpus / "episodes/calendar-crane-check/scripted-careful-0.episode.json").unlink()
    place = corpus / "labels"
    settled = [
        label.model_copy(update={"judgement": judged_otherwise(label.judgement)})
        if (label.trajectory, label.step) == FLIPPED
        else label
        for label in stream_settled(place / "settled.jsonl")
        if label.trajectory != GONE
    ]
    write_settled_labels(place / "settled.jsonl", settled)
    kept = [label for label in stream_labels(place / "labels.jsonl") if label.trajectory != GONE]
    write_labels(place / "labels.jsonl", kept)
    provenance = {**ANNOTATION["provenance"]}
    provenance["template"] = {**provenance["template"], "sha256": "0" * 64}
    (place / "annotation.json").write_text(
        json.dumps({**ANNOTATION, "provenance": provenance}), "utf-8"
    )
    return make_release(small_source(corpus), folder / "releases", CANARIES).folder


def test_a_release_does_not_differ_from_itself(release):
    found = diff(release, release)
    assert found.empty
    assert found.same_content
    assert found.as_data()["empty"] is True


def test_records_that_came_and_went(release, other):
    found = diff(release, other)
    assert not found.empty
    assert not found.same_content
    trajectories = found.tables["trajectories"]
    assert (trajectories.before, trajectories.after) == (8, 7)
    assert trajectories.removed == [GONE]
    assert trajectories.added == []
    assert found.tables["steps"].removed == [f"{GONE}#{step}" for step in range(4)]
    back = diff(other, release)
    assert back.tables["trajectories"].added == [GONE]
    assert len(back.tables["labels"].added) == 6


def test_the_fields_that_changed(release, other):
    tables = diff(release, other).tables
    name = "#".join(map(str, FLIPPED))
    assert {"judgement.decision", "judgement.triggers"} < set(tables["settled"].changed[name])
    assert tables["steps"].changed[name] == [
        "decision", "harm", "primary", "risk_source", "severity", "triggers",
    ]  # fmt: skip
    # The prompt is another one in every label, and nothing else of them is.
    assert tables["labels"].fields == {"meta.template_sha256": tables["labels"].after - 1}


def test_labels_that_stand_otherwise(release, other):
    flips = diff(release, other).flips
    assert flips.decisions == {"refuse -> allow": 1}
    assert flips.lost == {"unauthorized_information_disclosure": 1}
    assert flips.gained == {}
    assert flips.steps == ["#".join(map(str, FLIPPED))]
    assert diff(other, release).flips.gained == flips.lost


def test_figures_and_provenance_then_and_now(release, other):
    found = diff(release, other)
    assert found.figures["models.scripted/careful"] == (5, 4)
    assert found.figures["environments.calendar"][1] is None
    assert found.provenance["labels.template.sha256"][1] == "0" * 64
    assert not [path for path in found.figures if path.startswith("agreement")]


def test_a_trajectory_that_changed_its_split(release, tmp_path):
    moved = shutil.copytree(release, tmp_path / release.name)
    one, other = [s for s in SPLITS if (moved / jsonl_path("trajectories", s)).read_text()][:2]
    source, target = (moved / jsonl_path("trajectories", each) for each in (one, other))
    first, *rest = source.read_text("utf-8").splitlines(keepends=True)
    source.write_text("".join(rest), "utf-8")
    with target.open("a", encoding="utf-8") as file:
        file.write(first)
    found = diff(release, moved).tables["trajectories"]
    assert found.moved == {json.loads(first)["id"]: (one, other)}
    assert found.changed == {}
    assert not found.empty


def test_what_cannot_be_compared_is_told(release, tmp_path):
    with pytest.raises(InputError, match="there is no manifest"):
        diff(release, tmp_path)
    spoilt = shutil.copytree(release, tmp_path / release.name)
    (spoilt / PROVENANCE).write_text("{", "utf-8")
    with pytest.raises(InputError) as malformed:
        diff(release, spoilt)
    assert malformed.value.where.file == str(spoilt / PROVENANCE)
    path = spoilt / jsonl_path(TABLES[0], "train")
    path.write_text('{"id": "a"}\n{"no": 1}\n', "utf-8")
    with pytest.raises(InputError, match="no record of the table") as malformed:
        diff(release, spoilt)
    assert (malformed.value.where.file, malformed.value.where.line) == (str(path), 2)
    path.unlink()
    with pytest.raises(InputError, match="missing"):
        diff(release, spoilt)
