"""Recorded answers of a real model: replayed by what they are about, never made up."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from model_servers import Data, Say

from vepa.errors import InputError, ModelError, SettingError
from vepa.llm import (
    Item,
    Ledger,
    Manifest,
    Message,
    ModelReply,
    ModelRequest,
    ModelSettings,
    Recording,
    Shape,
    Usage,
    open_model,
)

MANIFEST = Manifest(
    model="some-large-model-2025",
    date="2025-06-30",
    made="One request an item, temperature 0, through the maker's own interface.",
    licence="CC0-1.0",
)
SHAPE = Shape(
    name="v",
    schema={"type": "object", "properties": {"bad": {"type": "boolean"}}, "required": ["bad"]},
)
ITEM = Item(hash="a" * 64, template="judge", version="2.1")


def about(item: Item | None, text: str = "whatever", shape: Shape | None = SHAPE) -> ModelRequest:
    return ModelRequest(messages=(Message(role="user", content=text),), shape=shape, item=item)


def said(content: str) -> Message:
    return Message(role="assistant", content=content)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    recording = Recording.create(tmp_path / "judge-a", MANIFEST)
    assert recording.add(ITEM, said('{"bad": true}'))
    return tmp_path


def test_an_answer_is_found_by_hash_template_and_major_version(root):
    model = open_model("recorded/judge-a", recorded=root)
    for version in ("2.1", "2.0", "2.99"):
        reply = model.ask(about(ITEM.model_copy(update={"version": version}), f"asked {version}"))
        assert (reply.data, reply.source, reply.finish) == ({"bad": True}, "recorded", "stop")
        assert reply.model == "some-large-model-2025"
        assert reply.usage == Usage()


@pytest.mark.parametrize(
    "change", [{"hash": "b" * 64}, {"template": "judge2"}, {"version": "3.0"}, {"version": "1.1"}]
)
def test_a_miss_names_its_key_and_the_way_out(root, change):
    item = ITEM.model_copy(update=change)
    with pytest.raises(ModelError) as caught:
        open_model("recorded/judge-a", recorded=root).ask(about(item))
    assert caught.value.kind == "not_recorded"
    for part in (item.hash, item.template, item.version.split(".")[0], "otherwise", "Recording"):
        assert part in str(caught.value)


def test_a_request_that_is_about_nothing(root):
    with pytest.raises(ModelError, match="which item") as caught:
        open_model("recorded/judge-a", recorded=root).ask(about(None))
    assert caught.value.kind == "not_recorded"


def test_a_miss_goes_to_the_named_model_and_says_so(root, openai, tmp_path):
    openai.server.play([Data({"bad": False})])
    ledger = Ledger(tmp_path / "ledger.jsonl")
    model = open_model(
        "recorded/judge-a",
        recorded=root,
        otherwise="openai/gpt-4o-mini",
        settings=ModelSettings(api_base=openai.server.openai),
        ledger=ledger,
    )
    assert model.ask(about(ITEM)).source == "recorded"
    other = model.ask(about(ITEM.model_copy(update={"hash": "c" * 64})))
    assert (other.source, other.data) == ("provider", {"bad": False})
    assert other.model == "gpt-4o-mini"
    assert openai.server.requests == 1
    assert [entry.source for entry in ledger.entries()] == ["recorded", "provider"]


def test_a_scripted_model_answers_only_when_it_is_named(root):
    class Judge:
        def reply(self, request: ModelRequest) -> Message:
            return said('{"bad": false}')

    item = ITEM.model_copy(update={"hash": "c" * 64})
    named = open_model("recorded/judge-a", recorded=root, otherwise="scripted/j", script=Judge())
    assert named.ask(about(item)).source == "scripted"
    with pytest.raises(ModelError):
        open_model("recorded/judge-a", recorded=root, script=Judge()).ask(about(item))


def test_a_recorded_answer_is_checked_like_any_other(root):
    shape = Shape(name="v", schema={"type": "object", "required": ["other"]})
    with pytest.raises(ModelError) as caught:
        open_model("recorded/judge-a", recorded=root).ask(about(ITEM, shape=shape))
    assert caught.value.kind == "malformed"


def test_a_recorded_refusal(root):
    item = ITEM.model_copy(update={"hash": "d" * 64})
    Recording(root / "judge-a").add(item, said("I will not."), "declined")
    reply = open_model("recorded/judge-a", recorded=root).ask(about(item))
    assert (reply.finish, reply.data, reply.message.content) == ("declined", None, "I will not.")


def test_the_same_again_changes_nothing_and_another_is_an_error(root):
    recording = Recording(root / "judge-a")
    path = root / "judge-a" / "answers.jsonl"
    before = path.read_bytes()
    assert recording.add(ITEM, said('{"bad": true}')) is False
    assert (
        Recording(root / "judge-a").add(
            ITEM.model_copy(update={"version": "2.7"}), said('{"bad": true}')
        )
        is False
    )
    with pytest.raises(InputError, match=r"another answer(.|\n)*major version"):
        recording.add(ITEM, said('{"bad": false}'))
    assert path.read_bytes() == before


def test_a_reply_of_a_provider_is_recorded_whole_and_a_scripted_one_never(root):
    recording = Recording(root / "judge-a")
    item = ITEM.model_copy(update={"hash": "e" * 64})
    with pytest.raises(InputError, match="scripted"):
        recording.add(item, ModelReply(said("x"), "stop", "m", "scripted"))
    assert recording.add(item, ModelReply(said("half"), "length", "m", "provider"))
    found = Recording(root / "judge-a").get(item)
    assert found is not None
    assert (found.message.content, found.finish) == ("half", "length")


def test_two_writers_see_each_other(root):
    one, other = Recording(root / "judge-a"), Recording(root / "judge-a")
    item = ITEM.model_copy(update={"hash": "f" * 64})
    assert one.add(item, said("x\u2028y\x85z"))
    assert other.add(item, said("x\u2028y\x85z")) is False
    with pytest.raises(InputError):
        other.add(item, said("y"))
    assert len(Recording(root / "judge-a")) == len(one) == len(other) == 2


def test_processes_append_beside_each_other(root):
    code = (
        "import sys\n"
        "from vepa.llm import Item, Message, Recording\n"
        "recording = Recording(sys.argv[1])\n"
        "for n in range(40):\n"
        "    item = Item(hash=f'hash-{n:04}', template='t', version='1.0')\n"
        "    recording.add(item, Message(role='assistant', content='x' * 5000))\n"
    )
    folder = root / "judge-a"
    running = [subprocess.Popen([sys.executable, "-c", code, str(folder)]) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert len(Recording(folder)) == 41
    assert (folder / "answers.jsonl").read_bytes().count(b"\n") == 41


def test_half_a_line_of_a_crash_is_cut_off(root):
    path = root / "judge-a" / "answers.jsonl"
    with open(path, "ab") as stream:
        stream.write(b'{"hash": "half')
    assert len(Recording(root / "judge-a")) == 1
    Recording(root / "judge-a").add(ITEM.model_copy(update={"hash": "g" * 64}), said("x"))
    assert len(Recording(root / "judge-a")) == 2
    assert all(json.loads(line) for line in path.read_text("utf-8").splitlines())


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "no recorded answer"),
        ("{}", "missing"),
        (
            '{"hash": "aaaaaaaa", "template": "t", "version": "1", "message": {"role": "user"}}',
            "no recorded answer",
        ),
    ],
)
def test_a_line_that_is_no_answer_is_told_with_its_place(root, line, fault):
    with open(root / "judge-a" / "answers.jsonl", "a") as stream:
        stream.write(line + "\n")
    with pytest.raises(InputError, match=fault) as caught:
        open_model("recorded/judge-a", recorded=root)
    assert "answers.jsonl:2" in str(caught.value)


def test_files_that_disagree(root):
    text = (root / "judge-a" / "answers.jsonl").read_text("utf-8")
    (root / "judge-a" / "more.jsonl").write_text(text)
    assert len(Recording(root / "judge-a")) == 1
    (root / "judge-a" / "more.jsonl").write_text(text.replace("true", "false"))
    with pytest.raises(InputError, match="disagree"):
        Recording(root / "judge-a")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("model: scripted/x", "never of a script"),
        ("date: yesterday", "a day like"),
        ("more: 1", "not known"),
        ("licence:", "word"),
    ],
)
def test_a_manifest_that_says_too_little(root, change, fault):
    path = root / "judge-a" / "manifest.yaml"
    name = change.partition(":")[0]
    lines = [ln for ln in path.read_text().splitlines() if not ln.startswith(f"{name}:")]
    path.write_text("\n".join([*lines, change, ""]))
    with pytest.raises(InputError, match=fault) as caught:
        Recording(root / "judge-a")
    assert "manifest.yaml:" in str(caught.value)


def test_another_manifest_needs_another_folder(root):
    assert len(Recording.create(root / "judge-a", MANIFEST)) == 1
    with pytest.raises(InputError, match="another manifest"):
        Recording.create(root / "judge-a", MANIFEST.model_copy(update={"model": "other-model"}))


@pytest.mark.parametrize("name", ["recorded/none", "recorded/../x", "recorded/a/b", "recorded/"])
def test_names_that_lead_to_no_recording(root, name):
    with pytest.raises(SettingError):
        open_model(name, recorded=root)


def test_what_is_there_is_named(root):
    with pytest.raises(SettingError, match="judge-a"):
        open_model("recorded/none", recorded=root)


def test_a_recording_is_no_way_out_of_another(root):
    with pytest.raises(SettingError, match="another recording"):
        open_model("recorded/judge-a", recorded=root, otherwise="recorded/judge-a")


def test_no_other_model_falls_back(openai):
    with pytest.raises(SettingError, match="recorded/NAME only"):
        openai.model([Say("x")], otherwise="scripted/x")


def test_of_several_answers_about_one_content_the_name_tells(root):
    recording = Recording(root / "judge-a")
    second = ITEM.model_copy(update={"name": "trace/2"})
    with pytest.raises(InputError, match="another answer"):
        recording.add(second, said('{"bad": false}'))
    assert recording.add(second, said('{"bad": false}'), named=True)
    assert recording.add(second, said('{"bad": false}'), named=True) is False
    assert len(recording) == 2
    model = open_model("recorded/judge-a", recorded=root)
    for name, bad in (("trace/2", False), ("trace/1", True), (None, True)):
        item = ITEM.model_copy(update={"name": name})
        assert model.ask(about(item, f"asked {name}")).data == {"bad": bad}


def test_a_line_tells_a_name_only_where_it_needs_one(root):
    recording = Recording(root / "judge-a")
    recording.add(ITEM.model_copy(update={"name": "trace/2"}), said("{}"), named=True)
    lines = (root / "judge-a" / "answers.jsonl").read_text().splitlines()
    assert [json.loads(line).get("name", "-") for line in lines] == ["-", "trace/2"]
