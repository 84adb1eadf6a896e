"""Metadata of tools: three forms of a value, held against a schema, faults with their place."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from vepa.corpus.arguments import argument_texts, path_spellings
from vepa.corpus.tools import ToolEvent, ToolMetadata
from vepa.errors import InputError
from vepa.policy import bundled_schema
from vepa.policy.document import complaint

SCHEMA = bundled_schema()


def tool(**changes: Any) -> dict[str, Any]:
    event = {
        "action_kind": "send",
        "sensitivity": {
            "argument": ["path", "body"],
            "rules": [
                {"pattern": "^/?HR/", "value": "confidential"},
                {"pattern": "^/?Public/", "value": "public"},
            ],
            "otherwise": "internal",
        },
        "recipient": {"argument": "to", "resolve": "address", "otherwise": "external"},
    }
    names = ("to", "path", "body")
    return {
        "name": "mail_send",
        "environment": "mail",
        "description": "Sends a mail.",
        "parameters": {"type": "object", "properties": {name: {} for name in names}},
        "effect": "write",
        "event": event,
        "origin": "none",
        "decisive": ["to"],
        "carries": ["body"],
        **changes,
    }


def test_it_is_written_and_read_without_loss():
    made = ToolMetadata.model_validate(tool())
    made.check_against(SCHEMA)
    assert ToolMetadata.model_validate_json(made.model_dump_json()) == made
    assert made.model_dump()["event"]["action_kind"] == "send"
    block = {key: tool()[key] for key in ("event", "origin", "decisive", "carries")}
    assert ToolEvent.model_validate(block).event == made.event


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ({"path": "HR/pay.csv"}, "confidential"),
        ({"path": "/hr/pay.csv"}, "confidential"),
        ({"path": "Public/../HR/pay.csv"}, "confidential"),
        ({"path": "Team//%2e%2e/HR/pay.csv"}, "confidential"),
        ({"path": "H\u200bR/pay.csv"}, "confidential"),
        ({"path": ["Public/a", "HR/b"]}, "confidential"),
        ({"path": {"from": "Public/a"}}, "public"),
        ({"body": "HR/x", "path": "Public/x"}, "confidential"),
        ({"path": "Team/HR/x"}, "internal"),
        ({"path": None}, "internal"),
        ({}, "internal"),
    ],
)
def test_the_first_rule_that_is_found_decides(arguments, value):
    made = ToolMetadata.model_validate(tool())
    assert made.event["sensitivity"].derive(arguments) == value


def test_a_dotted_name_reaches_into_objects_and_lists():
    arguments = {"attendees": [{"email": "a@b.test"}, {"email": ["c@d.test", 7]}, "e", {"x": 1}]}
    assert argument_texts(arguments, "attendees.email") == ["a@b.test", "c@d.test", "7"]
    assert argument_texts({"n": True, "m": " "}, "n") == ["true"]
    assert argument_texts({"n": True, "m": " "}, "m") == []


def test_a_path_comes_down_to_what_it_names():
    assert path_spellings("a/../b//c/") == ["a/../b//c/", "b/c/"]
    assert path_spellings("https://x.test/a/%2e%2e/b") == [
        "https://x.test/a/%2e%2e/b",
        "https://x.test/b",
    ]
    assert path_spellings("plain words") == ["plain words"]


def changed(field: str, value: Any) -> dict[str, Any]:
    return tool(event={**tool()["event"], field: value})


RULES = [{"pattern": "x", "value": "internal"}]


@pytest.mark.parametrize(
    ("data", "path", "words"),
    [
        (changed("resourse", "file"), ("event",), "did you mean 'resource'"),
        (changed("injection", "none"), ("event",), "metadata gives no field 'injection'"),
        (changed("resource", 3), ("event", "resource"), ""),
        (changed("resource", {"argument": "to"}), ("event", "resource"), "a word, or"),
        (changed("resource", {"rules": RULES}), ("event", "resource"), "a word, or"),
        (changed("resource", {"constant": "file"}), ("event", "resource"), "the value itself"),
        (
            changed("resource", {"argument": "to", "rules": [{"pattern": "(", "value": "file"}]}),
            ("event", "resource", "rules", 0, "pattern"),
            "no regular expression",
        ),
        (
            changed("resource", {"argument": "to", "resolve": "address"}),
            ("event",),
            "`resolve` is for `recipient`",
        ),
        (
            changed("resource", {"argument": "who", "rules": RULES}),
            (),
            "the tool has no argument 'who'",
        ),
        (tool(decisive=["t"]), (), "decisive: the tool has no argument 't'"),
        (tool(origin="mail"), ("origin",), "message_content"),
        (tool(effect="maybe"), ("effect",), "destroy"),
        (tool(parameters={"properties": {}}), (), "a JSON schema"),
        (tool(name="mail send"), ("name",), ""),
        (tool(extra=1), ("extra",), "not known"),
    ],
)
def test_a_fault_names_its_place(data, path, words):
    with pytest.raises(ValidationError) as caught:
        ToolMetadata.model_validate(data)
    found, message = complaint(caught.value)
    assert found == path
    assert words in message


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (changed("resource", "fil"), "event.resource"),
        (
            changed("resource", {"argument": "to", "rules": [{"pattern": "x", "value": "fil"}]}),
            "event.resource.rules.0.value",
        ),
        (
            changed("recipient", {"argument": "to", "resolve": "address", "otherwise": "outside"}),
            "event.recipient.otherwise",
        ),
    ],
)
def test_values_are_held_against_the_schema(data, field):
    with pytest.raises(InputError) as caught:
        ToolMetadata.model_validate(data).check_against(SCHEMA)
    assert caught.value.where.field == field
    assert "values: " in (caught.value.remedy or "")
