"""Cases out and verdicts back in three forms: nothing lost, nothing twice, every fault named."""

from __future__ import annotations

import json
import uuid
from xml.etree import ElementTree as ET

import pytest
from disputed import ALLOW, NAMED, REFUSE, TAXONOMY, dispute, opened
from exchanged import (
    HASHES,
    WANTED,
    accounted,
    annotated,
    answered,
    exported,
    flattened,
    lines,
    responded,
    with_result,
    written,
)

from vepa.annotate.arbitration.exchange import FORMATS, add_gold, export_cases, import_verdicts
from vepa.errors import SettingError

HOSTILE = '<img src=x onerror="alert(1)">]]><Choices name="decision"/>'


@pytest.mark.parametrize("kind", [*FORMATS, "argilla-flat"])
def test_an_answer_comes_back_as_it_was_given(queue, tmp_path, kind):
    folder = tmp_path / kind
    folder.mkdir()
    path = answered(queue, folder, kind.removesuffix("-flat"))
    report = import_verdicts(queue, path, names=["10=ada"])
    assert report.format == kind.removesuffix("-flat")
    assert accounted(report) == {"taken": 1, "unanswered": 3}
    verdict = queue.standing()[HASHES[0]]
    assert verdict.judgement == WANTED
    assert (verdict.annotator, verdict.origin, verdict.taxonomy) == ("ada", "person", NAMED)
    assert (verdict.trajectory, verdict.step) == ("errand-0", 1)
    again = import_verdicts(queue, path, names=["10=ada"])
    assert accounted(again) == {"known": 1, "unanswered": 3}
    assert len(queue.given()) == 1


def test_a_quote_without_its_words_is_found_by_its_place(queue, tmp_path):
    tasks = json.loads(exported(queue, tmp_path, "label-studio")[0].read_text())
    at = tasks[0]["data"]["steps"][1]["text"].index("mail#1")
    place = {"start": "1", "end": "1", "startOffset": at, "endOffset": at + 6}
    path = written(tmp_path / "back.json", [with_result(tasks, "evidence", place)])
    assert accounted(import_verdicts(queue, path)) == {"taken": 1}
    assert queue.standing()[HASHES[0]].judgement.evidence == WANTED.evidence


def test_when_and_how_long_are_kept(queue, tmp_path):
    import_verdicts(queue, answered(queue, tmp_path, "label-studio"), names=["ada"])
    verdict = queue.standing()[HASHES[0]]
    assert verdict.at == "2026-03-01T11:00:00Z"
    assert verdict.meta == {"lead_time": 4.288}


# -- nothing of anybody's opinion, nothing that a page would run -----------------------------------


@pytest.mark.parametrize("kind", FORMATS)
def test_an_export_is_blind_unless_it_is_told_otherwise(queue, tmp_path, kind):
    for path in exported(queue, tmp_path, kind)[:1]:
        text = path.read_text()
        assert "Another mail was meant" not in text
        assert "errand-0" not in text
    assert "Another mail was meant" in exported(queue, tmp_path, kind, opinions=True)[0].read_text()


@pytest.mark.parametrize("kind", FORMATS)
def test_open_cases_only_or_all(queue, tmp_path, kind):
    queue.settle(queue.claim("ada").token, REFUSE)
    assert export_cases(queue, kind, tmp_path / "a").cases == 3
    assert export_cases(queue, kind, tmp_path / "b", everything=True).cases == 4


def test_texts_are_data_and_no_tag_renders_html(tmp_path):
    trap = dispute(0)
    steps = [
        step.model_copy(update={"text": HOSTILE}) if step.text else step
        for step in trap.shown.steps
    ]
    trap = trap.model_copy(update={"shown": trap.shown.model_copy(update={"steps": steps})})
    hostile = TAXONOMY.model_copy(update={"harms": {**TAXONOMY.harms, "odd": HOSTILE}})
    with opened(tmp_path) as queue:
        queue.taxonomy = hostile
        queue.fill([trap])
        tasks, config = exported(queue, tmp_path, "label-studio")
        records, settings = exported(queue, tmp_path, "argilla")
    assert json.loads(tasks.read_text())[0]["data"]["steps"][0]["text"] == HOSTILE
    view = ET.fromstring(config.read_text())
    assert "HyperText" not in {each.tag for each in view.iter()}
    assert [each.get("name") for each in view.iter("Choices")].count("decision") == 1
    assert [each.get("hint") for each in view.iter("Choice") if each.get("value") == "odd"] == [
        HOSTILE
    ]
    assert {each.get("valueType") for each in view.iter("Text")} == {"text"}
    assert HOSTILE in json.loads(records.read_text())[0]["fields"]["steps"]
    kinds = [field["settings"] for field in json.loads(settings.read_text())["fields"]]
    assert kinds == [{"type": "text", "use_markdown": False}] * 2


def test_the_questions_offer_the_taxonomy(queue, tmp_path):
    _, config = exported(queue, tmp_path, "label-studio")
    choices = {
        each.get("name"): [choice.get("value") for choice in each]
        for each in ET.fromstring(config.read_text()).iter("Choices")
    }
    _, settings = exported(queue, tmp_path, "argilla")
    asked = {x["name"]: x["settings"] for x in json.loads(settings.read_text())["questions"]}
    for name, keys in (
        ("decision", ["allow", "refuse"]),
        ("triggers", list(TAXONOMY.keys)),
        ("primary", list(TAXONOMY.keys)),
        ("risk_source", list(TAXONOMY.risk_sources)),
        ("harm", list(TAXONOMY.harms)),
        ("severity", list(TAXONOMY.severities)),
    ):
        assert choices[name] == keys
        assert [option["value"] for option in asked[name]["options"]] == keys


# -- several people, doubled records, what is known, settled or lent -------------------------------


def test_every_answer_of_several_people_is_accounted_for(queue, tmp_path):
    tasks = json.loads(exported(queue, tmp_path, "label-studio")[0].read_text())
    both = annotated(annotated(tasks[0], 10), {"id": 11, "email": "ben@office.test"})
    doubled = annotated(tasks[1], 10)
    left = annotated(tasks[2], 10, was_cancelled=True)
    queue.skip(queue.claim("cleo").token)
    for _ in range(2):
        queue.skip(queue.claim("cleo").token)
    queue.claim("cleo")  # has the fourth one
    lent = annotated(tasks[3], 10)
    gone = annotated({"data": {**tasks[0]["data"], "item": "0" * 64}}, 10)
    path = written(tmp_path / "back.json", [both, doubled, doubled, left, lent, gone])
    names = ["10=ada", "11=ben"]
    report = import_verdicts(queue, path, names=names)
    wanted = {"taken": 2, "settled": 1, "known": 1, "skipped": 1, "lent": 1, "unknown": 1}
    assert accounted(report) == wanted
    assert not report.clean
    assert dict(report.by) == {"ada": 2}
    assert {each.verdict.item for each in queue.given()} == set(HASHES[:2])


def test_the_responses_of_two_people_to_one_record_are_two_answers(queue, tmp_path):
    one, other = str(uuid.UUID(int=1)), str(uuid.UUID(int=2))
    record = json.loads(exported(queue, tmp_path, "argilla")[0].read_text())[0]
    both = responded(responded(record, one, decision="allow"), other, decision="allow")
    path = written(tmp_path / "back.jsonl", json.dumps(both))
    with pytest.raises(SettingError, match="2 people"):
        import_verdicts(queue, path, names=["ada"])
    assert not queue.given()
    report = import_verdicts(queue, path, names=[f"{one}=ada", f"{other}=ben"])
    assert accounted(report) == {"taken": 1, "settled": 1}
    assert dict(report.by) == {"ada": 1}


def test_what_was_not_handed_in_is_no_verdict(queue, tmp_path):
    record = json.loads(exported(queue, tmp_path, "argilla")[0].read_text())[0]
    draft = flattened(responded(record, "u1", decision="allow"), "draft")
    report = import_verdicts(queue, written(tmp_path / "back.json", [draft]))
    assert accounted(report) == {"skipped": 1}


# -- gold ------------------------------------------------------------------------------------------


def test_settled_cases_become_gold_and_come_back_unchanged(queue, tmp_path):
    queue.settle(queue.claim("ada").token, REFUSE, note="sure")
    model = queue.claim("c", gold=False)
    queue.settle(model.token, ALLOW, origin="model", model="x/y")
    (path,) = exported(queue, tmp_path, "jsonl", everything=True)
    first, second, *_ = lines(path)
    assert (first["who"], first["note"]) == ("ada", "sure")
    assert "judgement" not in second  # a model's verdict is nobody's known answer
    assert accounted(import_verdicts(queue, path)) == {"known": 1, "unanswered": 3}
    with opened(tmp_path / "other") as other:
        report = add_gold(other, path)
        assert (report.added, report.known, report.unanswered) == (1, 0, 3)
        assert add_gold(other, path).known == 1
        assert other.state().gold == 1


def test_a_gold_case_that_is_not_what_it_says_is_refused(queue, tmp_path):
    (path,) = exported(queue, tmp_path, "jsonl")
    good = {**lines(path)[0], "judgement": REFUSE.model_dump(exclude_defaults=True)}
    far = {**good["judgement"], "evidence": [{"step": 0, "quote": "nobody"}]}
    bad = [
        ("item", {**good, "item": HASHES[1]}),
        ("step", {**good, "step": 0}),
        ("shown", {key: value for key, value in good.items() if key != "shown"}),
        ("judgement.evidence.0.quote", {**good, "judgement": far}),
    ]
    told = "".join(json.dumps(each) + "\n" for _, each in [*bad, ("", good)])
    report = add_gold(queue, written(tmp_path / "gold.jsonl", told))
    assert report.added == 1
    assert [each.where.field for each in report.malformed] == [field for field, _ in bad]
    assert [each.where.line for each in report.malformed] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("names", "wanted"), [((), "ben@office.test"), (("11=ben",), "ben"), (("ben",), "ben")]
)
def test_a_person_is_named_by_any_of_their_ids(queue, tmp_path, names, wanted):
    task = json.loads(exported(queue, tmp_path, "label-studio")[0].read_text())[0]
    path = written(
        tmp_path / "back.json", [annotated(task, {"id": 11, "email": "ben@office.test"})]
    )
    assert dict(import_verdicts(queue, path, names=names).by) == {wanted: 1}
