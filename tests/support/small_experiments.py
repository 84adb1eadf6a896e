"""A small catalogue on real events."""

from __future__ import annotations

from typing import Any

__all__ = ["SMALL"]

#: Two rounds of the smallest bundled stream: a play takes a tenth of a second.
SMALL: dict[str, Any] = {
    "title": "small",
    "streams": {
        "rjudge": {
            "title": "R-Judge",
            "events": ["rjudge_dev.events.jsonl"],
            "stream": {"rounds": 3},
        },
        "absent": {
            "title": "absent",
            "events": ["nowhere.events.jsonl"],
            "needs": "events in data/nowhere.events.jsonl",
        },
    },
    "methods": {
        "paper": {"title": "VEPA", "policy": {"authority": "paper"}},
        "greedy": {
            "title": "greedy",
            "policy": {"authority": "paper", "evolution": {"selection": "greedy"}},
        },
        "lookup": {"title": "best field", "learner": "lookup", "variant": "best"},
        "no-memory": {"title": "LLM without memory", "learner": "no_memory", "asks": "judge"},
        "later": {"title": "later", "needs": "a parser that is not there yet"},
    },
    "experiments": {
        "first": {
            "title": "First",
            "question": "How right?",
            "conditions": [
                {"stream": "rjudge", "key": "clean", "x": 0},
                {"stream": "rjudge", "key": "flips", "set": {"flip": 0.2}, "x": 20},
                {"stream": "absent"},
            ],
            "methods": ["paper", "greedy", "lookup", "no-memory", "later"],
            "measures": ["covered_f1", "full_f1", "mean_coverage", "regression", "active_rules"],
            "against": "paper",
            "figures": [
                {"name": "dots", "title": "Dots", "kind": "conditions", "measure": "covered_f1"},
                {
                    "name": "levels",
                    "title": "Levels",
                    "kind": "levels",
                    "measure": "full_f1",
                    "x_label": "flips",
                },
                {"name": "rounds", "title": "Rounds", "kind": "rounds", "measure": "coverage"},
                {"name": "risk", "title": "Risk", "kind": "risk"},
            ],
            "beside": [
                {
                    "what": "covered F1",
                    "source": 0.8,
                    "method": "paper",
                    "condition": "clean",
                    "measure": "covered_f1",
                },
                {
                    "what": "greedy",
                    "source": -0.04,
                    "method": "greedy",
                    "condition": "clean",
                    "measure": "full_f1",
                    "less": "paper",
                    "why": "because",
                },
                {
                    "what": "an LLM",
                    "source": 0.7,
                    "method": "no-memory",
                    "condition": "clean",
                    "measure": "covered_f1",
                },
            ],
            "same_policy": [["paper", "greedy"]],
        },
        "second": {
            "title": "Second",
            "question": "The same plays again?",
            "conditions": [{"stream": "rjudge", "key": "clean"}],
            "methods": ["paper"],
            "measures": ["covered_f1"],
            "against": "paper",
        },
    },
}
