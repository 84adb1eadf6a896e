"""The stages of an annotation: judged, queued, settled, measured, and taken up again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from judged_corpus import judged_project, where

from vepa.annotate.runs import figures as told
from vepa.annotate.runs import stages
from vepa.annotate.runs.events import settled_events
from vepa.annotate.runs.plan import AnnotationPlan, plan_annotation
from vepa.corpus.events import stream_events
from vepa.corpus.labels import Judgement, stream_labels
from vepa.corpus.settled import SettledLabel, stream_settled
from vepa.errors import RunError, SettingError
from vepa.project import Project


def planned(folder: Path) -> AnnotationPlan:
    plan = plan_annotation(Project(folder), "small", artifacts=folder / "artifacts")
    assert plan is not None
    return plan


def run(folder: Path) -> dict[str, Any]:
    """All stages, as the flow calls them."""
    begun = stages.begin_annotation(*where(folder))
    try:
        for reader in begun["readers"]:
            stages.annotate_reader(begun["folder"], reader)
        labels = stages.write_labels(begun["folder"])
        stages.arbitrate_open(begun["folder"])
        measured = stages.measure_agreement(begun["folder"])
        return stages.end_annotation(begun["folder"], labels, measured)
    finally:
        stages.leave_annotation(begun["folder"])


def settled_of(folder: Path) -> list[SettledLabel]:
    return list(stream_settled(planned(folder).folder / "settled.jsonl"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A finished annotation and its figures; look, do not touch."""
    folder = judged_project(tmp_path_factory.mktemp("judged") / "project")
    return folder, run(folder)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A finished annotation whose disputes wait for people."""
    folder = judged_project(tmp_path / "project", arbiter=False)
    run(folder)
    return folder


def test_every_step_has_two_labels_and_one_that_stands(whole: tuple[Path, dict[str, Any]]) -> None:
    folder, figures = whole
    assert (figures["labels"]["steps"], figures["labels"]["labels"]) == (12, 24)
    assert figures["labels"]["origins"] == {"scripted": 24}
    assert figures["labels"]["disputes"] == 2, "the deletions that nobody asked for"
    settled = settled_of(folder)
    assert len({(label.trajectory, label.step) for label in settled}) == len(settled) == 12
    assert figures["settled"]["how"] == {"agreed": 10, "arbiter": 2}
    assert figures["settled"]["origins"] == {"scripted": 12}
    assert figures["queue"]["open"] == 0
    assert figures["queue"]["by"] == {"c": 2}
    said = figures["settled"]["triggers"]
    assert said["unconfirmed_or_over_privileged_action"] == figures["settled"]["refuse"] == 2
    assert set(figures["cost"]) == {"annotate", "arbitrate"}
    assert figures["cost"]["annotate"]["questions"] == 24


def test_no_kappa_is_told_of_scripts(whole: tuple[Path, dict[str, Any]]) -> None:
    folder, figures = whole
    assert figures["agreement"]["pairs"] == []
    assert told.agreement_rows(figures["agreement"]) == []
    page = (planned(folder).folder / "agreement.html").read_text()
    assert "upper bound" not in page
    assert figures["agreement"]["heading"] in page


def test_a_policy_evolves_on_the_labels_that_stand(whole: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = whole
    plan = planned(folder)
    profile = yaml.safe_load((plan.corpus / "evolve.yaml").read_text())
    assert "annotate" not in profile
    assert profile["view"] == "instrumented"
    events = list(stream_events(profile["events"][0]))
    settled = {(label.trajectory, label.step): label for label in settled_of(folder)}
    assert len(events) == 12
    for event in events:
        label = settled[event.meta["episode"], event.meta["step"]]
        assert event.label == label.judgement.decision
        assert event.meta["labelled_by"] == label.how
        assert event.meta.get("trigger") == label.judgement.primary


def test_again_nothing_is_asked_and_nothing_changes(
    whole: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(whole[0], folder)
    plan = planned(folder)
    assert plan.finished
    before = {path: path.read_bytes() for path in plan.folder.glob("*.jsonl")}
    begun = stages.begin_annotation(*where(folder))
    stages.leave_annotation(begun["folder"])
    assert begun["left"] == {"a": 0, "b": 0}
    again = run(folder)
    assert again["labels"]["asked"] == again["labels"]["new_disputes"] == 0
    assert {path: path.read_bytes() for path in before} == before


def test_another_panel_or_another_corpus_is_judged_anew(
    whole: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(whole[0], folder)
    book = folder / "annotation" / "codebook.md"
    book.write_text(book.read_text() + "\nBe strict.\n")
    assert not planned(folder).judged
    begun = stages.begin_annotation(*where(folder))
    stages.leave_annotation(begun["folder"])
    assert begun["left"] == {"a": 12, "b": 12}
    (planned(folder).corpus / "trajectories.jsonl").unlink()
    with pytest.raises(RunError, match=r"trajectories\.jsonl cannot be read"):
        stages.begin_annotation(*where(folder))


def test_a_queue_that_is_gone_is_filled_and_settled_anew(
    whole: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(whole[0], folder)
    planned(folder).queue_file.unlink()
    assert not planned(folder).judged
    again = run(folder)
    assert again["labels"]["asked"] == 0
    assert again["settled"]["how"] == whole[1]["settled"]["how"]
    assert again["settled"]["open"] == 0
    assert planned(folder).finished


def test_what_waits_for_people_holds_nothing_up(people: Path) -> None:
    plan = planned(people)
    figures = plan.figures()
    assert figures is not None
    assert figures["queue"]["open"] == 2
    assert figures["settled"] | {"triggers": 0, "primary": 0} == {
        "steps": 10, "open": 2, "unjudged": 0, "refuse": 0, "how": {"agreed": 10},
        "origins": {"scripted": 10}, "triggers": 0, "primary": 0,
    }  # fmt: skip
    assert len(list(stream_events(plan.folder / "events.step.jsonl"))) == 10
    assert plan.finished
    assert "2 of 2 disputes are open" in told.queue_markdown(figures)


def test_a_later_run_takes_up_what_people_settled(people: Path) -> None:
    plan = planned(people)
    before = (plan.folder / "events.step.jsonl").read_text().splitlines()
    with plan.queue() as queue:
        claim = queue.claim("ada", gold=False)
        assert claim is not None
        queue.settle(claim.token, Judgement(decision="allow", confidence=1.0), note="It is fine.")
    assert (plan.judged, plan.settled) == (True, False)
    figures = stages.settle_again(*where(people))
    assert planned(people).finished
    assert figures["settled"]["how"] == {"agreed": 10, "person": 1}
    assert figures["settled"]["origins"] == {"person": 1, "scripted": 10}
    after = (plan.folder / "events.step.jsonl").read_text().splitlines()
    assert len(after) == 11
    assert set(before) < set(after)
    # Undone, the step waits again.
    with plan.queue() as queue:
        assert queue.undo("ada") is not None
    assert stages.settle_again(*where(people))["settled"]["steps"] == 10


def test_changing_every_label_leaves_the_events_as_they_are(
    whole: tuple[Path, dict[str, Any]],
) -> None:
    folder, _ = whole
    source = list(stream_events(planned(folder).corpus / "events.step.jsonl"))
    settled = settled_of(folder)
    turned = [
        label.model_copy(
            update={
                "judgement": Judgement(
                    decision="allow" if label.judgement.decision == "refuse" else "refuse",
                    rationale="The other way round.",
                    confidence=0.1,
                    event={"action_kind": "pay"},
                )
            }
        )
        for label in settled
    ]

    def bare(labels: list[SettledLabel]) -> list[str]:
        return [
            json.dumps([record.id, record.unit, record.event])
            for record in settled_events(source, labels)
        ]

    assert bare(turned) == bare(settled) == [json.dumps([e.id, e.unit, e.event]) for e in source]
    decisions = [record.label for record in settled_events(source, settled)]
    assert all(a != b.label for a, b in zip(decisions, settled_events(source, turned), strict=True))


def test_a_run_that_ended_early_goes_on(tmp_path: Path) -> None:
    folder = judged_project(tmp_path / "project")
    begun = stages.begin_annotation(*where(folder))
    stages.annotate_reader(begun["folder"], "a")
    stages.leave_annotation(begun["folder"])
    assert not planned(folder).finished
    begun = stages.begin_annotation(*where(folder))
    stages.leave_annotation(begun["folder"])
    assert begun["left"] == {"a": 0, "b": 12}
    assert run(folder)["labels"]["labels"] == 24
    labels = list(stream_labels(planned(folder).folder / "labels.jsonl"))
    assert len({(x.trajectory, x.step, x.annotator) for x in labels}) == len(labels) == 24


def test_two_processes_do_not_annotate_the_same_corpus(
    whole: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(whole[0], folder)
    begun = stages.begin_annotation(*where(folder))
    try:
        with pytest.raises(SettingError, match="another process"):
            stages.begin_annotation(*where(folder))
    finally:
        stages.leave_annotation(begun["folder"])


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"pannel": "panel.yaml"}, "annotate.pannel"),
        ({"workers": 0}, "annotate.workers"),
        ({"resamples": "many"}, "annotate.resamples"),
    ],
)
def test_a_wrong_block_is_told_with_its_place(
    tmp_path: Path, change: dict[str, Any], field: str
) -> None:
    folder = judged_project(tmp_path / "project", **change)
    with pytest.raises(SettingError) as caught:
        planned(folder)
    assert caught.value.where.field == field
    assert caught.value.where.line is not None
    assert str(caught.value.where.file).endswith("small.yaml")


def test_a_profile_without_a_corpus_annotates_nothing(tmp_path: Path) -> None:
    folder = judged_project(tmp_path / "project")
    file = folder / "flows/profiles/small.yaml"
    profile = yaml.safe_load(file.read_text())
    file.write_text(yaml.safe_dump({k: v for k, v in profile.items() if k != "corpus"}))
    with pytest.raises(SettingError, match="no corpus to annotate"):
        planned(folder)
    file.write_text(yaml.safe_dump({k: v for k, v in profile.items() if k != "annotate"}))
    with pytest.raises(SettingError, match="annotates nothing"):
        stages.begin_annotation(*where(folder))


def test_a_missing_arbiter_is_told(tmp_path: Path) -> None:
    folder = judged_project(tmp_path / "project")
    file = folder / "annotation" / "small.yaml"
    panel = yaml.safe_load(file.read_text())
    file.write_text(yaml.safe_dump({k: v for k, v in panel.items() if k != "arbiter"}))
    with pytest.raises(SettingError, match="has no arbiter"):
        planned(folder)
