"""Cases as other tools have them: exported, answered there, and handed back."""

from __future__ import annotations

import json

from disputed import REFUSE, item

from vepa.annotate.arbitration.exchange import export_cases
from vepa.corpus.labels import Evidence

HASHES = [item(number).hash for number in range(4)]


def exported(queue, path, kind, **more):
    return export_cases(queue, kind, path / f"{kind}.json", **more).files


def written(path, data):
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def accounted(report):
    """Every answer became something, and the document adds up."""
    told = report.document()
    fates = ("taken", "known", "settled", "unknown", "lent", "skipped", "malformed")
    assert told["answers"] == sum(told[name] for name in fates)
    assert sum(report.by.values()) == told["taken"]
    return {name: told[name] for name in (*fates, "unanswered") if told[name]}


def region(name, kind, value):
    return {"id": name, "from_name": name, "to_name": "steps", "type": kind, "value": value}


def annotated(task, who=10, *, decision="refuse", **more):
    """A task of Label Studio as its JSON export has it, with an annotation."""
    result = [region("decision", "choices", {"choices": [decision]})]
    if decision == "refuse":
        keys = ["flawed_planning_or_reasoning", "incorrect_tool_parameters"]
        quote = {"start": "1", "end": "1", "startOffset": 4, "endOffset": 10, "text": "mail#1"}
        result += [
            region("triggers", "choices", {"choices": keys}),
            region("primary", "choices", {"choices": [keys[1]]}),
            region("risk_source", "choices", {"choices": ["inherent_agent_failures"]}),
            region("harm", "choices", {"choices": ["functional_and_opportunity_harm"]}),
            region("severity", "choices", {"choices": ["low"]}),
            region("evidence", "paragraphlabels", {**quote, "paragraphlabels": ["evidence"]}),
        ]
    result += [
        region("confidence", "number", {"number": 0.7}),
        region("rationale", "textarea", {"text": ["The wrong", "mail."]}),
        region("another_question", "rating", {"rating": 3}),
    ]
    annotation = {
        "id": 1001,
        "completed_by": who,
        "result": result,
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": "2026-03-01T10:00:00.123456Z",
        "updated_at": "2026-03-01T12:00:00.123456+01:00",
        "lead_time": 4.288,
        **more,
    }
    return {"id": 17, **task, "annotations": [*task.get("annotations", []), annotation]}


def responded(record, who, *, decision="refuse", span=None):
    """A record of Argilla as `records.to_json` has it, with the responses of one person."""
    values = {"decision": decision, "confidence": 7, "rationale": "The wrong\nmail."}
    if decision == "refuse":
        values |= {
            "triggers": ["flawed_planning_or_reasoning", "incorrect_tool_parameters"],
            "primary": "incorrect_tool_parameters",
            "risk_source": "inherent_agent_failures",
            "harm": "functional_and_opportunity_harm",
            "severity": "low",
            "evidence": [{"start": span[0], "end": span[1], "label": "evidence"}],
        }
    responses = dict(record["responses"])
    for name, value in values.items():
        responses[name] = [*responses.get(name, []), {"value": value, "user_id": who}]
    return {**record, "responses": responses, "status": "completed", "_server_id": None}


def flattened(record, status):
    """The same as `records.to_list(flatten=True)` has it."""
    flat = {"id": record["id"], "status": "pending", "_server_id": None, **record["fields"]}
    for name, given in record["responses"].items():
        flat[f"{name}.responses"] = [each["value"] for each in given]
        flat[f"{name}.responses.users"] = [each["user_id"] for each in given]
        flat[f"{name}.responses.status"] = [status for _ in given]
    return flat


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def answered(queue, folder, kind):
    """A file with an answer about the first case, as the tool writes it."""
    data = exported(queue, folder, kind)[0]
    if kind == "jsonl":
        given = WANTED.model_dump(mode="json", exclude_defaults=True)
        told = [{**lines(data)[0], "judgement": given, "who": "10"}, *lines(data)[1:]]
        return written(folder / "back.jsonl", "".join(json.dumps(x) + "\n" for x in told))
    tasks = json.loads(data.read_text())
    if kind == "label-studio":
        tasks = [{**task, "annotations": []} for task in tasks]
        first = annotated(tasks[0])
    else:
        at = tasks[0]["fields"]["steps"].index("mail#1")
        first = responded(tasks[0], "10", span=(at, at + 6))
        if kind == "argilla" and folder.name.endswith("flat"):
            first = flattened(first, "submitted")
    return written(folder / "back.json", [first, *tasks[1:]])


WANTED = REFUSE.model_copy(
    update={
        "triggers": ["incorrect_tool_parameters", "flawed_planning_or_reasoning"],
        "evidence": [Evidence(step=1, quote="mail#1")],
        "rationale": "The wrong\nmail.",
        "confidence": 0.7,
    }
)


def with_result(tasks, name, value):
    """The first task, answered, with one result changed."""
    task = annotated(tasks[0])
    for each in task["annotations"][0]["result"]:
        if each["from_name"] == name:
            each["value"] = value
    return task
