"""OpenHands keeps a conversation as a folder of event files: which files belong together."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from hand_written import imported, told


def _said(number: int, source: str, text: str) -> dict[str, object]:
    return {"id": number, "source": source, "action": "message", "args": {"content": text}}


def _conversation(folder: Path, *texts: str) -> None:
    folder.mkdir(parents=True)
    for at, text in enumerate(texts):
        event = _said(at, "agent" if at % 2 else "user", text)
        (folder / f"{at}.json").write_text(json.dumps(event))


def test_a_folder_of_event_files_is_one_conversation_in_the_order_of_their_numbers(tmp_path):
    _conversation(tmp_path / "events", *(f"turn {at}" for at in range(12)))
    found, report = imported(tmp_path / "events")
    assert report.format == "openhands"
    assert report.records == 12
    assert [told(step).partition(": ")[2] for step in found[0].steps] == [
        f"turn {at}" for at in range(12)
    ]
    assert len(found) == 1


def test_each_session_of_a_folder_is_a_conversation_of_its_own(tmp_path):
    _conversation(tmp_path / "sessions" / "abc" / "events", "One?", "One.")
    _conversation(tmp_path / "sessions" / "def" / "events", "Two?", "Two.")
    found, _ = imported(tmp_path / "sessions")
    assert {each.id: [told(step) for step in each.steps] for each in found} == {
        "sessions/abc": ["user: One?", "answer: One."],
        "sessions/def": ["user: Two?", "answer: Two."],
    }


def test_a_folder_of_trajectory_files_keeps_them_apart(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    for name in ("first", "second"):
        events = [_said(0, "user", name), _said(1, "agent", "Yes.")]
        (folder / f"{name}.json").write_text(json.dumps(events))
    found, _ = imported(folder)
    assert [(each.id, told(each.steps[0])) for each in found] == [
        ("runs/first", "user: first"),
        ("runs/second", "user: second"),
    ]


def test_event_files_of_the_sdk_in_an_archive(tmp_path):
    file = tmp_path / "conversation.zip"
    with zipfile.ZipFile(file, "w") as archive:
        for at, text in enumerate(("Hello?", "Hello.")):
            event = {
                "kind": "MessageEvent",
                "id": f"e{at}",
                "source": "agent" if at else "user",
                "llm_message": {"role": "user", "content": [{"type": "text", "text": text}]},
            }
            archive.writestr(f"c7/events/event-{at:05d}-e{at}.json", json.dumps(event))
    found, report = imported(file)
    assert (report.format, report.records) == ("openhands", 2)
    assert [told(step) for step in found[0].steps] == ["user: Hello?", "answer: Hello."]
    assert found[0].id == "conversation/c7"


def test_the_rest_of_a_conversation_is_told_where_one_event_file_is_broken(tmp_path):
    _conversation(tmp_path / "s1", "One?", "One.", "Two?")
    (tmp_path / "s1" / "1.json").write_text('{"id": 1, "source": "agent", "act')
    found, report = imported(tmp_path / "s1")
    assert (report.records, report.skipped, report.trajectories) == (3, 1, 1)
    assert report.told[0].file == str(tmp_path / "s1" / "1.json")
    assert [told(step) for step in found[0].steps] == ["user: One?", "user: Two?"]


def test_a_session_with_its_metadata_and_the_cache_of_its_store_is_told_once(tmp_path):
    session = tmp_path / "sessions" / "abc"
    _conversation(session / "events", "One?", "One.", "Two?")
    about = {"conversation_id": "abc", "title": "Counting", "llm_model": "lab/model-a"}
    (session / "metadata.json").write_text(json.dumps(about))
    (session / "event_cache").mkdir()
    cached = [_said(0, "user", "One?"), _said(1, "agent", "One.")]
    (session / "event_cache" / "0-2.json").write_text(json.dumps(cached))
    found, report = imported(tmp_path / "sessions")
    assert (report.skipped, report.notes.remarks["event kept twice"]) == (0, 2)
    assert [(each.id, each.model, each.meta["title"]) for each in found] == [
        ("sessions/abc", "lab/model-a", "Counting")
    ]
    assert [told(step) for step in found[0].steps] == ["user: One?", "answer: One.", "user: Two?"]


def test_the_state_beside_the_events_of_the_sdk_names_the_model(tmp_path):
    folder = tmp_path / "c9"
    (folder / "events").mkdir(parents=True)
    state = {"id": "c9", "agent": {"llm": {"model": "lab/model-b"}}, "workspace": {}}
    (folder / "base_state.json").write_text(json.dumps(state))
    message = {"role": "user", "content": [{"type": "text", "text": "Hello?"}]}
    event = {"kind": "MessageEvent", "id": "e", "source": "user", "llm_message": message}
    (folder / "events" / "event-00000-e.json").write_text(json.dumps(event))
    found, report = imported(folder)
    assert (report.format, report.skipped) == ("openhands", 0)
    assert [(each.id, each.model) for each in found] == [("c9/c9", "lab/model-b")]
