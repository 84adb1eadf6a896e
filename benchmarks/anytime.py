"""Authority that may be looked at any time: `python -m benchmarks.anytime`; see docs/anytime.md.

Three measurements. *Counts*: how often a rule of known precision is ever active when one looks
after each label (`benchmarks.looks`). *Loop*: the whole prequential loop, rules induced from a
stream whose regions have known precision, so that the true precision of every rule is known
exactly. *Data*: coverage of the modes on the bundled events, the price of the guarantee.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from statistics import fmean, median
from time import process_time
from typing import Any

import numpy as np

from benchmarks.looks import ever_active, exactly, interval
from benchmarks.suite import machine
from benchmarks.suite.anytime import tables
from vepa.bench import metrics
from vepa.bench.prequential import Prequential
from vepa.bench.streams import StreamSettings, make_stream
from vepa.corpus.events import EventTable, read_events
from vepa.evolution import EvolutionSettings
from vepa.files import write_atomic
from vepa.policy import Rule, Schema, authority
from vepa.policy.matching import ABSTAIN, ALLOW, REFUSE
from vepa.project import Project

ROOT = Path(__file__).parents[1]
EVENTS_OF = ("assebench_security", "rjudge_dev")
TARGET = 0.95
#: Mode of a run -> other modes that judge the rules of its search too, round by round. They differ
#: in nothing but the test, so they show it on the same rules; the run goes on as its own mode says.
MODES: Mapping[str, Sequence[str]] = {
    "paper": ("prospective", "anytime"),
    "anytime": (),
    "prospective": (),
    "noise-aware": (),
}
#: Zone and tool decide; the two others are noise that a search may fall for.
SCHEMA = Schema(
    1,
    {
        "zone": ["calm", "murky"],
        "tool": ["mail", "files", "web", "pay"],
        "channel": ["a", "b", "c"],
        "hour": ["x", "y", "z"],
    },
)
#: The better decision of a region and how often it is right. What is allowed in one zone is refused
#: in the other, so a rule of both zones is right half of the time: no mixture hides a bad region.
REGIONS: Mapping[tuple[str, str], tuple[int, float]] = {
    ("calm", "mail"): (ALLOW, 1.0),
    ("calm", "files"): (REFUSE, 1.0),
    ("calm", "web"): (ALLOW, 0.98),
    ("calm", "pay"): (REFUSE, 0.98),
    ("murky", "mail"): (REFUSE, 0.95),
    ("murky", "files"): (ALLOW, 0.95),
    ("murky", "web"): (REFUSE, 0.93),
    ("murky", "pay"): (ALLOW, 0.90),
}
ROUNDS, EVENTS, FEEDBACK = 20, 4_000, 0.5
#: Mode and number of looks of the simulation by counts.
LOOKS = (("paper", 1_000), ("paper", 2_000), ("anytime", 2_000))
#: Bands of true precision in which bad rules are told apart: name -> lower and upper end.
BANDS: Mapping[str, tuple[float, float]] = {
    "0.95": (0.945, 0.95),
    "0.93 to 0.945": (0.925, 0.945),
    "0.90 to 0.925": (0.895, 0.925),
    "below 0.90": (0.0, 0.895),
}
#: Every field has `unknown` first, which never occurs here.
ZONES, TOOLS = (SCHEMA.fields[at].values[1:] for at in (0, 1))
CALM = SCHEMA.fields[0].mask(["calm"])


@dataclass(eq=False)
class Seen:
    """One rule of a run, from the round in which it was proposed.

    Attributes
    ----------
    precision
        By the law of the world.
    born
        Round of its proposal.
    calm
        Whether it covers good regions only.
    active
        Mode -> first round after which it is active.
    """

    precision: float
    born: int
    calm: bool
    active: dict[str, int] = field(default_factory=dict)


def precision(rule: Rule) -> float:
    """The true precision of a rule: all combinations of values are equally frequent."""
    right = regions = 0.0
    for (zone, tool), (decision, share) in REGIONS.items():
        region = (SCHEMA.fields[0].mask([zone]), SCHEMA.fields[1].mask([tool]))
        if rule.masks[0] & region[0] and rule.masks[1] & region[1]:
            agrees = decision == (ALLOW if rule.decision == "allow" else REFUSE)
            right += share if agrees else 1.0 - share
            regions += 1.0
    return right / regions


def world(seed: int, events: int = EVENTS) -> EventTable:
    """Independent events with independent labels."""
    random = np.random.default_rng([seed, 8])
    codes = np.column_stack(
        [random.integers(1, len(field.values), events) for field in SCHEMA.fields]
    ).astype(np.int8)
    better = np.array([[REGIONS[zone, tool][0] for tool in TOOLS] for zone in ZONES])
    share = np.array([[REGIONS[zone, tool][1] for tool in TOOLS] for zone in ZONES])
    best = better[codes[:, 0] - 1, codes[:, 1] - 1]
    right = random.random(events) < share[codes[:, 0] - 1, codes[:, 1] - 1]
    labels = np.where(right, best, ALLOW + REFUSE - best).astype(np.int8)
    return EventTable(SCHEMA, tuple(f"e{at}" for at in range(events)), codes, labels)


def simulate(mode: str, seed: int) -> dict[str, Any]:
    """One run of the loop: its rules, and what the good half of the events gets."""
    settings = StreamSettings(rounds=ROUNDS, feedback=FEEDBACK)
    stream = make_stream(world(seed), settings, seed)
    run = Prequential(stream, authority(mode), EvolutionSettings())
    rules: dict[tuple[Any, int | None], Seen] = {}
    decided: list[float] = []
    calm = stream.table.codes[:, 0] == 1
    while not run.finished:
        found = run.advance()
        shadows = {name: run.archive.standing(authority(name)) for name in MODES[mode]}
        for rule in found.after.rules:
            born = rule.provenance.round if rule.provenance else None
            if born is None:
                raise RuntimeError(f"{rule.id} has no round")
            bare = Seen(precision(rule), born, rule.masks[0] & ~1 == CALM)
            seen = rules.setdefault((rule.key, born), bare)
            for judge, standing in shadows.items():
                if standing.judge(rule).active:
                    seen.active.setdefault(judge, found.round)
            if rule.active:
                seen.active.setdefault(mode, found.round)
        decided.append(float(np.mean(found.verdicts[calm[found.indices]] != ABSTAIN)))
    last = run.outcomes[-3:]
    said = np.concatenate([part.verdicts for part in last])
    truth = stream.table.labels[np.concatenate([part.indices for part in last])]
    sure = said != ABSTAIN
    return {
        "rules": list(rules.values()),
        "coverage": float(sure.mean()),
        "wrong": float((said != truth)[sure].mean()) if sure.any() else None,
        "calm": fmean(decided[-3:]),
        "half": next((at for at, share in enumerate(decided) if share >= 0.5), None),
    }


def _share(rules: Sequence[Seen], mode: str) -> dict[str, Any]:
    hits = sum(mode in rule.active for rule in rules)
    return {"active": hits, "of": len(rules), "interval": interval(hits, len(rules))}


def errors(runs: Sequence[Mapping[str, Any]], mode: str) -> dict[str, Any]:
    """Rules by their true precision, and how many of them `mode` ever gave authority."""
    bad = [[rule for rule in run["rules"] if rule.precision <= TARGET + 1e-9] for run in runs]
    every = [rule for run in runs for rule in run["rules"]]
    hit = sum(any(mode in rule.active for rule in found) for found in bad)
    good = [rule for rule in every if rule.precision > TARGET + 1e-9]
    waits = [rule.active[mode] - rule.born for rule in good if mode in rule.active]
    return {
        "judge": mode,
        "bad": _share([rule for found in bad for rule in found], mode),
        "bands": {
            name: _share([r for r in every if low + 1e-9 < r.precision <= high + 1e-9], mode)
            for name, (low, high) in BANDS.items()
        },
        "runs_with_bad": {"active": hit, "of": len(runs), "interval": interval(hit, len(runs))},
        "good": _share(good, mode),
        "rounds_to_authority": median(waits) if waits else None,
    }


def loop(mode: str, seeds: Sequence[int]) -> dict[str, Any]:
    """Many runs of one mode, put together."""
    start = process_time()
    runs = [simulate(mode, seed) for seed in seeds]
    wrong = [run["wrong"] for run in runs if run["wrong"] is not None]
    halves = [ROUNDS if run["half"] is None else run["half"] for run in runs]
    return {
        "mode": mode,
        "seeds": [seeds[0], seeds[-1]],
        "judged": [errors(runs, judge) for judge in (mode, *MODES[mode])],
        "labels_to_half": median(halves) * round(EVENTS * FEEDBACK / ROUNDS),
        "never_half": sum(run["half"] is None for run in runs),
        "calm": fmean(run["calm"] for run in runs),
        "coverage": fmean(run["coverage"] for run in runs),
        "wrong": fmean(wrong) if wrong else None,
        "cpu_seconds": round(process_time() - start, 1),
    }


def counts(runs: int, seed: int) -> list[dict[str, Any]]:
    """The chance of ever being active, drawn and worked out."""
    rows = []
    for mode, looks in LOOKS:
        for chance in (0.90, 0.93, 0.95, 0.98, 0.99, 1.0):
            found = ever_active(mode, chance, looks, runs, seed)
            rows.append(
                {
                    "mode": mode,
                    "looks": looks,
                    "precision": chance,
                    "runs": runs,
                    "share": found.active / runs,
                    "interval": interval(found.active, runs),
                    "exact": exactly(mode, chance, looks),
                    "labels": found.labels,
                }
            )
    return rows


def price(name: str, mode: str, flip: float, seeds: Sequence[int]) -> dict[str, Any]:
    """Coverage and errors of a mode on bundled events: ten rounds, half of the labels."""
    table = read_events(Project().find("data", f"{name}.events.jsonl"))
    final, scores, start = [], [], process_time()
    for seed in seeds:
        stream = make_stream(table, StreamSettings(flip=flip), seed)
        parts = Prequential(stream, authority(mode), EvolutionSettings()).run()
        final.append(metrics.coverage(parts[-1].verdicts))
        truth = table.canonical().labels[np.concatenate([part.indices for part in parts])]
        said = np.concatenate([part.verdicts for part in parts])
        scores.append(metrics.covered_macro_f1(truth, said))
    return {
        "events": name,
        "mode": mode,
        "flip": flip,
        "seeds": [seeds[0], seeds[-1]],
        "final_coverage": fmean(final),
        "covered_macro_f1": fmean(scores),
        "cpu_seconds": round(process_time() - start, 1),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for; keep it as JSON, beside what was kept, and as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.anytime", description=__doc__)
    parser.add_argument("--only", nargs="+", default=["counts", "loop", "data"])
    parser.add_argument("--modes", nargs="+", default=list(MODES), choices=list(MODES))
    parser.add_argument("--runs", type=int, default=20, help="runs of the loop, each mode (20)")
    parser.add_argument("--draws", type=int, default=100_000, help="rules drawn by counts")
    parser.add_argument("--flips", type=float, nargs="+", default=[0.0])
    parser.add_argument("--seeds", type=int, default=10, help="seeds of the bundled events (10)")
    parser.add_argument("--out", type=Path, default=ROOT / "artifacts" / "anytime.json")
    given = parser.parse_args(arguments)
    kept = json.loads(given.out.read_text()) if given.out.exists() else {"parts": {}}
    head = {"date": datetime.now(UTC).strftime("%Y-%m-%d"), "machine": machine.facts()}

    def keep(key: str, value: Any) -> None:
        kept.update(head)
        kept["parts"][key] = value
        write_atomic(given.out, json.dumps(kept, indent=1, sort_keys=True) + "\n")
        print(key, json.dumps(value), flush=True)

    if "counts" in given.only:
        keep("counts", counts(given.draws, 0))
    for mode in given.modes if "loop" in given.only else ():
        keep(f"loop/{mode}", loop(mode, range(given.runs)))
    if "data" in given.only:
        for name, mode, flip in product(EVENTS_OF, given.modes, given.flips):
            keep(f"data/{name}/{mode}/{flip}", price(name, mode, flip, range(given.seeds)))
    write_atomic(given.out.with_suffix(".md"), tables(kept["parts"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
