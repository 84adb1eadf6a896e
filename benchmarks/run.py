"""All benchmarks in one run: `python -m benchmarks.run`; docs/benchmarks.md has the last record."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

from vepa.errors import MissingExtraError
from vepa.files import write_atomic
from vepa.policy import Policy

try:
    from benchmarks.suite import batch, evolving, loading, machine, report, single, verifying
    from benchmarks.suite.policies import (
        STREAM,
        bundled_events,
        evolve,
        generate,
        read_bundled,
        shape,
    )
    from benchmarks.suite.section import Section, Settings
except ModuleNotFoundError as missing:
    if missing.name not in ("cedarpy", "z3"):  # the peers
        raise
    sys.stderr.write(f"error: {MissingExtraError(missing.name, 'dev')}\n")
    raise SystemExit(2) from None

ROOT = Path(__file__).parents[1]


#: Shuffles among which the largest evolved policy is looked for.
SHUFFLES = 5


class Suite:
    """The policies and events that the parts share, made when a part first asks for them."""

    def __init__(self, settings: Settings):
        self.settings = settings
        self.events = bundled_events()
        self.stream = read_bundled(STREAM)

    @cached_property
    def evolved(self) -> Policy:
        """The largest policy of a few shuffles after the last round, all its rules at work."""
        found = [evolve(self.stream, seed=seed)[0] for seed in range(SHUFFLES)]
        policy = max(found, key=lambda policy: (len(policy), policy.policy_hash))
        if not len(policy):
            raise RuntimeError("the evolution gave no rule, so there is nothing to measure")
        return policy.activated()

    @cached_property
    def policies(self) -> dict[str, Policy]:
        """Name -> policy, the evolved one first."""
        found = {f"evolved, {len(self.evolved)} rules": self.evolved}
        for size in self.settings.sizes:
            found[f"generated, {size:,} rules"] = generate(self.evolved, self.events, size)
        return found

    @cached_property
    def large(self) -> Policy:
        """The policy that is verified and read."""
        return generate(self.evolved, self.events, self.settings.verify_rules)

    def shapes(self) -> Section:
        """How alike the evolved and the generated policies are."""
        section = Section("policies", "The policies and how alike they are")
        named = self.policies | {f"generated, {len(self.large):,} rules": self.large}
        for name, policy in named.items():
            found = {
                key: round(value, 3) for key, value in shape(policy, self.events).to_dict().items()
            }
            section.rows.append({"policy": name} | found)
        section.notes = [
            (
                f"Events: the {len(self.events):,} that are bundled, drawn with replacement where "
                f"more are needed. Evolved: ASSEBench-Security, 10 rounds, half of the labels, the "
                f"largest policy of {SHUFFLES} shuffles; all its rules are made active."
            ),
            (
                "allow share: of the rules; predicates: mean a rule; admitted: mean share of a "
                "field's domain that a predicate admits; overlap: share of the pairs of rules of "
                "one decision that can match one event; coverage: share of the events that some "
                "rule matches; fired: mean number of rules that match a covered event, which "
                "grows with the rules."
            ),
        ]
        return section

    def parts(self) -> dict[str, Callable[[], Section]]:
        """Name -> what runs it, in order."""
        return {
            "policies": self.shapes,
            "single": lambda: single.run(self.policies, self.events, self.settings),
            "batch": lambda: batch.run(self.policies, self.events, self.settings),
            "encoding": lambda: batch.run_encoding(self.events, self.settings),
            "verifying": lambda: verifying.run(self.large, self.settings),
            "loading": lambda: loading.run(self.large, self.settings),
            "evolving": lambda: evolving.run(self.stream, self.settings),
        }


PARTS = ("policies", "single", "batch", "encoding", "verifying", "loading", "evolving")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks; 0 when all ran and all engines agreed, whatever the figures."""
    options = _options(arguments)
    settings = Settings.tiny() if options.tiny else Settings()
    if options.peer_seconds is not None:
        settings = replace(settings, peer_seconds=options.peer_seconds)
    start = perf_counter()
    run: dict[str, Any] = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": machine.facts(),
        "load_before": machine.load(),
        "quiet": "a quiet machine" if options.quiet_machine else "shared with other work",
    }
    parts = Suite(settings).parts()
    sections = []
    for name in options.only:
        print(f"== {name}", flush=True)
        sections.append(_watched(parts[name]))
        report.print_section(sections[-1])
    run |= {"load_after": machine.load(), "seconds": round(perf_counter() - start, 1)}
    _write(run, sections, options)
    return 0


def _watched(part: Callable[[], Section]) -> Section:
    """Run a part and note how much of the time this process had a core: 100 % when undisturbed."""
    start, before = perf_counter(), sum(os.times()[:4])
    section = part()
    share = (sum(os.times()[:4]) - before) / (perf_counter() - start)
    section.notes.append(f"This part had a core for {min(share, 1):.0%} of its time.")
    return section


def _write(run: dict[str, Any], sections: list[Section], options: argparse.Namespace) -> None:
    data, page = report.to_json(run, sections), report.markdown(run, sections)
    write_atomic(options.out / "results.json", data)
    write_atomic(options.out / "results.md", page)
    print(f"written: results.json and results.md in {options.out}")
    if not options.record:
        return
    write_atomic(ROOT / "benchmarks" / "results.json", data)
    write_atomic(ROOT / "docs" / "benchmarks.md", page)
    with open(ROOT / "benchmarks" / "history.jsonl", "a", encoding="utf-8") as history:
        history.write(report.history_line(run, sections))
    print("recorded: docs/benchmarks.md, benchmarks/results.json, benchmarks/history.jsonl")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--only", type=_parts, default=PARTS, help=f"of {','.join(PARTS)}")
    parser.add_argument("--tiny", action="store_true", help="check everything, measure nothing")
    parser.add_argument("--peer-seconds", type=float, help="stop a peer after this time (300)")
    parser.add_argument("--quiet-machine", action="store_true", help="say that nothing else ran")
    parser.add_argument("--out", type=Path, default=ROOT / "artifacts" / "benchmarks")
    parser.add_argument("--record", action="store_true", help="also rewrite the committed figures")
    options = parser.parse_args(arguments)
    if options.record and (options.tiny or options.only != PARTS):
        parser.error("--record needs a whole run: no --tiny, no --only")
    return options


def _parts(text: str) -> tuple[str, ...]:
    wanted = text.split(",")
    unknown = [name for name in wanted if name not in PARTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no part {unknown[0]!r}; of {', '.join(PARTS)}")
    return tuple(name for name in PARTS if name in wanted)


if __name__ == "__main__":
    sys.exit(main())
