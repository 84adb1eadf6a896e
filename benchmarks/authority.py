"""What authority costs and buys: `python -m benchmarks.authority`; docs/authority.md has a record.

Every mode beside `paper` on the bundled streams, other learners on the same events, rules that
should have no authority, and the learner with one part left out. Every figure is kept by what it
depends on, so that a run can be stopped and goes on where it was.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.gates import page
from benchmarks.gates.goals import goals
from benchmarks.gates.plan import WORK, Size, parts
from benchmarks.gates.store import Spec, Store, work_off
from benchmarks.gates.tables import Found, sections
from vepa.files import write_atomic

ROOT = Path(__file__).parents[1]
PAGE, RECORD = ROOT / "docs/authority.md", ROOT / "benchmarks/authority.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Work out, print and write; 0 whatever the figures."""
    given = _parser().parse_args(arguments)
    size = Size((0, 1), (10,), 50, 2) if given.tiny else Size()
    planned = parts(size)
    names = given.only.split(",") if given.only else list(planned)
    unknown = [name for name in names if name not in planned]
    if unknown:
        sys.stderr.write(f"error: no part {unknown[0]!r}; there are {', '.join(planned)}\n")
        return 2
    store, start = Store(given.out / "authority"), time.monotonic()
    found: dict[str, Found] = {}
    for name in names:
        found[name] = _worked_off(name, store, planned[name])
    tables = sections(_joined(found))
    met = goals(tables)
    run: dict[str, Any] = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "cores": os.cpu_count(),
        "seeds": list(size.seeds),
        "fresh_seeds": list(size.fresh),
        "seconds": round(time.monotonic() - start),
    }
    text = page.markdown(tables, met)
    print(text)
    write_atomic(given.out / "authority.json", page.to_json(run, tables, met))
    write_atomic(given.out / "authority.md", text)
    if given.record:
        write_atomic(RECORD, page.to_json(run, tables, met))
        write_atomic(PAGE, page.filled(PAGE.read_text("utf-8"), tables, met))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.authority", description=__doc__)
    parser.add_argument("--only", default="", help="parts, joined by commas; all")
    parser.add_argument("--tiny", action="store_true", help="two seeds: checks that all works")
    parser.add_argument("--out", type=Path, default=ROOT / "artifacts/benchmarks")
    parser.add_argument("--record", action="store_true", help="rewrite the committed figures")
    return parser


def _worked_off(name: str, store: Store, specs: Sequence[Spec]) -> Found:
    found: list[Any] = []
    for at, spec in enumerate(specs, 1):
        found += work_off(store, [spec], WORK[spec["kind"]])
        if at % 10 == 0 or at == len(specs):
            sys.stderr.write(f"\r{name}: {at} of {len(specs)}")
    sys.stderr.write("\n")
    return found


def _joined(found: dict[str, Found]) -> dict[str, Found]:
    """The parts, and what tables draw on several of them."""
    modes, more = list(found.get("modes", [])), dict(found)
    more["rates"] = [*modes, *found.get("many flips", [])]
    if found.get("fresh seeds"):
        more["fresh seeds"] = [*modes, *found["fresh seeds"]]
    if found.get("parts left out"):
        whole = [
            (spec, figures)
            for spec, figures in modes
            if spec["view"] == "full" and spec["mode"] in ("paper", "noise-aware")
        ]
        more["parts left out"] = [*whole, *found["parts left out"]]
    return more


if __name__ == "__main__":
    sys.exit(main())
