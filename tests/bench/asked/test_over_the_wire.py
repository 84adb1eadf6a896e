"""Baselines that ask a model over a real wire: LiSA-style step by step, and a whole benchmark.

One file, because litellm takes seconds to load (see tests/conftest.py).
"""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from blind_spot import SPACE, shared_values
from errands import MODEL, asked_at
from loopback_model import key, server, warm
from model_servers import Behaviour, Data, ModelServer, Refuse, Seen
from voices import block_lines, colour_judge

from vepa.bench.baselines import make_baselines
from vepa.bench.baselines.asked.lisa import LiSA
from vepa.bench.baselines.asked.lisa.constants import GATE, REFRESH
from vepa.bench.baselines.asked.lisa.memory import lower_bound
from vepa.bench.baselines.asked.opening import open_asking
from vepa.bench.baselines.asked.settings import AskedSettings
from vepa.cli import main
from vepa.corpus.events import EventRecord, EventTable
from vepa.project import package_content

__all__ = ["key", "server", "warm"]


def asked_for(seen: Seen) -> str:
    """The prompt that a request is of: its answer's shape has that name."""
    return str(seen.body["response_format"]["json_schema"]["name"])


def table(*rows: tuple[str, str, str, str]) -> EventTable:
    """Events from (colour, size, shape, label)."""
    fixed = {"place": "north", "day": "monday"}
    records = [
        EventRecord(id=f"e{at}", event={"colour": c, "size": z, "shape": s, **fixed}, label=label)
        for at, (c, z, s, label) in enumerate(rows)
    ]
    return EventTable.from_records(records, SPACE)


BLUE = [("blue", "large", shape, "refuse") for shape in ("rod", "ball", "rod", "ball", "rod")]
RED, GREEN = ("red", "small", "rod", "allow"), ("green", "small", "rod", "refuse")
MIXED = [RED, RED, RED, GREEN, GREEN]


def lisa_at(server: ModelServer) -> LiSA:
    settings = AskedSettings(model=MODEL, settings=asked_at(server), embedder="hashing/256")
    made = make_baselines(["lisa"], SPACE, SPACE.names, 0, open_asking(settings))
    lisa = made["lisa"]
    assert isinstance(lisa, LiSA)
    return lisa


def careful(seen: Seen) -> Behaviour:
    lines = block_lines(seen.last)
    return Data({"judge": colour_judge, "lisa_policy": shared_values}[asked_for(seen)](lines))


def test_lisa_style_step_by_step_and_its_memory_after_ten_events(server):
    server.play(careful)
    lisa = lisa_at(server)
    lisa.learn(table(*BLUE))
    asked = [asked_for(seen) for seen in server.seen]
    # 1: each distinct event once, alone; 9: after five reports one question about one group.
    assert asked == ["judge", "judge", "lisa_policy"]
    assert all(len(block_lines(seen.last)) == 1 for seen in server.seen[:2])
    assert block_lines(server.seen[2].last)[0] == {"right": "refuse", "events": 2}
    # 2 and 5: the policy reaches an event that nobody reported, and no question is needed.
    said = lisa.predict(table(("blue", "large", "cube", "refuse")))
    assert (said.labels.tolist(), server.requests) == ([1], 3)
    lisa.learn(table(*MIXED))
    # 2 and 6: now near the cases of a mixed group local rules decide, elsewhere the base guard.
    said = lisa.predict(table(RED, GREEN, ("red", "small", "ball", "refuse")))
    assert said.labels.tolist() == [0, 1, 1]
    assert said.confidence.tolist() == pytest.approx([4 / 5, 3 / 4, 0.75])
    assert [asked_for(seen) for seen in server.seen[3:]] == ["judge"] * 3
    assert lower_bound(5, 0) > GATE  # 8
    assert lisa.to_dict() == memory_after_ten_events()


def memory_after_ten_events() -> dict[str, Any]:
    def shown(row: tuple[str, str, str, str]) -> dict[str, str]:
        colour, size, shape, _ = row
        return {"colour": colour, "size": size, "shape": shape, "place": "north", "day": "monday"}

    def entry(name: str, decision: str, support: int) -> dict[str, Any]:  # 7: all ten are counted
        lower = lower_bound(support, 0)
        told = {"id": name, "decision": decision, "support": support, "contradictions": 0}
        return {**told, "lower": lower, "active": True}

    return {
        # 3: what the standing decision got wrong, in the order of the feedback.
        "reports": [{"event": shown(row), "label": row[3]} for row in [*BLUE, *MIXED]],
        # 4: groups by their first event, in the order of codes.
        "groups": [
            {"reports": [5, 6, 7, 8, 9], "kind": "mixed"},
            {"reports": [0, 1, 2, 3, 4], "kind": "one-label"},
        ],
        "broad": [
            {
                **entry("b1", "refuse", 5),
                "title": "refuse",
                "description": "colour: blue, day: monday, place: north, size: large",
                "reach": pytest.approx(0.6186, abs=1e-4),
            }
        ],
        "local": [
            {**entry("l2", "allow", 3), "group": 0, "cases": [shown(RED)]},
            {**entry("l3", "refuse", 2), "group": 0, "cases": [shown(GREEN)]},
        ],
        "refreshes": 10 // REFRESH,
        "unwritten": [],
    }


def test_lisa_style_fails_closed_over_the_wire(server):
    def poor(seen: Seen) -> Behaviour:
        return Refuse() if asked_for(seen) == "lisa_policy" else Data("perhaps")

    server.play(poor)
    lisa = lisa_at(server)
    said = lisa.predict(table(GREEN))
    assert (said.labels.tolist(), said.confidence.tolist()) == ([1], [0.0])  # 10
    lisa.learn(table(*[("green", "small", shape, "allow") for shape in ("rod", "ball")] * 3))
    told = lisa.to_dict()
    assert told["broad"] == []
    assert told["unwritten"] == [{"label": "allow", "events": 2, "outcome": "declined"}]
    assert lisa.predict(table(GREEN)).labels.tolist() == [1]


def any_answer(seen: Seen) -> Behaviour:
    """Something usable for every prompt."""
    name = asked_for(seen)
    if name == "propose":
        rule = {"decision": "refuse", "when": {"injection": {"in": ["followed"]}}}
        edits = [{"operation": "add", "targets": [], "rules": [{**rule, "rationale": "obeyed"}]}]
        return Data({"patches": [{"rationale": "one rule", "edits": edits}], "note": ""})
    lines = block_lines(seen.last)
    if name == "judge":
        refused = lines[-1]["event"]["injection"] == "followed"
        verdict = "refuse" if refused else "allow"
        return Data({"reason": "so", "verdict": verdict, "confidence": 0.7})
    if name == "lisa_policy":
        return Data({"title": "Alike", "description": "scope: within"})
    if name == "agrail_key":
        return Data({"sentence": "The agent acts.", "command": "act()"})
    if name == "agrail_analyse":
        check = {"category": "information-integrity", "name": "asked", "definition": "It was."}
        told = {"analysis": "a", "summary": "It acts.", "choice": "new", "in_memory": False}
        return Data({**told, "checks": [check]})
    return Data({"c1": {"thought": "t", "do": "true"}})


def test_a_whole_benchmark_pays_for_no_question_twice(server, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("VEPA_ARTIFACTS", str(tmp_path / "artifacts"))
    events, given = tmp_path / "e.jsonl", tmp_path / "model.yaml"
    source = package_content() / "data" / "assebench_security.events.jsonl"
    events.write_text("\n".join(source.read_text().splitlines()[:16]) + "\n")
    given.write_text(f"api_base: {server.openai}\nmax_attempts: 1\nmax_tokens: 200\n")
    server.play(any_answer)
    command = ["bench", "run", str(events), "--rounds", "2", "--seeds", "1", "--patches", "2",
               "--baselines", "no_memory,judge,agrail,lisa", "--judge", MODEL,
               "--judge-settings", str(given), "--embedder", "hashing/256", "--json"]  # fmt: skip

    def run(*more: str) -> Any:
        assert main([*command, *more]) == 0
        return json.loads(capsys.readouterr().out)

    told = run("--dry-run")["asked"]
    assert server.requests == 0
    assert told["dollars"] > 0
    assert main([*command, "--judge-tokens", "9000"]) == 1
    err = " ".join(capsys.readouterr().err.split())
    assert "the budget of the baselines ran out in 1 of 1 trials" in err
    assert str(tmp_path / "artifacts" / "propose" / "answers.sqlite") in err
    before = server.requests
    assert 0 < before < told["calls"]
    first = run("--judge-dollars", "1")
    assert server.requests - before == first["asked"]["questions"] - first["asked"]["kept"]
    assert first["asked"]["questions"] <= told["calls"]
    assert 0 < first["asked"]["dollars"] < told["dollars"]
    assert set(first["baselines"]) == {"no_memory", "judge", "agrail", "lisa"}
    assert first["baselines"]["judge"]["full"] == first["baselines"]["judge"]["hybrid"]
    asked = server.requests
    second = run("--judge-dollars", "1")
    assert server.requests == asked
    assert second["baselines"] == first["baselines"]
    assert (second["asked"]["tokens"], second["asked"]["dollars"]) == (0, 0.0)
    assert second["asked"]["kept"] == second["asked"]["questions"]
    ledger = (tmp_path / "artifacts" / "propose" / "ledger.jsonl").read_text()
    assert '"purpose":"baseline"' in ledger


def test_reproduce_runs_every_row_that_a_named_model_allows(server, tmp_path, monkeypatch, capsys):
    source = package_content() / "data" / "assebench_security.events.jsonl"
    events, given = tmp_path / "few.events.jsonl", tmp_path / "model.yaml"
    events.write_text("\n".join(source.read_text().splitlines()[:16]) + "\n")
    given.write_text(f"api_base: {server.openai}\nmax_attempts: 1\nmax_tokens: 200\n")
    bundled = yaml.safe_load((package_content() / "data" / "experiments.yaml").read_text())
    asking = [name for name, each in bundled["methods"].items() if each.get("asks")]
    experiment = {
        "title": "All that ask",
        "question": "Do they run?",
        "conditions": [{"stream": "few"}],
        "methods": ["default", *asking],
        "measures": ["covered_f1", "full_f1"],
    }
    streams = {"few": {"title": "few", "events": [str(events)], "stream": {"rounds": 2}}}
    own = {**bundled, "streams": streams, "experiments": {"all": experiment}}
    file = tmp_path / "experiments.yaml"
    file.write_text(yaml.safe_dump(own, sort_keys=False))
    server.play(any_answer)
    command = ["reproduce", "--catalogue", str(file), "--out", str(tmp_path / "out"), "--json"]
    command += ["--seeds", "1", "--jobs", "1", "--settings", str(given), "--embedder", "hashing/64"]
    command += ["--model", MODEL]
    for role in ("open-judge", "open-proposer"):
        command += ["--model", f"{role}={MODEL}", "--settings", f"{role}={given}"]

    def run(*more: str) -> Any:
        assert main([*command, *more]) == 0
        return json.loads(capsys.readouterr().out)

    told = run("--dry-run")
    assert server.requests == 0
    assert told["missing"]["asking"] == len(asking) - 3  # the open twins
    assert told["missing"]["dollars"] > 0
    first = run("--max-dollars", "1")
    rows = {row["method_key"]: row for row in first["experiments"][0]["tables"][0]["rows"]}
    assert set(rows) == {"default", *asking}
    assert all(row["cells"] and not row["needs"] for row in rows.values())
    assert first["experiments"][0]["missing"] == []
    asked = server.requests
    assert 0 < asked <= told["missing"]["questions"]
    again = run("--max-dollars", "1")
    assert (again["played"], server.requests) == (0, asked)
    ledger = (tmp_path / "out" / "plays" / "asked" / "ledger.jsonl").read_text()
    assert '"purpose":"baseline"' in ledger
    assert '"purpose":"propose"' in ledger
