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
import numpy.typing as npt

from benchmarks.looks import ever_active, exactly, interval
from benchmarks.suite import machine
from benchmarks.suite.anytime import tables
from benchmarks.suite.regions import precision, world
from vepa.bench import metrics
from vepa.bench.prequential import Prequential
from vepa.bench.streams import Stream, StreamSettings, make_stream
from vepa.corpus.events import read_events
from vepa.evolution import EvolutionSettings
from vepa.files import write_atomic
from vepa.policy import Rule, authority
from vepa.policy.matching import ABSTAIN
from vepa.project import Project

Codes = npt.NDArray[np.int8]
ROOT = Path(__file__).parents[1]
EVENTS_OF = ("assebench_security", "rjudge_dev")
TARGET = 0.95
#: Mode of a run -> other modes that judge the rules of its search too, round by round. They differ
#: in nothing but the test, so they show it on the same rules; the run goes on as its own mode says.
MODES: Mapping[str, Sequence[str]] = {
    "paper": ("prospective", "anytime"),
    "anytime": (),
    "prospective": ("anytime",),
    "noise-aware": (),
}
ROUNDS, EVENTS, FEEDBACK = 20, 4_000, 0.5
#: Rounds over which what is decided at the end is averaged.
LAST = 3
#: Mode and number of looks of the simulation by counts.
LOOKS = (("paper", 1_000), ("paper", 2_000), ("anytime", 2_000))
#: Bands of true precision in which bad rules are told apart: name -> lower and upper end.
BANDS: Mapping[str, tuple[float, float]] = {
    "0.95": (0.945, 0.95),
    "0.93 to 0.945": (0.925, 0.945),
    "0.90 to 0.925": (0.895, 0.925),
    "below 0.90": (0.0, 0.895),
}


@dataclass(eq=False)
class Seen:
    """One rule of a run, from the round in which it was proposed.

    Attributes
    ----------
    precision
        By the law of the world.
    born
        Round of its proposal.
    active
        Mode -> first round after which it is active.
    """

    precision: float
    born: int
    active: dict[str, int] = field(default_factory=dict)


@dataclass(eq=False)
class Run:
    """One run of the loop.

    Attributes
    ----------
    stream
        What it worked off.
    rules
        All rules that ever stood in its policy.
    verdicts
        Mode -> what the rules say that were active by it, a round each.
    """

    stream: Stream
    rules: list[Seen]
    verdicts: dict[str, list[Codes]]

    def gain(self, mode: str) -> dict[str, float | None]:
        """Share of the events that is decided, and of these the wrong ones, in the last rounds.

        `half`: round before which half of the events of good regions was decided for the first
        time.
        """
        table, rounds = self.stream.table, [part.indices for part in self.stream.rounds]
        good = [table.codes[rows, 0] == 1 for rows in rounds]
        sure = [said != ABSTAIN for said in self.verdicts[mode]]
        calm = [float(hit[of].mean()) for hit, of in zip(sure, good, strict=True)]
        wrong = [
            said != table.labels[rows]
            for said, rows in zip(self.verdicts[mode], rounds, strict=True)
        ]
        last = np.concatenate(sure[-LAST:])
        return {
            "coverage": float(last.mean()),
            "calm": fmean(calm[-LAST:]),
            "wrong": float(np.concatenate(wrong[-LAST:])[last].mean()) if last.any() else None,
            "half": next((at for at, share in enumerate(calm) if share >= 0.5), None),
        }


def simulate(mode: str, seed: int) -> Run:
    """Work off one stream."""
    settings = StreamSettings(rounds=ROUNDS, feedback=FEEDBACK)
    stream = make_stream(world(seed, EVENTS), settings, seed)
    run = Prequential(stream, authority(mode), EvolutionSettings())
    rules: dict[tuple[Any, int], Seen] = {}
    judged = dict.fromkeys((mode, *MODES[mode]), run.current)
    verdicts: dict[str, list[Codes]] = {name: [] for name in judged}
    for part in stream.rounds:
        for name, policy in judged.items():
            verdicts[name].append(run.decide(policy, part.indices))
        after = run.advance().after
        judged = {
            name: after if name == mode else run.archive.judged(after, authority(name))
            for name in judged
        }
        for name, policy in judged.items():
            for rule in policy.rules:
                seen = rules.setdefault((rule.key, born(rule)), Seen(precision(rule), born(rule)))
                if rule.active:
                    seen.active.setdefault(name, part.number)
    return Run(stream, list(rules.values()), verdicts)


def born(rule: Rule) -> int:
    """The round of its proposal."""
    if rule.provenance is None or rule.provenance.round is None:
        raise RuntimeError(f"{rule.id} has no round")
    return rule.provenance.round


def _share(rules: Sequence[Seen], mode: str) -> dict[str, Any]:
    hits = sum(mode in rule.active for rule in rules)
    return {"active": hits, "of": len(rules), "interval": interval(hits, len(rules))}


def errors(runs: Sequence[Run], mode: str) -> dict[str, Any]:
    """Rules by their true precision, and how many of them `mode` ever gave authority."""
    bad = [[rule for rule in run.rules if rule.precision <= TARGET + 1e-9] for run in runs]
    every = [rule for run in runs for rule in run.rules]
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


def gains(runs: Sequence[Run], mode: str) -> dict[str, Any]:
    """What `mode` decides."""
    found = [run.gain(mode) for run in runs]
    halves = [ROUNDS if each["half"] is None else each["half"] for each in found]
    return {
        "labels_to_half": median(halves) * round(EVENTS * FEEDBACK / ROUNDS),
        "never_half": sum(each["half"] is None for each in found),
        **{
            name: fmean([value for each in found if (value := each[name]) is not None] or [0.0])
            for name in ("calm", "coverage", "wrong")
        },
    }


def loop(mode: str, seeds: Sequence[int]) -> dict[str, Any]:
    """Many runs of one mode, put together."""
    start = process_time()
    runs = [simulate(mode, seed) for seed in seeds]
    return {
        "mode": mode,
        "seeds": [seeds[0], seeds[-1]],
        "judged": [errors(runs, name) | gains(runs, name) for name in (mode, *MODES[mode])],
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
