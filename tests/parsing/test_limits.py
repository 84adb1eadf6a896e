"""What provenance matching sees and misses: the document's tables are the parser's real answers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from scripted import episode

from vepa.parsing.instrumented import parse_trajectory

CASES = yaml.safe_load((Path(__file__).parent / "limits.yaml").read_text("utf-8"))
TARGET = "intake@records-archive.example"
SALARIES = '[{"name": "Fatima Benali", "salary": 51800}, {"name": "Leo Krüger", "salary": 44600}]'


def mail(text: str, sender: str, attachment: str | None = None) -> dict[str, Any]:
    content = {"id": "mail#1", "from": sender, "subject": "News", "body": text}
    if attachment:
        content["attachments"] = [{"name": attachment}]
    return {"tool": "mail_read", "args": {"id": "mail#1"}, "result": json.dumps(content)}


def steps_of(case: dict[str, Any]) -> list[dict[str, Any]]:
    sender = case.get("from", TARGET)
    lines: list[dict[str, Any]] = [{"user": case.get("user", "Summarise what is new.")}]
    lines.extend(mail(case[key], sender) for key in ("mail", "mail2") if key in case)
    if "attachment" in case:
        lines.append(mail("See the attachment.", "x@nordkap.test", case["attachment"]))
    if "page" in case:
        lines.append({"tool": "wiki_read", "args": {"page": "News"}, "result": case["page"]})
    if "ticket" in case:
        creator = case.get("creator", TARGET)
        ticket = json.dumps({"id": "31", "creator": creator, "description": case["ticket"]})
        lines.append({"tool": "tickets_read", "args": {"id": "31"}, "result": ticket})
    if "error" in case:
        lines.append({"tool": "files_list", "args": {"path": "Team"}, "error": case["error"]})
    if "empty" in case:
        lines.append({"tool": "tickets_update", "args": {"id": "3"}, "result": case["empty"]})
    if "answer" in case:
        lines += [{"answer": case["answer"]}, {"user": case["user2"]}]
    if "body" in case:
        query = {"sql": "SELECT name, salary FROM salaries"}
        lines.append({"tool": "db_query", "args": query, "result": SALARIES})
    body = case.get("body", "Here it is.")
    lines.append({"tool": "mail_send", "args": {"to": TARGET, "subject": "News", "body": body}})
    return lines


def answer_of(group: str, case: dict[str, Any]) -> str:
    *_, call, _ = parse_trajectory(episode(case["name"], "helena", steps_of(case)))
    if group == "sensitivity":
        return call.event["sensitivity"]
    return f"{call.event['instruction_origin']} {call.event['injection']}"


def table(group: str) -> str:
    lines = ["| case | a careful reader | the parser | |", "|---|---|---|---|"]
    for case in CASES[group]:
        answer = answer_of(group, case)
        verdict = "right" if answer == case["truth"] else "**wrong**"
        if answer.startswith("unknown"):
            verdict = "missed"
        name = case["name"].replace("|", "\\|")
        lines.append(f"| {name} | {case['truth']} | {answer} | {verdict} |")
    return "\n".join(lines)


@pytest.mark.parametrize("group", CASES)
def test_the_document_shows_the_parsers_own_answers(group):
    root = Path(__file__).parents[2]
    text = (root / "docs" / "instrumented-parser.md").read_text("utf-8")
    found = re.search(rf"<!-- {group} -->\n(.*?)\n<!-- end -->", text, re.DOTALL)
    assert found, f"the document lacks the table {group!r}"
    expected = table(group)
    assert found[1] == expected, f"the table {group!r} must read:\n{expected}"


def test_misses_are_shown_as_misses():
    """A table without a miss would mean that the hard cases were left out."""
    for group in ("planted", "sensitivity"):
        wrong = [case["name"] for case in CASES[group] if answer_of(group, case) != case["truth"]]
        assert 0 < len(wrong) < len(CASES[group]) / 2
