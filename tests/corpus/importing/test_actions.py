"""What the text of an action says, in every spelling, and for texts made to be odd."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vepa.corpus.importing.draft import Draft
from vepa.corpus.importing.formats import format_of
from vepa.corpus.importing.formats.actions import ACT, Act, read_action
from vepa.corpus.importing.report import Notes


def said(action, *, answered=False, heard=""):
    found = read_action(action, answered=answered, heard=heard)
    return found.tool, found.text if found.text is not None else found.arguments


@pytest.mark.parametrize(
    ("action", "tool", "what"),
    [
        ("f()", "f", {}),
        ("f{}", "f", {}),
        ("f{'a': \"it's\"}", "f", {"a": "it's"}),
        ('f{"a": null}', "f", {"a": None}),
        ("f{'a': None, 'b': [True, -1.5]}", "f", {"a": None, "b": [True, -1.5]}),
        ('f\nAction Input: {"a": 1}\n', "f", {"a": 1}),
        ('f  Action Input:{"a": 1}', "f", {"a": 1}),
        ('f Input: {"a": 1}', "f", {"a": 1}),
        ('f:  {"a": 1} } }', "f", {"a": 1}),
        ("f(a='x', b={'c': 2})", "f", {"a": "x", "b": {"c": 2}}),
        ('{"name": "f", "arguments": {"a": 1}}', "f", {"a": 1}),
        ('{"name": "f", "args": {"a": 1}}', "f", {"a": 1}),
        ('"command": {"name": "f", "args": {"a": 1}}}', "f", {"a": 1}),
        ('{"command": {"name": "f", "args": {}}}', "f", {}),
        ("```bash\nls -l\n```", "bash", "ls -l"),
        ("f('x')", "f", "('x')"),
        ("f(*a)", "f", "(*a)"),
        ("f(**a)", "f", "(**a)"),
        ("f(a=b)", "f", "(a=b)"),
        ("f{'a': b'x'}", "f", "{'a': b'x'}"),
        ("f{'a': 1e999}", "f", "{'a': 1e999}"),
        ('f{"a": Infinity}', "f", '{"a": Infinity}'),
        ("f{'a': {1: 2}}", "f", "{'a': {1: 2}}"),
        ("Complete{'response': 'Done.'}", None, "Done."),
        ("Final Answer: Done.\n", None, "Done.\n"),
        ("Final Answer is: no", None, "Final Answer is: no"),
        ("I did it (twice).", None, "I did it (twice)."),
        ("", None, ""),
        (" \n", None, " \n"),
        ("click 'OK'", ACT, "click 'OK'"),
        ("click through the pages", None, "click through the pages"),
    ],
)
def test_every_spelling(action, tool, what):
    assert said(action) == (tool, what)


def test_words_are_an_act_where_the_environment_answers_or_offered_them():
    assert said("open the window", answered=True) == (ACT, "open the window")
    assert said("open the window", heard="Available actions: open the window, sing")[0] == ACT
    assert said("open the window", heard="Somebody might open the window.")[0] is None
    assert said("Final Answer: Done.", answered=True) == (None, "Done.")


@pytest.mark.parametrize(
    "action",
    [
        "f{" + "[" * 100_000,
        "f{'a': " + "[" * 3000 + "]" * 3000 + "}",
        "f(" + "(" * 3000 + ")" * 3000 + ")",
        "f{'a': " + "-" * 5000 + "1}",
        "f" + " " * 200_000 + "{",
        "f" + "\n" * 200_000 + "Action Input",
        "```bash\n" + "``` \n" * 20_000,
        "f{'a': " + "9" * 100_000 + "}",
        "f{'\\d': '\\N{NO SUCH}'}",
        "f{'a': '\x00'}",
        '"command": {' * 5000,
        "f.g." * 50_000 + "{}",
        "'" * 100_000,
    ],
    ids=range(13),
)
@pytest.mark.filterwarnings("error")
def test_texts_that_are_made_to_hurt_are_read_at_once(action):
    began = time.process_time()
    for answered in (False, True):
        assert isinstance(read_action(action, answered=answered), Act)
    assert time.process_time() - began < 5


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
arguments = st.dictionaries(st.text(), values, max_size=4)
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_./-]{0,12}", fullmatch=True).filter(
    lambda name: name != "Complete"
)


@pytest.mark.property
@given(names, arguments)
def test_what_was_written_is_read(name, given):
    for action in (
        f"{name}{given!r}",
        f"{name}: {json.dumps(given)}",
        f"{name}\nAction Input: {json.dumps(given, indent=1)}\n",
        json.dumps({"name": name, "arguments": given}),
    ):
        assert said(action) == (name, given)


actions = st.none() | st.text() | st.builds(lambda n, a: f"{n}{a!r}", names, arguments) | (
    st.builds(lambda n, a: json.dumps({"name": n, "arguments": a}), names, arguments)
    | st.sampled_from(["", "f()", "Final Answer: x", "Complete{'response': 'x'}", "click <a>"])
)  # fmt: skip
texts = st.none() | st.text() | st.sampled_from(["", "[Observation]: x", '{"status": "error"}'])
agent = st.fixed_dictionaries({"role": st.just("agent"), "thought": texts, "action": actions})
other = st.fixed_dictionaries({"role": st.sampled_from(["user", "environment"]), "content": texts})
conversations = st.lists(agent | other, min_size=1, max_size=6)
records = st.fixed_dictionaries(
    {
        "id": st.integers(-5, 5) | st.text(),
        "contents": st.lists(
            st.lists(agent | other, min_size=1, max_size=6), min_size=1, max_size=3
        ),
        "label": st.sampled_from([0, 1, None]),
    },
    optional={
        "profile": texts,
        "risk_description": texts,
        "ambiguous": st.sampled_from([0, 1, None]),
        "tool_used": st.none() | st.just([]) | st.just([{"name": "f", "_source": "x"}]),
    },
)


@pytest.mark.property
@pytest.mark.parametrize("name", ["assebench", "atbench", "rjudge"])
@given(records)
def test_any_record_is_restored(name, record):
    kind = format_of(name)
    (draft,) = kind.read(json.loads(json.dumps(record)), {}, Notes())
    assert isinstance(draft, Draft)
    trajectory = draft.finish(f"{name}/{draft.id}", name)
    again = type(trajectory).model_validate_json(trajectory.model_dump_json(exclude_none=True))
    assert kind.restore(again) == record
