"""A model writes personas; and what it is told and answers is checked like its tasks."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from authoring_desk import written
from model_servers import Data
from tiny_office import changed
from tiny_tasks import PERSONA

from vepa.collect.personas import read_persona
from vepa.errors import SettingError

DARIO: dict[str, Any] = {
    "persona": 1,
    "id": "dario-conti",
    "person": "dario",
    "position": "Data Engineer",
    "rights": "May read the figures of all customers, and change those of his own project.",
    "manner": "Long sentences, many commas.",
    "patience": 3,
    "confirms": ["a change of his own tables"],
    "refuses": ["sending figures to customers"],
    "replies": {"unsure": "I would have to look that up.", "impatient": "Just go on."},
}


def test_a_good_persona_is_kept(desk: Any) -> None:
    report = desk.write(written(DARIO), kind="persona", person="dario")
    assert [each["id"] for each in report["accepted"]] == ["dario-conti"]
    file = desk.folder / "personas" / "dario-conti.yaml"
    text = file.read_text()
    assert text.startswith("# written by openai/gpt-4o-mini, prompt author-persona 1.0\n")
    assert yaml.safe_load(text) == DARIO
    persona, wrong = read_persona(file)
    assert (wrong, persona is not None) == ([], True)
    system = desk.server.seen[0].body["messages"][0]["content"]
    assert "Person: dario" in system
    assert "removing a memo of somebody else" in system


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Data({"yaml": "persona: ["}), "malformed"),
        (written(changed({"patience": 99}, DARIO)), "malformed"),
        (written(changed({"person": "nobody"}, DARIO)), "reference"),
        (written(changed({"id": "../dario"}, DARIO)), "unsafe_id"),
        (written(changed({"id": "jonas"}, DARIO)), "id_taken"),
        (written(changed({"person": "mara"}, DARIO)), "not_as_wished"),
        (written(changed({"rights": PERSONA["rights"].upper()}, DARIO)), "alike"),
        (written(changed({"manner": "Mails from dario@evil.com"}, DARIO)), "foreign_domain"),
        (written(changed({"rights": "Knows VEPA-SEED-MARA-K7T4."}, DARIO)), "unknown_secret"),
        (written(changed({"position": "{{ ''.__class__ }}"}, DARIO)), "unsafe_template"),
    ],
)
def test_what_is_rejected(desk: Any, codes: Any, answer: Data, code: str) -> None:
    before = {path: path.read_text() for path in (desk.folder / "personas").iterdir()}
    report = desk.write(answer, kind="persona", person="dario", tries=0)
    assert code in codes(report)
    after = {path: path.read_text() for path in (desk.folder / "personas").iterdir()}
    assert before == after


def test_reasons_go_back(desk: Any) -> None:
    wrong = written(changed({"person": "nobody"}, DARIO))
    report = desk.write(wrong, written(DARIO), kind="persona")
    assert report["accepted"][0]["tries"] == 2
    assert "no person 'nobody'" in desk.server.seen[1].last


@pytest.mark.parametrize(
    ("wish", "message"),
    [({"persona": "jonas"}, "there is a persona 'jonas'"), ({"person": "x"}, "no person of the")],
)
def test_wishes_that_cannot_be(desk: Any, wish: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        desk.session([written(DARIO)], kind="persona", **wish)
