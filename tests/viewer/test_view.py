"""The view of a trajectory: events, labels and rules at their steps, and who says what."""

from __future__ import annotations

from dataclasses import astuple, replace
from pathlib import Path

import pytest
from shown_episodes import made

from benchmarks.suite.traces import POLICY, invented, invented_events
from vepa.collect.episodes.subject import subject_of
from vepa.corpus.events import EventRecord
from vepa.corpus.lines import write_records
from vepa.corpus.trajectory import Trajectory, write_trajectories
from vepa.errors import EventError, InputError, SettingError
from vepa.policy.reading import load_policy
from vepa.policy.schema import bundled_schema
from vepa.viewer.events import EventBook
from vepa.viewer.judging import Judge
from vepa.viewer.reading import Traces, find
from vepa.viewer.reasons import reasons_of
from vepa.viewer.record import record_of
from vepa.viewer.rows import row_of, tools_of
from vepa.viewer.view import Label, Subject, show_all
from vepa.viewer.wanted import Wanted

STEP_POLICY = """\
policy: 1
unit: step
rules:
- {id: no-followed, decision: refuse, status: active, when: {injection: {in: [followed]}}}
- id: reads
  decision: allow
  status: active
  when: {action_kind: {in: [read]}, injection: {in: [none]}}
- {id: sleeping, decision: refuse, status: inactive, when: {injection: {in: [followed]}}}
- id: near
  decision: refuse
  status: active
  when: {action_kind: {in: [send]}, recipient: {in: [public]}}
"""


def judge_of(text: str) -> Judge:
    return Judge(load_policy(text, "p.yaml", bundled_schema()))


def test_rules_of_steps_stand_at_their_steps() -> None:
    shown = show_all(subject_of(made(), "f"), judge_of(STEP_POLICY))
    (call, step) = shown.steps[2].events
    assert (call.record.unit, call.why) == ("call", None), "the policy is for steps"
    assert step.why is not None
    assert [rule.id for rule in step.why.fired] == ["no-followed"]
    assert shown.judged.verdict == "refuse"
    assert shown.judged.rules[0] == "no-followed"
    told = {reason.rule: reason for reason in reasons_of(step.why)}
    assert told["no-followed"].decides
    assert [part.holds for part in told["no-followed"].parts] == [True]
    assert not told["sleeping"].decides
    assert [(part.field, part.wanted, part.value, part.holds) for part in told["near"].parts] == [
        ("recipient", "in {public}", "external", False)
    ]


def test_a_reason_tells_what_its_rule_was_judged_by() -> None:
    known = "evidence: {support: 31, contradictions: 2, probability: 0.914}"
    policy = STEP_POLICY.replace("id: no-followed,", f"id: no-followed, {known},")
    (_, step) = show_all(subject_of(made(), "f"), judge_of(policy)).steps[2].events
    told = {reason.rule: reason.told for reason in reasons_of(step.why)}
    assert told["no-followed"].endswith("[31 for, 2 against, precise enough with probability 0.91]")
    assert told["sleeping"] == "matches but is inactive: sleeping (refuse)"


@pytest.mark.parametrize(
    ("label", "verdict_of", "found"),
    [
        ("allow", "refuse", "false alarm"),
        ("refuse", "allow", "missed"),
        ("refuse", "refuse", None),
        (None, "refuse", None),
    ],
)
def test_a_label_and_a_verdict_that_differ(
    label: str | None, verdict_of: str, found: str | None
) -> None:
    policy = "policy: 1\nunit: trajectory\nrules:\n"
    policy += f"- {{id: a, decision: {verdict_of}, status: active, "
    policy += "when: {injection: {in: [followed]}}}\n"
    trajectory = next(invented(1)).model_copy(update={"label": label})
    event = EventRecord(id=trajectory.id, event={"injection": "followed"})
    judged = show_all(Subject(trajectory, "f", events=[event]), judge_of(policy)).judged
    assert (judged.verdict, judged.disagreement) == (verdict_of, found)
    quiet = event.model_copy(update={"event": {"injection": "none"}})
    judged = show_all(Subject(trajectory, "f", events=[quiet]), judge_of(policy)).judged
    assert (judged.verdict, judged.disagreement) == ("abstain", None)


def test_the_labels_of_events_count_too() -> None:
    subject = subject_of(made(), "f")
    events = [
        each.model_copy(update={"label": "allow", "meta": {**each.meta, "trigger": "t"}})
        if each.unit == "step"
        else each
        for each in subject.events
    ]
    shown = show_all(replace(subject, events=events), judge_of(STEP_POLICY))
    assert shown.judged.disagreement == "false alarm"
    assert Label("label of the event", "allow", 2, "step", "t") in shown.steps[2].labels


def test_several_annotators_stand_side_by_side() -> None:
    (trajectory,) = invented(1)
    said = [
        Label("anna", "refuse", 1, note="why"),
        Label("ben", "allow", 1),
        Label("ben", "refuse"),
    ]
    shown = show_all(Subject(trajectory, "f", labels=said))
    assert [each.by for each in shown.steps[1].labels] == ["anna", "ben"]
    assert [(each.by, each.value) for each in shown.labels] == [
        ("label", trajectory.label),
        ("ben", "refuse"),
    ]
    assert record_of(shown)["steps"][1]["labels"][0] == {
        "by": "anna", "value": "refuse", "unit": None, "note": "why",
    }  # fmt: skip


def test_marked_steps_speakers_and_conversations() -> None:
    steps = [
        {"index": 0, "kind": "user", "text": "a", "conversation": 0},
        {"index": 1, "kind": "answer", "text": "b", "speaker": "planner", "conversation": 0},
        {"index": 2, "kind": "observation", "text": "c", "conversation": 1},
    ]
    given = {"id": "x", "steps": steps, "marked": 1, "system": "be good"}
    shown = show_all(Subject(Trajectory.model_validate(given), "f"))
    assert [each.opens for each in shown.steps] == [False, False, True]
    assert [each.marked for each in shown.steps] == [False, True, False]


@pytest.mark.parametrize(
    ("record", "step"),
    [
        ({"id": "t/1", "unit": "trajectory"}, None),
        ({"id": "t/1/3/step", "unit": "step"}, 3),
        ({"id": "t/1/3/call", "unit": "call"}, 3),
        ({"id": "e7", "unit": "step", "meta": {"episode": "t/1", "step": 2}}, 2),
        ({"id": "e8", "unit": "trajectory", "meta": {"episode": "t/1"}}, None),
    ],
)
def test_events_find_their_trajectory_and_step(record: dict, step: int | None) -> None:
    book = EventBook([EventRecord.model_validate({"event": {}, **record})])
    (trajectory,) = invented(1)
    found = book.put_to(Subject(trajectory.model_copy(update={"id": "t/1"}), "f"))
    assert found.events[0].meta.get("step") == step
    assert book.unused == 0
    other = Subject(trajectory, "f")
    assert book.put_to(other) is other


def test_the_parser_adds_the_units_that_no_file_tells() -> None:
    (trajectory,) = invented(1)
    (event,) = invented_events(1)
    judge = Judge()
    assert {each.unit for each in judge.events_of(trajectory, [])} == {"call", "step"}
    both = judge.events_of(trajectory, [event])
    assert both[0] is event
    assert {each.unit for each in both} == {"trajectory", "call", "step"}
    assert judge.events_of(trajectory, [event], {"trajectory"}) == [event]
    step = event.model_copy(update={"unit": "step", "meta": {"step": 1}})
    given = judge.events_of(trajectory, [step])
    assert [each for each in given if each.unit == "step"] == [step]
    bare = trajectory.model_copy(update={"tools": []})
    assert judge.events_of(bare, [event]) == [event]


def test_events_that_belong_nowhere_are_counted() -> None:
    book = EventBook(invented_events(3))
    (trajectory,) = invented(1)
    book.put_to(Subject(trajectory, "f"))
    assert book.unused == 2


def test_events_of_another_schema_are_an_error_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_text(
        '{"id": "a", "event": {"injection": "none"}}\n{"id": "b", "event": {"x": "y"}}\n'
    )
    with pytest.raises(EventError) as caught:
        EventBook.read([path], bundled_schema())
    assert (caught.value.where.file, caught.value.where.line) == (str(path), 2)


def test_one_of_a_file_by_its_id(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    write_trajectories(path, invented(5))
    assert find(Traces(path), "office/00003").trajectory.id == "office/00003"
    with pytest.raises(InputError) as caught:
        find(Traces(path), "office/00009")
    assert caught.value.where.file == str(path)
    assert "office/0000" in str(caught.value.remedy)


SUBJECTS = [Subject(each, "f") for each in invented(60)]


@pytest.mark.parametrize(
    ("wanted", "holds"),
    [
        (Wanted(label="none"), lambda of: of.label is None),
        (Wanted(label="refuse"), lambda of: of.label == "refuse"),
        (Wanted(imported="open*"), lambda of: of.format == "openai-chat"),
        (Wanted(tool="pay*"), lambda of: "payments_pay" in tools_of(of)),
        (Wanted(task="mail-*"), lambda of: of.task.startswith("mail-")),
        (Wanted(model="beta/*"), lambda of: of.model == "beta/one"),
        (Wanted(grep="LIST OF SALARIES"), lambda of: "list of salaries" in of.model_dump_json()),
        (Wanted(grep="mail#3"), lambda of: "mail#3" in of.model_dump_json()),
        (Wanted(grep="no such words"), lambda of: False),
    ],
    ids=lambda each: (
        " ".join(map(str, filter(None, astuple(each)))) if isinstance(each, Wanted) else ""
    ),
)
def test_which_are_wanted(wanted: Wanted, holds) -> None:
    judge = Judge()
    found = [each.trajectory.id for each in SUBJECTS if wanted.takes(each, judge)]
    assert found == [each.trajectory.id for each in SUBJECTS if holds(each.trajectory)]


def test_wanted_by_policy_and_fields() -> None:
    judge, book = judge_of(POLICY), EventBook(invented_events(60))
    subjects = [book.put_to(each) for each in SUBJECTS]
    rows = [row_of(each, judge) for each in subjects]
    for wanted, key, values in (
        (Wanted(verdict="refuse"), "verdict", {"refuse"}),
        (Wanted(differs="any"), "disagreement", {"missed", "false alarm"}),
        (Wanted(differs="missed"), "disagreement", {"missed"}),
        (Wanted(differs="false-alarm"), "disagreement", {"false alarm"}),
    ):
        wanted.checked(judge.schema, policy=True)
        found = [each.trajectory.id for each in subjects if wanted.takes(each, judge)]
        assert found == [row["id"] for row in rows if row[key] in values]
        assert found or key == "disagreement"
    fields = Wanted(fields=["trajectory.injection=followed", "trajectory.recipient=public"])
    found = [each.trajectory.id for each in subjects if fields.takes(each, judge)]
    assert found == [
        each.trajectory.id
        for each in subjects
        for event in each.events
        if (event.event["injection"], event.event["recipient"]) == ("followed", "public")
    ]


@pytest.mark.parametrize(
    "field", ["x", "step.recipient", "steps.recipient=none", "step.recipient=x"]
)
def test_a_field_that_cannot_be(field: str) -> None:
    with pytest.raises(SettingError) as caught:
        Wanted(fields=[field]).checked(bundled_schema(), policy=False)
    assert caught.value.where.field == "--field"


def test_a_file_with_a_bad_line_tells_it_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    write_records(path, invented(3))
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], '{"schema_version": 1, "id": 7, "steps": []}', lines[2]]))
    traces = Traces(path)
    assert [each.trajectory.id for each in traces] == ["office/00000", "office/00002"]
    assert len(traces.broken) == 1
    assert "line 2" in traces.broken[0]
