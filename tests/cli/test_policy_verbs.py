"""`vepa policy …`: each verb on good input, in both forms, with its exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vepa.policy import Policy, Schema, bundled_schema, load_policy

HASHES = {"policy_hash"}


def conflict(files: Path) -> Path:
    text = (files / "p.yaml").read_text()
    path = files / "bad.yaml"
    path.write_text(text.replace("injection: {in: [none, ignored]}", "scope: {in: [within]}"))
    return path


def test_check_of_a_good_policy(vepa: Any, files: Path) -> None:
    ran = vepa("policy", "check", files / "p.yaml", "--json")
    assert ran.code == 0
    policy = load_policy((files / "p.yaml").read_text())
    assert ran.json == {"ok": True, "policy_hash": policy.policy_hash, "feedback": []}
    plain = vepa("policy", "check", files / "p.yaml")
    assert (plain.code, plain.out) == (0, f"ok: 3 rules, policy_hash {policy.policy_hash}\n")


def test_check_of_a_conflict(vepa: Any, files: Path) -> None:
    path = conflict(files)
    ran = vepa("policy", "check", path, "--json")
    assert ran.code == 2
    assert (ran.json["ok"], ran.json["policy_hash"]) == (False, None)
    (item,) = ran.json["feedback"]
    assert set(item) == {"code", "rules", "field", "witness", "message", "line", "remedy"}
    assert (item["code"], item["rules"], item["line"]) == ("conflict", ["r2", "r1"], 8)
    assert item["witness"]["injection"] == "followed"
    plain = vepa("policy", "check", path)
    assert (plain.code, plain.out) == (2, "")
    assert f"error: {path}:8: rule 'r2' allows and rule 'r1' refuses the same event" in plain.err
    assert (
        "witness: {injection: followed, scope: within, recipient: internal, harm_domain: none}"
        in plain.err
    )


def test_check_reports_subsumed_rules_without_rejecting(vepa: Any, files: Path) -> None:
    path = files / "p.yaml"
    path.write_text(
        path.read_text() + "- {id: r4, decision: allow, when: {injection: {in: [none]}, "
        "harm_domain: {in: [none]}}}\n"
    )
    ran = vepa("policy", "check", path, "--json")
    assert (ran.code, ran.json["ok"]) == (0, True)
    (item,) = ran.json["feedback"]
    assert (item["code"], item["rules"], item["line"]) == ("subsumed", ["r4", "r2"], 19)
    assert "subsumed" in vepa("policy", "check", path).out


def test_check_of_mistakes_of_shape(vepa: Any, files: Path) -> None:
    path = files / "bad.yaml"
    path.write_text("policy: 1\nrules:\n- {id: a, decision: deny, when: []}\n- x\n")
    plain = vepa("policy", "check", path)
    assert plain.err.splitlines() == [
        f"error: {path}:3: rule 'a', decision: 'allow' or 'refuse' belongs here, not \"deny\"",
        "  remedy: use allow or refuse",
        f"error: {path}:3: rule 'a', when: a mapping belongs here",
        f"error: {path}:4: rule 2: a mapping belongs here",
        "  remedy: a policy file holds `policy: 1` and `rules: [{id, decision, when}]`",
        "fields, values and conflicts were not checked yet",
    ]
    told = vepa("policy", "check", path, "--json").json["feedback"]
    assert [item["field"] for item in told] == ["rules.0.decision", "rules.0.when", "rules.1"]
    assert all(item["remedy"] for item in told)
    # Other verbs name the place as people read it, and keep the path for machines.
    shown = vepa("policy", "show", path, "--json")
    assert shown.json["error"]["field"] == "rules.0.decision"
    assert f"{path}:3: rule 'a', decision: " in shown.err
    assert "(and 2 more findings)" in shown.err


def test_check_says_what_was_not_checked_yet(vepa: Any, files: Path) -> None:
    path = files / "bad.yaml"
    path.write_text((files / "p.yaml").read_text().replace("[followed]", "[folowed]"))
    assert vepa("policy", "check", path).err.endswith("\nconflicts were not checked yet\n")
    assert "not checked yet" not in vepa("policy", "check", conflict(files)).err


def test_one_rule_is_no_rules(vepa: Any, files: Path) -> None:
    path = files / "one.yaml"
    path.write_text(
        "policy: 1\nrules: [{id: r, decision: allow, when: {injection: {in: [none]}}}]\n"
    )
    assert vepa("policy", "check", path).out.startswith("ok: 1 rule, policy_hash")
    assert "1 rule, 1 active, unit trajectory" in vepa("policy", "show", path).out


def test_check_reads_stdin(process: Any, files: Path) -> None:
    text = (files / "p.yaml").read_text()
    ran = process("policy", "check", "-", "--json", stdin=text)
    assert ran.json["ok"] is True
    wrong = process("policy", "check", "-", stdin="policy: 1\n")
    assert (wrong.code, wrong.out) == (2, "")
    assert wrong.err.startswith("error: <stdin>:1: rules: this key is missing")


def test_fmt_prints_checks_and_writes(vepa: Any, files: Path) -> None:
    path = files / "p.yaml"
    before = load_policy(path.read_text())
    printed = vepa("policy", "fmt", path)
    assert printed.code == 0
    assert load_policy(printed.out).policy_hash == before.policy_hash
    assert vepa("policy", "fmt", path, "--json").json["text"] == printed.out
    assert vepa("policy", "fmt", path, "--check").code == 1
    assert path.read_text() != printed.out
    written = vepa("policy", "fmt", path, "--write", "--json")
    assert written.json == {"file": str(path), "canonical": False, "written": True}
    assert path.read_text() == printed.out
    assert vepa("policy", "fmt", path, "--check").code == 0
    again = vepa("policy", "fmt", path, "--write", "--json")
    assert again.json == {"file": str(path), "canonical": True, "written": False}
    assert [name.name for name in files.iterdir() if name.suffix == ".part"] == []


def test_fmt_keeps_comments_unless_told(vepa: Any, files: Path) -> None:
    path = files / "p.yaml"
    text = path.read_text().replace("rules:\n", "rules:\n# why\n")
    path.write_text(text)
    ran = vepa("policy", "fmt", path, "--write")
    assert ran.code == 2
    assert f"{path}:3: the file has comments" in ran.err
    assert "--drop-comments" in ran.err
    assert path.read_text() == text
    assert vepa("policy", "fmt", path, "--write", "--drop-comments").code == 0
    assert "# why" not in path.read_text()


def test_fmt_of_json_stays_json(vepa: Any, files: Path) -> None:
    path = files / "p.json"
    policy = load_policy((files / "p.yaml").read_text())
    path.write_text(json.dumps(policy.to_dict()))
    assert vepa("policy", "fmt", path, "--write").code == 0
    assert json.loads(path.read_text()) == policy.canonical().to_dict()
    assert vepa("policy", "fmt", path, "--check").code == 0


@pytest.mark.parametrize("arguments", [("p.yaml", "--check", "--write"), ("-", "--write")])
def test_fmt_options_that_do_not_go_together(
    vepa: Any, files: Path, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    assert vepa("policy", "fmt", *arguments).code == 2


def test_lint_and_strict(vepa: Any, files: Path) -> None:
    path = files / "p.yaml"
    clean = vepa("policy", "lint", path, "--strict", "--json")
    assert clean.code == 1  # the inactive rule is spelled in another order
    assert [item["code"] for item in clean.json["warnings"]] == ["not_canonical"]
    vepa("policy", "fmt", path, "--write")
    fine = vepa("policy", "lint", path, "--strict", "--json")
    assert (fine.code, fine.json) == (0, {"ok": True, "warnings": []})
    path.write_text(path.read_text().replace("{in: [none, ignored]}", "{not_in: [followed]}"))
    loose = vepa("policy", "lint", path)
    assert loose.code == 0
    assert f"{path}:14: injection: rule 'r2' allows when 'injection' is unknown too" in loose.out
    assert vepa("policy", "lint", path, "--strict").code == 1


def test_show(vepa: Any, files: Path) -> None:
    path = files / "p.yaml"
    path.write_text(
        path.read_text().replace(
            "  status: inactive\n", "  evidence: {support: 20, contradictions: 1}\n"
        )
    )
    ran = vepa("policy", "show", path, "--json")
    assert ran.code == 0
    policy = load_policy(path.read_text())
    data = ran.json
    assert (data["policy_hash"], data["document_hash"]) == (
        policy.policy_hash,
        policy.document_hash,
    )
    assert [rule["id"] for rule in data["rules"]] == ["r1", "r2", "r3"]
    assert data["rules"][0]["confidence"] is None
    assert 0.2 < data["rules"][2]["confidence"] < 0.4
    plain = vepa("policy", "show", path)
    assert "3 rules, 0 active, unit trajectory" in plain.out
    assert "███░░░░░░░ 0.30" in plain.out
    assert "injection in {none, ignored}" in plain.out
    assert (
        "by counts alone ('paper'), a rule with evidence is active when P(precision ≥ 0.95) ≥ 0.5: "
        "13 supports with no contradiction, 32 with one" in plain.out
    )


def test_a_probability_of_the_run_is_shown_and_told(vepa: Any, files: Path) -> None:
    path = files / "p.yaml"
    evidence = "  evidence: {support: 20, contradictions: 9, probability: 0.72}\n"
    before = files / "before.yaml"
    before.write_text(
        path.read_text().replace("  status: inactive\n", f"{evidence}  status: inactive\n")
    )
    path.write_text(
        path.read_text().replace("  status: inactive\n", f"{evidence}  status: active\n")
    )
    assert vepa("policy", "show", path, "--json").json["rules"][2]["confidence"] == 0.72
    plain = vepa("policy", "show", path).out
    assert "P(precise enough)" in plain
    assert "███████░░░ 0.72" in plain
    assert "under 'noise-aware', the default, on true labels" in plain
    assert "active from 0.5 on" in plain
    assert "by counts alone" not in plain
    told = "[20 for, 9 against, precise enough with probability 0.72]"
    assert told in vepa("policy", "explain", path, files / "e.jsonl").out
    changed = vepa("policy", "diff", before, path).out
    assert f"rule status: r3: now active {told}" in changed


def test_explain(vepa: Any, files: Path) -> None:
    ran = vepa("policy", "explain", files / "p.yaml", files / "e.jsonl", "--json")
    assert ran.code == 0
    first, second, third = ran.json["events"]
    assert (first["id"], first["label"], first["verdict"], first["rules"]) == (
        "a",
        "refuse",
        "refuse",
        ["r1"],
    )
    assert (second["id"], second["verdict"], second["label"]) == ("b", "allow", None)
    assert (third["id"], third["verdict"]) == ("line-4", "abstain")
    assert [rule["id"] for rule in third["inactive"]] == ["r3"]
    miss = third["nearest"][0]
    assert miss["rule"] == "r1"
    assert miss["failures"] == [
        {
            "field": "recipient",
            "value": "unknown",
            "predicate": {"in": ["internal", "external", "public"]},
            "satisfied_by": ["internal", "external", "public"],
        }
    ]
    one = vepa("policy", "explain", files / "p.yaml", files / "e.jsonl", "--id", "line-4")
    assert one.code == 0
    assert one.out.startswith("line-4: abstain\n  matched but inactive: r3: ")
    assert "recipient in {internal, external, public}: it is 'unknown'" in one.out
    none = vepa("policy", "explain", files / "p.yaml", files / "e.jsonl", "--id", "zz")
    assert none.code == 2
    assert "no event has the id 'zz'" in none.err


def test_diff(vepa: Any, files: Path) -> None:
    one, other = files / "p.yaml", files / "q.yaml"
    text = one.read_text()
    other.write_text(
        text.replace("  status: inactive\n", "").replace("{in: [none, ignored]}", "{in: [none]}")
    )
    ran = vepa("policy", "diff", one, other, "--events", files / "e.jsonl", "--json")
    assert ran.code == 0
    data = ran.json
    assert data["equivalent"] is False
    assert {(c["from"], c["to"]) for c in data["changes"]} == {
        ("allow", "abstain"),
        ("abstain", "refuse"),
    }
    assert all(change["exact"] for change in data["changes"])
    assert sorted(change["kind"] for change in data["rules"]) == ["changed", "status"]
    assert data["events"]["total"] == 3
    assert data["events"]["changed"] == 1
    assert data["events"]["transitions"][0] == {
        "from": "abstain",
        "to": "refuse",
        "count": 1,
        "labelled": {"allow": 0, "refuse": 0},
        "ids": ["line-4"],
    }
    assert vepa("policy", "diff", one, other, "--exit-code").code == 1
    plain = vepa("policy", "diff", one, other, "--events", files / "e.jsonl").out
    assert "abstain → refuse: 1 (labelled: 0 allow, 0 refuse): line-4" in plain
    assert "decisions differ" in plain


def test_diff_tells_dangers_first_with_labels(vepa: Any, files: Path) -> None:
    one, other, events = files / "p.yaml", files / "q.yaml", files / "f.jsonl"
    head = "policy: 1\nrules:\n"
    one.write_text(
        head + "- {id: a, decision: allow, when: {injection: {in: [none]}}}\n"
        "- {id: b, decision: refuse, when: {injection: {in: [followed]}}}\n"
    )
    other.write_text(
        head + "- {id: a, decision: refuse, when: {injection: {in: [none]}}}\n"
        "- {id: b, decision: allow, when: {injection: {in: [followed]}}}\n"
        "- {id: c, decision: refuse, when: {injection: {in: [ignored]}}}\n"
    )
    rows = [("none", "allow"), ("ignored", "allow"), *[("followed", "refuse")] * 2]
    rows += [("followed", "allow"), ("unknown", "refuse")]
    events.write_text(
        "".join(
            json.dumps({"id": f"e{at}", "event": {"injection": value}, "label": label}) + "\n"
            for at, (value, label) in enumerate(rows)
        )
    )
    plain = vepa("policy", "diff", one, other, "--events", events).out
    at = plain.index("on 6 events 5 decisions change\n")
    assert plain[at:].splitlines()[1:] == [
        "  refuse → allow: 3 (labelled: 1 allow, 2 refuse): e2, e3, e4",
        "  allow → refuse: 1 (labelled: 1 allow, 0 refuse): e0",
        "  abstain → refuse: 1 (labelled: 1 allow, 0 refuse): e1",
        "unchanged:",
        "  abstain → abstain: 1 (labelled: 0 allow, 1 refuse)",
    ]
    assert plain.index("refuse → allow: ") < plain.index("allow → refuse: ")
    assert "fields that a witness leaves out are `unknown` in it" in plain
    space = vepa("policy", "diff", one, other, "--json").json["space"]
    assert f"refuse → allow: {space // 4:,} events (25.00% of all)" in plain
    events.write_text('{"injection": "followed"}\n')
    assert "(labelled" not in vepa("policy", "diff", one, other, "--events", events).out
    assert "on 1 event 1 decision changes" in (
        vepa("policy", "diff", one, other, "--events", events).out
    )


def test_diff_of_equivalents_says_whether_the_rules_differ(vepa: Any, files: Path) -> None:
    one, other = files / "p.yaml", files / "q.yaml"
    other.write_text(one.read_text().replace("id: r1", "id: r9"))
    assert "both decide every event alike, though their rules differ" in (
        vepa("policy", "diff", one, other).out
    )
    assert "both decide every event alike, by the same rules" in (
        vepa("policy", "diff", one, one).out
    )


def test_diff_over_different_schemas_names_the_migration(vepa: Any, files: Path) -> None:
    schema, other = files / "s.schema.yaml", files / "q.yaml"
    schema.write_text("version: 2\nfields: {injection: [none, followed]}\n")
    other.write_text(Policy(Schema.parse(schema.read_text())).to_yaml())
    one = files / "p.yaml"
    one.write_text(vepa("policy", "fmt", one).out)
    for options in ((), ("--schema", schema)):
        ran = vepa("policy", "diff", one, other, *options)
        assert (ran.code, ran.out) == (2, "")
        foreign = one if options else other
        assert f"error: {foreign}:2: schema: the policies are over different schemas" in ran.err
        assert "`vepa schema migrate OLD_SCHEMA NEW_SCHEMA POLICY --output FILE`" in ran.err
    # Two policies of one schema that is not at hand: its file is what is missing.
    ran = vepa("policy", "diff", other, other)
    assert ran.code == 2
    assert "name its schema with --schema" in ran.err


def test_diff_of_the_same_is_empty(vepa: Any, files: Path) -> None:
    one, other = files / "p.yaml", files / "q.yaml"
    other.write_text(vepa("policy", "fmt", one).out)
    ran = vepa("policy", "diff", one, other, "--exit-code", "--json")
    assert ran.code == 0
    assert (ran.json["equivalent"], ran.json["rules"], ran.json["changes"]) == (True, [], [])


def test_test(vepa: Any, files: Path) -> None:
    ran = vepa("policy", "test", files / "p.yaml", "--json")
    assert ran.code == 0
    assert (ran.json["passed"], ran.json["failed"]) == (2, 0)
    assert ran.json["coverage"] == {"active": 2, "fired": 2, "untested": []}
    tests = files / "other.yaml"
    tests.write_text("- {event: {injection: followed}, expect: refuse}\n")
    wrong = vepa("policy", "test", files / "p.yaml", "--tests", tests)
    assert wrong.code == 1
    assert f"FAILED {tests}:1: test 1: expected refuse, got abstain" in wrong.out
    assert "never fired: r1, r2" in wrong.out


def test_test_needs_a_tests_file(vepa: Any, files: Path) -> None:
    (files / "p.tests.yaml").unlink()
    ran = vepa("policy", "test", files / "p.yaml")
    assert ran.code == 2
    assert "p.tests.yaml: no such file" in ran.err
    assert "name another with --tests FILE; a tests file is a list of `{name?, event: " in ran.err
    assert vepa("policy", "test", "-").code == 2


def test_test_refuses_a_rule_that_is_not_there(vepa: Any, files: Path) -> None:
    path = files / "p.tests.yaml"
    path.write_text(
        "- event: {injection: followed, recipient: public}\n"
        "  expect: refuse\n  rules:\n  - r1\n  - r11\n"
    )
    ran = vepa("policy", "test", files / "p.yaml")
    assert (ran.code, ran.out) == (2, "")
    assert f"error: {path}:5: test 1, rules: the policy has no rule 'r11'" in ran.err
    assert "remedy: did you mean 'r1'? rules: r1, r2, r3" in ran.err


def test_another_schema_by_option(vepa: Any, files: Path) -> None:
    schema = files / "three.yaml"
    schema.write_text("version: 1\nfields: {colour: [red, green], size: [small], age: [old]}\n")
    policy = files / "c.yaml"
    policy.write_text("policy: 1\nrules: [{id: r, decision: allow, when: {colour: {in: [red]}}}]\n")
    assert vepa("policy", "check", policy).code == 2
    assert vepa("policy", "check", policy, "--schema", schema).code == 0
    events = files / "c.jsonl"
    events.write_text('{"colour": "red"}\n')
    ran = vepa("decide", "--policy", policy, events, "--schema", schema, "--json")
    assert ran.lines[0]["verdict"] == "allow"
    written = files / "w.yaml"
    written.write_text(vepa("policy", "fmt", policy, "--schema", schema).out)
    mismatch = vepa("policy", "check", written, "--json")
    assert mismatch.code == 2
    assert mismatch.json["feedback"][0]["code"] == "schema_mismatch"
    assert bundled_schema().sha256[:12] in mismatch.json["feedback"][0]["message"]
