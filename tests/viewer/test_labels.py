"""Labels of files beside the steps that they are about."""

from __future__ import annotations

from pathlib import Path

import pytest
from errands import errand

from vepa.corpus.labels import Evidence, Judgement, Label, write_labels
from vepa.corpus.settled import SettledLabel, write_settled_labels
from vepa.errors import InputError
from vepa.viewer.judging import Judge
from vepa.viewer.labels import LabelBook
from vepa.viewer.view import Subject, show_all

BAD = Judgement(
    decision="refuse",
    triggers=["incorrect_tool_parameters", "flawed_planning_or_reasoning"],
    risk_source="inherent_agent_failures",
    harm="functional_and_opportunity_harm",
    severity="low",
    evidence=[Evidence(step=0, quote="Answer the mail")],
    rationale="To the wrong Ben.",
    confidence=0.8,
)
FINE = Judgement(decision="allow", confidence=0.5)


def label(annotator: str, judgement: Judgement, **more: object) -> Label:
    about = {"trajectory": "errand", "step": 3, "item": "1" * 64, "taxonomy": "agentdog-14/1.0"}
    return Label.model_validate(
        {**about, "annotator": annotator, "origin": "model", "judgement": judgement, **more}
    )


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    labels, settled = tmp_path / "labels.jsonl", tmp_path / "settled.jsonl"
    write_labels(
        labels, [label("a", BAD), label("b", FINE, origin="scripted"), label("a", FINE, step=4)]
    )
    stands = SettledLabel(
        trajectory="errand", step=3, item="1" * 64, how="person", origin="person", by=["ada"],
        taxonomy="agentdog-14/1.0", judgement=BAD, note="Ben K. was meant.",
    )  # fmt: skip
    write_settled_labels(settled, [stands])
    return [labels, settled]


def test_every_label_stands_at_its_step(files: list[Path]) -> None:
    book = LabelBook.read(files)
    assert book.unused == 4
    shown = show_all(book.put_to(Subject(errand(), "f")), Judge(None))
    said = [(each.by, each.value) for each in shown.steps[3].labels]
    assert said == [
        ("a", "refuse: incorrect_tool_parameters, flawed_planning_or_reasoning"),
        ("b, a script", "allow"),
        (
            "settled (person)",
            "refuse: incorrect_tool_parameters, flawed_planning_or_reasoning",
        ),
    ]
    note = shown.steps[3].labels[2].note
    for words in ("To the wrong Ben.", "Ben K. was meant.", "low", "“Answer the mail” (step 0)"):
        assert words in note
    assert [each.value for each in shown.steps[4].labels] == ["allow"]
    assert book.unused == 0


def test_labels_of_others_change_nothing(files: list[Path]) -> None:
    subject = Subject(errand("another"), "f")
    book = LabelBook.read(files)
    assert book.put_to(subject) is subject
    assert book.unused == 4


def test_what_is_no_label_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text('{"schema_version": 1, "trajectory": "errand"}\n')
    with pytest.raises(InputError) as caught:
        LabelBook.read([path])
    assert (caught.value.where.file, caught.value.where.line) == (str(path), 1)
    with pytest.raises(InputError, match="standard input"):
        LabelBook.read([Path("-")])
