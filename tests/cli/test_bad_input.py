"""Bad input through the real command: a message with file, line, field and remedy; exit 2; no
traceback; nothing half-written. A good file of each kind passes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bad_files import EVENTS, POLICIES


def content(files: Path, what: Any) -> bytes:
    """Bytes of a policy file: as they stand, or the good policy with one edit."""
    if isinstance(what, tuple):
        good = (files / "p.yaml").read_text()
        assert what[0] in good
        what = good.replace(*what, 1)
    return what if isinstance(what, bytes) else what.encode()


def complains(
    ran: Any, file: Path, line: int | None, field: str | None, message: str, remedy: str
) -> None:
    """Exit 2 and one clear message on stderr, with place and remedy."""
    assert ran.code == 2, ran
    assert "Traceback" not in ran.err
    place = str(file) + (f":{line}" if line else "") + (f": {field}" if field else "")
    first = next(text for text in ran.err.splitlines() if text.startswith("error: "))
    assert first.startswith(f"error: {place}: "), first
    assert message in first
    assert remedy in ran.err
    assert "remedy: " in ran.err
    assert len(ran.err) < 4_000


@pytest.mark.parametrize("name", POLICIES)
def test_policies(vepa: Any, files: Path, name: str) -> None:
    what, line, field, message, remedy = POLICIES[name]
    path = files / "bad.yaml"
    raw = content(files, what)
    path.write_bytes(raw)
    ran = vepa("policy", "check", path)
    complains(ran, path, line, field, message, remedy)
    assert ran.out == ""
    told = vepa("policy", "check", path, "--json")
    assert told.code == 2
    assert (told.json["ok"], told.json["policy_hash"]) == (False, None)
    assert message in told.json["feedback"][0]["message"]
    assert told.json["feedback"][0]["line"] == line
    others = (
        ("policy", "show"),
        ("policy", "lint"),
        ("policy", "fmt"),
        ("policy", "fmt", "--write"),
    )
    # One verb reads as the other does; huge files are not read five times.
    for verb in others if len(raw) < 10**6 else ():
        again = vepa(*verb, path)
        complains(again, path, line, field, message, remedy)
        assert again.out == ""
    decided = vepa("decide", "--policy", path, files / "e.jsonl", "--json")
    complains(decided, path, line, field, message, remedy)
    assert message in decided.json["error"]["message"]
    assert decided.json["error"]["line"] == line
    assert path.read_bytes() == raw
    assert sorted(entry.name for entry in files.iterdir()) == [
        "bad.yaml",
        "e.jsonl",
        "p.tests.yaml",
        "p.yaml",
    ]


@pytest.mark.parametrize("name", EVENTS)
def test_events(vepa: Any, files: Path, name: str) -> None:
    what, field, message, remedy = EVENTS[name]
    path = files / "bad.jsonl"
    raw = what if isinstance(what, bytes) else what.encode()
    path.write_bytes(b'{"id": "fine", "event": {}}\n\n' + raw + b"\n")
    ran = vepa("decide", "--policy", files / "p.yaml", path)
    complains(ran, path, 3, field, message, remedy)
    assert ran.out == "fine\tabstain\t-\n"
    complains(vepa("policy", "explain", files / "p.yaml", path), path, 3, field, message, remedy)
    if name != "another unit":  # a table of steps is fine as such
        ran = vepa("policy", "diff", files / "p.yaml", files / "p.yaml", "--events", path)
        complains(ran, path, 3, field, message, remedy)


def test_an_events_file_without_events(vepa: Any, files: Path) -> None:
    path = files / "bad.jsonl"
    for nothing in ("", "\n \n"):
        path.write_text(nothing)
        for verb in (
            ("decide", "--policy", files / "p.yaml", path),
            ("policy", "explain", files / "p.yaml", path),
            ("policy", "diff", files / "p.yaml", files / "p.yaml", "--events", path),
        ):
            complains(vepa(*verb), path, 1, None, "no events in this file", "one JSON record")


def test_ids_that_occur_twice_in_a_table(vepa: Any, files: Path) -> None:
    path = files / "bad.jsonl"
    path.write_text(
        '{"id": "x", "event": {}}\n{"id": "y", "event": {}}\n{"id": "x", "event": {}}\n'
    )
    ran = vepa("policy", "diff", files / "p.yaml", files / "p.yaml", "--events", path)
    complains(ran, path, 3, "id", "'x' occurs twice", "id of its own")


def test_a_policy_and_events_of_different_units(vepa: Any, files: Path) -> None:
    path = files / "step.yaml"
    path.write_text(
        (files / "p.yaml").read_text().replace("policy: 1\n", "policy: 1\nunit: step\n")
    )
    ran = vepa("decide", "--policy", path, files / "e.jsonl")
    complains(ran, files / "e.jsonl", 1, "unit", "event 'a' is a trajectory", "unit 'step'")
    ran = vepa("policy", "diff", files / "p.yaml", path)
    assert ran.code == 2
    assert "one policy is for events of unit 'trajectory', the other of 'step'" in ran.err


MISSING: list[tuple[str, Callable[[Path], Path], str]] = [
    ("a missing file", lambda files: files / "nothing.yaml", "no such file"),
    ("a folder", lambda files: files, "this is a folder"),
]


@pytest.mark.parametrize(("name", "make", "message"), MISSING)
def test_files_that_are_not_there(
    vepa: Any, files: Path, name: str, make: Callable[[Path], Path], message: str
) -> None:
    wrong = make(files)
    good, events = files / "p.yaml", files / "e.jsonl"
    schema = files / "s.schema.yaml"
    schema.write_text("version: 1\nfields: {a: [x]}\n")
    for verb in (
        ("policy", "check", wrong),
        ("policy", "fmt", wrong, "--write"),
        ("policy", "lint", wrong),
        ("policy", "show", wrong),
        ("policy", "test", wrong),
        ("policy", "test", good, "--tests", wrong),
        ("policy", "explain", wrong, events),
        ("policy", "explain", good, wrong),
        ("policy", "diff", good, wrong),
        ("policy", "diff", good, good, "--events", wrong),
        ("policy", "check", good, "--schema", wrong),
        ("schema", "migrate", wrong, schema, good),
        ("schema", "migrate", schema, wrong, good),
        ("schema", "migrate", schema, schema, wrong),
        ("decide", "--policy", wrong, events),
        ("decide", "--policy", good, wrong),
    ):
        ran = vepa(*verb)
        assert ran.code == 2, verb
        assert f"error: {wrong}: {message}" in ran.err or f"{message}" in ran.err, verb
        assert "remedy: " in ran.err
        assert "Traceback" not in ran.err


def bounded(heavy: list[str], others: list[str]) -> pytest.MarkDecorator:
    """Names of inputs that could use up memory, and in the long checks some others."""
    params = [*heavy, *(pytest.param(name, marks=pytest.mark.slow) for name in others)]
    return pytest.mark.parametrize("name", params)


@pytest.mark.integration
@bounded(
    ["a 50 MB line", "too many values", "deep nesting", "aliases"],
    ["conflict", "binary file", "no"],
)
def test_policies_in_a_process_with_bounded_memory(process: Any, files: Path, name: str) -> None:
    what, line, field, message, remedy = POLICIES[name]
    path = files / "bad.yaml"
    path.write_bytes(content(files, what))
    complains(process("policy", "check", path), path, line, field, message, remedy)


@pytest.mark.integration
@bounded(["a 50 MB line", "deep nesting"], ["NaN", "binary", "a list"])
def test_events_in_a_process_with_bounded_memory(process: Any, files: Path, name: str) -> None:
    what, field, message, remedy = EVENTS[name]
    path = files / "bad.jsonl"
    path.write_bytes(what if isinstance(what, bytes) else what.encode())
    ran = process("decide", "--policy", files / "p.yaml", path, "--json")
    complains(ran, path, 1, field, message, remedy)
    assert message in ran.lines[-1]["error"]["message"]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("head", "entry", "number", "tail"),
    [
        ('[{"id": [', "{}", 6_000_000, "]}]"),
        pytest.param("[", "1", 8_000_000, "]", marks=pytest.mark.slow),
    ],
)
def test_a_file_of_json_that_bombs_in_bounded_memory(
    process: Any, files: Path, head: str, entry: str, number: int, tail: str
) -> None:
    path = files / "bomb.json"
    rules = head + f"{entry}," * number + entry + tail
    path.write_text('{"policy": 1, "rules": ' + rules + "}")
    ran = process("policy", "check", path, "--json")
    assert ran.code == 2, ran.err
    assert ran.json["feedback"][0]["message"]
    assert "Traceback" not in ran.err
    assert len(ran.out) < 20_000


def test_good_files_pass(vepa: Any, files: Path) -> None:
    good, events = files / "p.yaml", files / "e.jsonl"
    as_json = files / "p.json"
    schema = files / "event_schema.yaml"
    text = (Path(bundled_file())).read_text()
    schema.write_text(text)
    as_json.write_text(json.dumps(json_policy(vepa, good)))
    for policy in (good, as_json):
        for verb in (
            ("policy", "check", policy),
            ("policy", "fmt", policy),
            ("policy", "lint", policy),
            ("policy", "show", policy),
            ("policy", "test", policy, "--tests", files / "p.tests.yaml"),
            ("policy", "explain", policy, events),
            ("policy", "diff", policy, good, "--events", events),
            ("policy", "check", policy, "--schema", schema),
            ("schema", "migrate", schema, schema, policy),
            ("decide", "--policy", policy, events),
        ):
            for form in ((), ("--json",)):
                ran = vepa(*verb, *form)
                assert ran.code == 0, (verb, ran.err)
                assert ran.out
                assert "error" not in ran.err


def json_policy(vepa: Any, path: Path) -> Any:
    """The policy of a YAML file, in JSON form."""
    shown = vepa("policy", "show", path, "--json").json
    for rule in shown["rules"]:
        del rule["confidence"]
    return {"policy": 1, "unit": shown["unit"], "rules": shown["rules"]}


def bundled_file() -> Path:
    """The schema file that ships with the package."""
    import vepa.policy.schema as module

    return Path(module.__file__).with_name("event_schema.yaml")


def test_messages_speak_plainly() -> None:
    """No class names and no jargon of libraries in the messages expected above."""
    for _, _, _, message, _ in POLICIES.values():
        assert not re.search(r"Input should be|pydantic|Error\b|<class", message)
