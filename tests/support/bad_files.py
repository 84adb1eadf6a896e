"""Bad policies and bad lines of events, with what should be said about each."""

from __future__ import annotations

from typing import Any

from vepa.policy import Policy, Schema

OTHER = Policy(Schema(3, {"moon": ["full", "new"]})).to_yaml()
LAUGHS = "a: &a [x, x]\n" + "".join(
    f"{chr(98 + at)}: &{chr(98 + at)} [*{chr(97 + at)}, *{chr(97 + at)}]\n" for at in range(20)
)

#: Content, or an edit of the good policy (old, new); line; place as people read it; a part
#: of the message; remedy.
POLICIES: dict[str, tuple[Any, int | None, str | None, str, str]] = {
    "unknown field": (
        ("injection:", "injektion:"),
        6,
        "injektion",
        "no field 'injektion'",
        "did you mean 'injection'",
    ),
    "unknown value": (
        ("[followed]", "[folowed]"),
        6,
        "injection",
        "'folowed' is not in the domain",
        "did you mean 'followed'",
    ),
    "conflict": (
        ("injection: {in: [none, ignored]}", "scope: {in: [within]}"),
        8,
        None,
        "rule 'r2' allows and rule 'r1' refuses",
        "make them disjoint",
    ),
    "duplicate id": (("id: r2", "id: r1"), 8, None, "'r1' occurs twice", "id of its own"),
    "duplicate field": (
        ("    harm_domain:", "    injection:"),
        12,
        None,
        "duplicate key 'injection'",
        "keep one",
    ),
    "malformed YAML": (("[followed]", "[followed"), 6, None, "malformed YAML", "brackets"),
    "a tab": (("    injection", "\tinjection"), 6, None, "malformed YAML", "indentation"),
    "empty file": ("", 1, None, "the file is empty", "write its content"),
    "only comments": ("# nothing\n", 1, None, "only comments", "write its content"),
    "binary file": (b"policy: 1\n\x00\x01\x02\xff", 2, None, "binary file", "UTF-8 text"),
    "Latin-1": ("rules: [] # \xe4".encode("latin-1"), 1, None, "not UTF-8", "save the file"),
    "a number for a word": (
        ("[followed]", "[5]"),
        6,
        "rule 'r1', when.injection.in, entry 1",
        "a word belongs here, not the number 5",
        "quote a word",
    ),
    "no": (
        ("[followed]", "[no]"),
        6,
        "rule 'r1', when.injection.in, entry 1",
        "not the yes/no value false",
        "quote a word that YAML reads as",
    ),
    "a word for a number": (
        ("policy: 1", "policy: one"),
        1,
        "policy",
        '1 belongs here, not "one"',
        "`policy: 1`",
    ),
    "NaN": (
        ("[followed]", "[.nan]"),
        6,
        "rule 'r1', when.injection.in, entry 1",
        "not the number NaN",
        "quote",
    ),
    "a 50 MB line": (
        b"policy: 1\nrules: [" + b"a" * 50_000_000 + b"]\n",
        2,
        None,
        "larger than 32 MiB",
        "right file",
    ),
    "too many values": (
        b"policy: 1\nrules: [" + b"1, " * 5_000_000 + b"]\n",
        None,
        None,
        "too many values",
        "JSON",
    ),
    "another schema": (OTHER, 2, "schema", "schema version 3", "--schema"),
    "schema that is no hash": (
        ("policy: 1\n", "policy: 1\nschema: {version: 1, sha256: x}\n"),
        2,
        "schema",
        "written for schema version 1",
        "--schema",
    ),
    "another unit": (
        ("policy: 1\n", "policy: 1\nunit: galaxy\n"),
        2,
        "unit",
        "'trajectory', 'step' or 'call' belongs here, not \"galaxy\"",
        "use trajectory, step or call",
    ),
    "deep nesting": ("rules: " + "[" * 100_000, 1, None, "nesting", "brackets"),
    "deep but short": ("rules: " + "[" * 50 + "]" * 50, 1, None, "nested deeper", "flatten"),
    "aliases": (LAUGHS, 1, None, "anchors and aliases", "write the value out"),
    "a tag": ("policy: !!python/object/apply:os.system [ls]\n", 1, None, "tag", "plain values"),
    "two documents": (("rules:\n", "---\nrules:\n"), 2, None, "another document", "check"),
    "a list": ("- policy\n", 1, None, "a mapping belongs here", "a policy file holds"),
    "missing key": (
        ("  decision: refuse\n", ""),
        3,
        "rule 'r1', decision",
        "this key is missing",
        "id, decision, when",
    ),
    "unknown key": (
        ("  decision: refuse\n", "  decision: refuse\n  why: so\n"),
        5,
        "rule 'r1', why",
        "not known here",
        "keys: id, decision, when",
    ),
    "both operators": (
        ("{in: [followed]}", "{in: [followed], not_in: [none]}"),
        6,
        "rule 'r1', when.injection",
        "either",
        "a predicate is {in: [value, ...]}",
    ),
    "no value": (("[followed]", "[]"), 3, "injection", "no value of 'injection'", "at least one"),
    "every value": (
        ("{in: [followed]}", "{not_in: []}"),
        3,
        "injection",
        "every value of",
        "drop the predicate",
    ),
    "no predicate": (
        ("    injection: {in: [none, ignored]}\n    harm_domain: {in: [none]}\n", "    {}\n"),
        8,
        None,
        "no predicate",
        "add a predicate",
    ),
    "malformed JSON": ('{"policy": 1,\n "rules": [}\n', 2, None, "malformed JSON", "brackets"),
}

#: Content after one good line; field; a part of the message; remedy.
EVENTS: dict[str, tuple[Any, str | None, str, str]] = {
    "unknown field": (
        '{"injektion": "none"}',
        "event.injektion",
        "no field 'injektion'",
        "did you mean 'injection'",
    ),
    "unknown value": (
        '{"injection": "nonne"}',
        "event.injection",
        "'nonne' is not in the domain",
        "did you mean 'none'",
    ),
    "a number for a word": (
        '{"id": "x", "event": {"injection": 5}}',
        "event.injection",
        "a word belongs here, not the number 5",
        "a record is",
    ),
    "a list for a word": (
        '{"injection": ["none"]}',
        "event.injection",
        "a word belongs here",
        "a record is",
    ),
    "null": ('{"injection": null}', "event.injection", "a word belongs here", "a record is"),
    "NaN": ('{"injection": NaN}', None, "NaN is no JSON", "as JSON has it"),
    "duplicate field": (
        '{"injection": "none", "injection": "none"}',
        None,
        "duplicate key 'injection'",
        "keep one",
    ),
    "malformed JSON": ('{"injection": "none"', None, "malformed JSON", "one JSON object a line"),
    "YAML": ("injection: none", None, "malformed JSON", "one JSON object a line"),
    "a list": ('[{"injection": "none"}]', None, "not an object", '{"id"'),
    "a word": ('"none"', None, "not an object", '{"id"'),
    "binary": (b"{\x00}", None, "binary file", "UTF-8"),
    "Latin-1": (b'{"id": "\xe4", "event": {}}', None, "not UTF-8", "save the file"),
    "a 50 MB line": (
        b'{"id": "' + b"x" * 50_000_000 + b'"}',
        None,
        "more than 1024 KiB",
        "right file",
    ),
    "deep nesting": ('{"event":' * 50_000, None, "nested too deep", "flat"),
    "half a surrogate": ('{"id": "\\ud800", "event": {}}', None, "surrogate", "UTF-8"),
    "a number too long": (
        '{"id": "a", "event": {}, "meta": {"x": ' + "9" * 5_000 + "}}",
        None,
        "malformed JSON",
        "JSON",
    ),
    "unknown key": (
        '{"id": "x", "event": {}, "evnet": {}}',
        "evnet",
        "not known here",
        "a record is",
    ),
    "a wrong label": (
        '{"id": "x", "event": {}, "label": "deny"}',
        "label",
        "'allow' or 'refuse' belongs here, not \"deny\"",
        "a record is",
    ),
    "no such unit": (
        '{"id": "x", "event": {}, "unit": "stp"}',
        "unit",
        "'trajectory', 'step' or 'call' belongs here",
        "a record is",
    ),
    "another unit": (
        '{"id": "x", "event": {}, "unit": "step"}',
        "unit",
        "event 'x' is a step",
        "use a policy of unit 'step'",
    ),
    "a number for an id": ('{"id": 5, "event": {}}', "id", "not the number 5", "a record is"),
}
