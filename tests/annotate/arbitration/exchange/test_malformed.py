"""What cannot be taken out of an exchanged file: each with its place, and the others are taken."""

from __future__ import annotations

import json

import pytest
from disputed import ALLOW
from exchanged import HASHES, accounted, annotated, exported, responded, with_result, written

from vepa.annotate.arbitration.exchange import import_verdicts
from vepa.annotate.arbitration.exchange.argilla import steps_field
from vepa.errors import InputError

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
