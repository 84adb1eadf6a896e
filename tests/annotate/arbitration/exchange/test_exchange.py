"""Cases out and verdicts back in three forms: nothing lost, nothing twice, every fault named."""

from __future__ import annotations

import json
import uuid
from xml.etree import ElementTree as ET

import pytest
from disputed import ALLOW, NAMED, REFUSE, TAXONOMY, dispute, item, opened

from vepa.annotate.arbitration.exchange import FORMATS, add_gold, export_cases, import_verdicts
from vepa.annotate.arbitration.exchange.argilla import steps_field
from vepa.corpus.labels import Evidence
from vepa.errors import InputError, SettingError

HASHES = [item(number).hash for number in range(4)]
HOSTILE = '<img src=x onerror="alert(1)">]]><Choices name="decision"/>'


@pytest.fixture
def queue(tmp_path):
    with opened(tmp_path) as queue:
        queue.fill(dispute(number) for number in range(4))
        yield queue


def exported(queue, path, kind, **more):
    return export_cases(queue, kind, path / f"{kind}.json", **more).files


def written(path, data):
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def accounted(report):
    """Every answer became something, and the document adds up."""
    told = report.document()
    fates = ("taken", "known", "settled", "unknown", "lent", "skipped", "malformed")
    assert told["answers"] == sum(told[name] for name in fates)
    assert sum(report.by.values()) == told["taken"]
    return {name: told[name] for name in (*fates, "unanswered") if told[name]}


# -- how each tool answers -------------------------------------------------------------------------


def region(name, kind, value):
    return {"id": name, "from_name": name, "to_name": "steps", "type": kind, "value": value}


def annotated(task, who=10, *, decision="refuse", **more):
    """A task of Label Studio as its JSON export has it, with an annotation."""
    result = [region("decision", "choices", {"choices": [decision]})]
    if decision == "refuse":
        keys = ["flawed_planning_or_reasoning", "incorrect_tool_parameters"]
        quote = {"start": "1", "end": "1", "startOffset": 4, "endOffset": 10, "text": "mail#1"}
        result += [
            region("triggers", "choices", {"choices": keys}),
            region("primary", "choices", {"choices": [keys[1]]}),
            region("risk_source", "choices", {"choices": ["inherent_agent_failures"]}),
            region("harm", "choices", {"choices": ["functional_and_opportunity_harm"]}),
            region("severity", "choices", {"choices": ["low"]}),
            region("evidence", "paragraphlabels", {**quote, "paragraphlabels": ["evidence"]}),
        ]
    result += [
        region("confidence", "number", {"number": 0.7}),
        region("rationale", "textarea", {"text": ["The wrong", "mail."]}),
        region("another_question", "rating", {"rating": 3}),
    ]
    annotation = {
        "id": 1001,
        "completed_by": who,
        "result": result,
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": "2026-03-01T10:00:00.123456Z",
        "updated_at": "2026-03-01T12:00:00.123456+01:00",
        "lead_time": 4.288,
        **more,
    }
    return {"id": 17, **task, "annotations": [*task.get("annotations", []), annotation]}


def responded(record, who, *, decision="refuse", span=None):
    """A record of Argilla as `records.to_json` has it, with the responses of one person."""
    values = {"decision": decision, "confidence": 7, "rationale": "The wrong\nmail."}
    if decision == "refuse":
        values |= {
            "triggers": ["flawed_planning_or_reasoning", "incorrect_tool_parameters"],
            "primary": "incorrect_tool_parameters",
            "risk_source": "inherent_agent_failures",
            "harm": "functional_and_opportunity_harm",
            "severity": "low",
            "evidence": [{"start": span[0], "end": span[1], "label": "evidence"}],
        }
    responses = dict(record["responses"])
    for name, value in values.items():
        responses[name] = [*responses.get(name, []), {"value": value, "user_id": who}]
    return {**record, "responses": responses, "status": "completed", "_server_id": None}


def flattened(record, status):
    """The same as `records.to_list(flatten=True)` has it."""
    flat = {"id": record["id"], "status": "pending", "_server_id": None, **record["fields"]}
    for name, given in record["responses"].items():
        flat[f"{name}.responses"] = [each["value"] for each in given]
        flat[f"{name}.responses.users"] = [each["user_id"] for each in given]
        flat[f"{name}.responses.status"] = [status for _ in given]
    return flat


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def answered(queue, folder, kind):
    """A file with an answer about the first case, as the tool writes it."""
    data = exported(queue, folder, kind)[0]
    if kind == "jsonl":
        given = WANTED.model_dump(mode="json", exclude_defaults=True)
        told = [{**lines(data)[0], "judgement": given, "who": "10"}, *lines(data)[1:]]
        return written(folder / "back.jsonl", "".join(json.dumps(x) + "\n" for x in told))
    tasks = json.loads(data.read_text())
    if kind == "label-studio":
        tasks = [{**task, "annotations": []} for task in tasks]
        first = annotated(tasks[0])
    else:
        at = tasks[0]["fields"]["steps"].index("mail#1")
        first = responded(tasks[0], "10", span=(at, at + 6))
        if kind == "argilla" and folder.name.endswith("flat"):
            first = flattened(first, "submitted")
    return written(folder / "back.json", [first, *tasks[1:]])


WANTED = REFUSE.model_copy(
    update={
        "triggers": ["incorrect_tool_parameters", "flawed_planning_or_reasoning"],
        "evidence": [Evidence(step=1, quote="mail#1")],
        "rationale": "The wrong\nmail.",
        "confidence": 0.7,
    }
)


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


# -- what is malformed -----------------------------------------------------------------------------


def with_result(tasks, name, value):
    """The first task, answered, with one result changed."""
    task = annotated(tasks[0])
    for each in task["annotations"][0]["result"]:
        if each["from_name"] == name:
            each["value"] = value
    return task


FAULTS = {
    "data.item": lambda tasks: {"id": 1, "data": {}, "annotations": []},
    "annotations": lambda tasks: {"id": 1, **tasks[0]},
    "annotations.0": lambda tasks: {**tasks[0], "annotations": ["x"]},
    "annotations.0.result": lambda tasks: annotated(tasks[0], result=None),
    "annotations.0.decision": lambda tasks: annotated(tasks[0], result=[]),
    "annotations.0.who": lambda tasks: annotated(tasks[0], None),
    "annotations.0.at": lambda tasks: annotated(tasks[0], updated_at="yesterday"),
    "annotations.0.triggers.1": lambda tasks: with_result(
        tasks, "triggers", {"choices": ["incorrect_tool_parameters", "none_such"]}
    ),
    "annotations.0.primary": lambda tasks: with_result(
        tasks, "primary", {"choices": ["choosing_malicious_tool"]}
    ),
    "annotations.0.harm": lambda tasks: with_result(tasks, "harm", {"choices": ["none_such"]}),
    "annotations.0.confidence": lambda tasks: with_result(tasks, "confidence", {"number": 7}),
    "annotations.0.evidence.0.quote": lambda tasks: with_result(
        tasks, "evidence", {"start": "1", "end": "1", "text": "nobody wrote this"}
    ),
    "annotations.0.result.6.value.end": lambda tasks: with_result(
        tasks, "evidence", {"start": "0", "end": "1", "text": "mail"}
    ),
    "annotations.0.evidence": lambda tasks: with_result(
        tasks, "evidence", {"start": "1", "end": "1", "startOffset": 0, "endOffset": 9_999}
    ),
    "annotations.0.result.6.value.start": lambda tasks: with_result(
        tasks, "evidence", {"text": "mail#1"}
    ),
    "annotations.0.result.1.value.choices": lambda tasks: with_result(tasks, "triggers", {}),
}


@pytest.mark.parametrize("field", FAULTS)
def test_a_malformed_answer_is_named_and_the_others_are_taken(queue, tmp_path, field):
    tasks = json.loads(exported(queue, tmp_path, "label-studio")[0].read_text())
    path = written(tmp_path / "back.json", [annotated(tasks[1]), FAULTS[field](tasks)])
    with pytest.raises(InputError) as caught:
        import_verdicts(queue, path, strict=True)
    assert caught.value.where.field == field
    assert not queue.given()
    report = import_verdicts(queue, path)
    assert accounted(report) == {"taken": 1, "malformed": 1}
    (error,) = report.malformed
    assert (error.where.file, error.where.field) == (str(path), field)
    assert "record 2" in str(error)
    assert [each.verdict.item for each in queue.given()] == [HASHES[1]]


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("{", None),
        ("[1]", None),
        ('{"item": "x", "item": "y"}', None),
        ('{"item": "x", "judgement": {"decision": "perhaps", "confidence": 1}}',
         "judgement.decision"),
        ('{"item": "x", "verdict": "allow"}', "verdict"),
        ('{"schema_version": 9, "item": "x"}', "schema_version"),
        ('{"item": "x", "note": "\\ud800", "judgement": {"decision": "allow", "confidence": 1}}',
         None),
        ('{"item": "x", "judgement": {"decision": "allow", "confidence": 1}, "who": "a\\u001bb"}',
         "who"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named_and_the_others_are_taken(queue, tmp_path, line, field):
    good = {
        "item": HASHES[0],
        "judgement": ALLOW.model_dump(exclude_defaults=True),
        "who": "ada",
    }
    path = written(tmp_path / "back.jsonl", f"{json.dumps(good)}\n\n{line}\n")
    report = import_verdicts(queue, path)
    assert accounted(report) == {"taken": 1, "malformed": 1}
    assert (report.malformed[0].where.line, report.malformed[0].where.field) == (3, field)


def test_a_span_over_a_head_or_over_two_steps_is_malformed(queue, tmp_path):
    record = json.loads(exported(queue, tmp_path, "argilla")[0].read_text())[0]
    text = steps_field(queue.dispute(HASHES[0]))
    head = text.index("read_mail")
    for span in ((head, head + 4), (4, head + 30), (5, 2), (0, len(text) + 9)):
        path = written(tmp_path / "back.json", [responded(record, "u1", span=span)])
        report = import_verdicts(queue, path)
        assert accounted(report) == {"malformed": 1}
        assert report.malformed[0].where.field == "responses of u1.evidence"


@pytest.mark.parametrize(
    ("text", "match"), [("[{", "malformed JSON"), ('[{"x": 1}]', "which tool"), ("nothing", "tool")]
)
def test_a_file_of_nobody_is_refused(queue, tmp_path, text, match):
    with pytest.raises(InputError, match=match):
        import_verdicts(queue, written(tmp_path / "back.json", text))


def test_an_empty_file_holds_nothing(queue, tmp_path):
    assert accounted(import_verdicts(queue, written(tmp_path / "back.json", ""))) == {}


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
