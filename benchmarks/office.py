"""How fast an office of services comes up, comes back and answers: `python -m benchmarks.office`.

Nothing is taken from the ordinary cache but the installed software: snapshots are made anew.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vepa.project import Project
from vepa.services import Environment, Office, load_environments
from vepa.services.places import Places, make_private, places
from vepa.services.runtimes.process_runtime import ProcessRuntime


def main() -> int:
    """Measure and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="environments; all when left out")
    parser.add_argument("--rounds", type=int, default=3, help="warm starts and resets")
    given = parser.parse_args()
    project = Project()
    environments = load_environments(project, given.names)
    world = project.find("environments", "world.yaml")
    ordinary = places()
    ProcessRuntime().install(environments)
    with tempfile.TemporaryDirectory(dir=ordinary.root, prefix="bench-") as work:
        make_private(Path(work))
        fresh = Places(Path(work))
        # The software stays where it is; only snapshots and offices are new.
        fresh.services.symlink_to(ordinary.services)
        figures = _measure(environments, world, fresh, given.rounds)
    sys.stdout.write(json.dumps(figures, indent=1) + "\n")
    return 0


def _measure(
    environments: list[Environment], world: Path, root: Places, rounds: int
) -> dict[str, Any]:
    def start() -> Office:
        return Office.start(environments, world, root=root)

    first, office = _timed(start)
    office.stop()
    starts, resets, single, unneeded = [], [], [], []
    services: dict[str, dict[str, Any]] = {}
    for _ in range(rounds):
        seconds, office = _timed(start)
        starts.append(seconds)
        with office:
            taken, report = _timed(lambda: office.reset(everything=True))  # noqa: B023 - at once
            resets.append(taken)
            single.append(dict(report.seconds))
            unneeded.append(_timed(office.reset)[0])
            for name in office.environments:
                services[name] = {
                    "memory_mib": office.condition(name).memory,
                    "seeding_s": round(office.seeds[name].seconds, 2),
                }
            reading = _reading(office)
    for name, told in services.items():
        told["reset_s"] = round(statistics.median(each[name] for each in single), 3)
        told["read_call_ms"] = reading.get(name)
    return {
        "services": services,
        "from_nothing_s": round(first, 2),
        "start_s": [round(each, 2) for each in starts],
        "whole_reset_s": [round(each, 2) for each in resets],
        "reset_of_nothing_written_s": [round(each, 4) for each in unneeded],
        "memory_mib": round(sum(each["memory_mib"] or 0 for each in services.values())),
    }


def _reading(office: Office) -> dict[str, float]:
    """Median time of a reading call by environment, connection kept."""
    found = {}
    with office.session() as session:
        for name, environment in office.environments.items():
            tool = next(each for each in environment.tools if each.effect == "read")
            times = [session.call(tool.name, tool.examples[0]).seconds for _ in range(20)]
            found[name] = round(1000 * statistics.median(times), 1)
    return found


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    done = work()
    return time.perf_counter() - began, done


if __name__ == "__main__":
    raise SystemExit(main())
