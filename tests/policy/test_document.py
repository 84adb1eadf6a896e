"""Text to data: what is refused before anything is understood, and lines that stay true."""

from __future__ import annotations

import json

import pytest

from vepa.errors import PolicyError
from vepa.policy import document as module
from vepa.policy.document import MAX_DEPTH, parse_document


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("", "the file is empty", 1),
        (" \n\n", "the file is empty", 1),
        ("# only\n# this\n", "only comments", 1),
        ("a: 1\nb: [1\nc: 2\n", "malformed YAML", 3),
        ("a: 1\n b: 2\n", "malformed YAML", 2),
        ("a: 1\n\tb: 2\n", "malformed YAML", 2),
        ("a: 'x\n", "malformed YAML", 1),
        ("a: 1\n---\nb: 2\n", "malformed YAML", 2),
        ("a: \x07\n", "malformed YAML", None),
        ("a: 1\nb: 2\na: 3\n", "duplicate key 'a'", 3),
        ("x: {a: 1,\n  b: 2,\n  a: 3}\n", "duplicate key 'a'", 3),
        ('{"x": 1,\n "y": 2,\n "x": 3}', "duplicate key 'x'", 3),
        ("a: &x [1]\nb: *x\n", "anchors and aliases", 1),
        ("a: !!python/object:os.system 1\n", "YAML tag", 1),
        ("a: !mine 1\n", "YAML tag", 1),
        ("a: !!binary aGk=\n", "YAML tag", 1),
        ("a: !!set {x}\n", "YAML tag", 1),
        ("a: 1\n<<: {b: 2}\n", "YAML tag", 2),
        ("1: a\n", "the key 1 is not a word", 1),
        ("yes: a\n", "the key True is not a word", 1),
        ("? [a]\n: b\n", "not a word", 1),
        ('{"a": NaN}', "NaN is no JSON", 1),
        ('{"a": -Infinity}', "-Infinity is no JSON", 1),
        ('{"a": ' + "9" * 5_000 + "}", "malformed JSON", 1),
        ('{"a": "\\ud800"}', "half of a surrogate pair", None),
        ("{a: 1", "malformed YAML", 1),
        ("{a: 1\n\n\n", "malformed YAML", 1),
        ("a: 1\nb: [1,\n 2,\n\n", "malformed YAML", 3),
        ("a: 1\nb: [1,\n 2\n\n", "malformed YAML", 2),
        ("a: 1\nb: [1,\n 2]]\n\n", "malformed YAML", 3),
        ('{\n"a": 1}}', "malformed JSON: Extra data", 2),
        ('{\n"a": 1\n"b": 2}', r"malformed JSON: Expecting ',' delimiter \(column 1\)", 3),
        ("- " * (MAX_DEPTH + 2) + "1\n", "nested deeper", 1),
        ("[" * 5_000, "malformed", 1),
        ("[" * 500_000, "malformed", 1),
        ("[" * 40 + "]" * 40, "nested deeper", 1),
        ("a: " + "[" * 100_000, "malformed", 1),
    ],
)
def test_what_is_refused(text: str, message: str, line: int | None) -> None:
    with pytest.raises(PolicyError, match=message) as caught:
        parse_document(text, "f.yaml")
    assert (caught.value.where.file, caught.value.where.line) == ("f.yaml", line)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("a: 2020-01-01\n", {"a": "2020-01-01"}),
        ("a: no\nb: ~\nc: 1_000\nd: 1.5\n", {"a": False, "b": None, "c": 1000, "d": 1.5}),
        ("a: =\n", {"a": "="}),
        ("{a: 1}\n", {"a": 1}),
        ('{"a": 1, b: 2}\n', {"a": 1, "b": 2}),
        ("\ufeffa: 1\n", {"a": 1}),
        ('"x"', "x"),
        ('{"a": "\\u00fc\\ud83d\\ude00"}', {"a": "ü😀"}),
        ("[1, {a: [2]}]", [1, {"a": [2]}]),
    ],
)
def test_what_is_read(text: str, data: object) -> None:
    assert parse_document(text).data == data


def test_the_billion_laughs_are_not_told() -> None:
    text = 'a: &a ["x"]\n' + "".join(
        f"{chr(98 + at)}: &{chr(98 + at)} [{', '.join([f'*{chr(97 + at)}'] * 9)}]\n"
        for at in range(9)
    )
    with pytest.raises(PolicyError, match="anchors and aliases"):
        parse_document(text)


def test_values_of_a_yaml_file_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_YAML_SIGNS", 100)
    assert parse_document("a: [" + "1, " * 90 + "1]\n").data
    with pytest.raises(PolicyError, match="too many values for one YAML file") as caught:
        parse_document("a: [" + "1, " * 100 + "1]\n")
    assert "JSON" in str(caught.value.remedy)
    assert parse_document(json.dumps({"a": [1] * 200})).data == {"a": [1] * 200}


def test_lines_of_yaml_and_of_json() -> None:
    text = "a:\n  - x: 1\n    y:\n    - 2\n    - 3\nb: 1\n"
    document = parse_document(text)
    assert document.line(("a", 0, "y", 1)) == 5
    assert document.line(("a", 0, "y")) == 3
    assert document.line(("a", 0, "nothing", "here")) == 2
    assert document.line(("nothing",)) == 1
    same = parse_document(json.dumps(document.data, indent=1))
    assert same.data == document.data
    assert same.line(("a", 0, "y", 1)) == 7
