"""The benchmark of `anytime`: its world keeps its law, and its figures reach the files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import anytime
from benchmarks.suite.regions import SCHEMA, precision, world
from vepa.policy import Rule
from vepa.policy.matching import ALLOW, REFUSE


@pytest.mark.parametrize(
    ("decision", "when", "expected"),
    [
        ("refuse", {"zone": ["murky"], "tool": ["mail"]}, 0.95),
        ("allow", {"zone": ["murky"], "tool": ["files", "pay"], "hour": ["x"]}, 0.925),
        ("allow", {"zone": ["calm"], "tool": ["mail", "web"], "channel": ["a", "c"]}, 0.99),
        ("refuse", {"tool": ["files"]}, 0.525),
    ],
)
def test_the_true_precision_of_a_rule_is_that_of_many_events(decision, when, expected) -> None:
    rule = Rule.build(SCHEMA, "r", decision, {name: {"in": of} for name, of in when.items()})
    assert precision(rule) == pytest.approx(expected, abs=1e-12)
    drawn = world(5, 100_000)
    hit = np.ones(len(drawn), dtype=bool)
    for at, mask in enumerate(rule.masks):
        hit &= (mask >> drawn.codes[:, at].astype(np.int64) & 1).astype(bool)
    share = (drawn.labels[hit] == (ALLOW if decision == "allow" else REFUSE)).mean()
    assert share == pytest.approx(expected, abs=5 * (0.25 / hit.sum()) ** 0.5)


def test_a_small_run_of_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anytime, "ROUNDS", 6)
    monkeypatch.setattr(anytime, "EVENTS", 1_500)
    out = tmp_path / "found.json"
    asked = ["--out", str(out), "--runs", "2", "--modes", "paper"]
    assert anytime.main([*asked, "--only", "loop"]) == 0
    parts = json.loads(out.read_text())["parts"]
    (own, *others) = parts["loop/paper"]["judged"]
    assert own["bad"]["active"] > 0  # the gate of `paper` lets bad rules of its search through
    for other in others:
        assert other["bad"]["of"] == own["bad"]["of"]
        assert other["bad"]["active"] <= own["bad"]["active"]
        assert other["coverage"] <= own["coverage"]
    page = out.with_suffix(".md").read_text()
    assert f"| paper | paper | {own['bad']['active']} of {own['bad']['of']} |" in page
