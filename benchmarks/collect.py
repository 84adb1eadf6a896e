"""What an episode takes beside the model: `python -m benchmarks.collect`; needs installed services.

Scripted agents play tasks of the project on several offices at once, into a folder that is thrown
away. The table goes to stderr, one JSON document to stdout.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.suite import machine
from benchmarks.suite.report import print_section
from benchmarks.suite.section import Goal, Section
from vepa.collect.collecting import Collection
from vepa.collect.materials import assemble
from vepa.collect.orders import Materials, Order, environments_for, orders_of
from vepa.collect.pool import OfficePool
from vepa.collect.settings import CollectSettings
from vepa.corpus.episode import Episode, stream_episodes
from vepa.project import Project
from vepa.services import Office

#: Seconds of wall time an episode, and of the harness a step (median).
EPISODE, STEP = 1.5, 0.030


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 0 whatever the figures, 1 when an episode could not be played."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.collect", description=__doc__)
    parser.add_argument("--offices", type=int, default=8, help="side by side (8)")
    parser.add_argument("--episodes", type=int, default=100, help="drawn among the tasks (100)")
    parser.add_argument("--tasks", action="append", default=[], help="ids or patterns; all")
    given = parser.parse_args(arguments)
    tasks, materials = assemble(Project(), given.tasks)
    settings = CollectSettings(offices=given.offices)
    orders = drawn(orders_of(tasks, settings, materials), given.episodes)
    environments = environments_for((order.task for order in orders), materials)
    with ExitStack() as stack:
        began = time.perf_counter()
        with ThreadPoolExecutor(given.offices) as threads:
            starting = [
                threads.submit(Office.start, environments, materials.world_file)
                for _ in range(given.offices)
            ]
        for each in starting:
            if each.exception() is None:
                stack.enter_context(each.result())
        offices = [each.result() for each in starting]
        start = time.perf_counter() - began
        work = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        figures = measure(orders, materials, settings, offices, work)
    figures["start_s"] = round(start, 2)
    show(figures)
    sys.stdout.write(json.dumps(figures, indent=1) + "\n")
    return 1 if figures["failed"] else 0


def drawn(orders: Sequence[Order], count: int) -> list[Order]:
    """So many of the orders, always the same ones; all when there are fewer."""
    shuffled = sorted(orders, key=lambda order: order.id)
    random.Random(0).shuffle(shuffled)
    return shuffled[:count]


def measure(
    orders: Sequence[Order],
    materials: Materials,
    settings: CollectSettings,
    offices: Sequence[Office],
    folder: Path,
) -> dict[str, Any]:
    """Play orders on offices that are up; what it took."""
    pool = OfficePool([], materials.world_file, offices=offices)
    load, began = machine.load(), time.perf_counter()
    result = Collection(folder).collect(orders, materials, settings, pool)
    wall = time.perf_counter() - began
    episodes = list(stream_episodes(folder / "episodes"))
    turns = [turn for episode in episodes for turn in episode.turns]
    return {
        "offices": len(offices),
        "episodes": len(episodes),
        "failed": len(result.failures),
        "steps": sum(episode.steps for episode in episodes),
        "turns": len(turns),
        "wall_s": round(wall, 2),
        "wall_s_an_episode": round(wall / max(1, len(episodes)), 3),
        "seconds_of_an_episode": spread([episode.seconds for episode in episodes], 1),
        "around_an_episode_s": spread([around(episode) for episode in episodes], 1),
        "harness_ms_a_step": spread([turn.harness_seconds for turn in turns], 1000),
        "service_ms_a_step": spread([turn.service_seconds for turn in turns], 1000),
        "script_ms_a_step": spread([turn.model_seconds for turn in turns], 1000),
        "load_before": load,
        "load_after": machine.load(),
    }


def around(episode: Episode) -> float:
    """Seconds of an episode that no turn took: reset, planted content, checks, parsing."""
    inside = sum(
        turn.harness_seconds + turn.service_seconds + turn.model_seconds for turn in episode.turns
    )
    return episode.seconds - inside


def spread(values: Sequence[float], unit: float) -> dict[str, float]:
    """Median, 95th percentile and mean."""
    if not values:
        return {}
    ordered = sorted(values)
    return {
        "p50": round(unit * statistics.median(ordered), 3),
        "p95": round(unit * ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))], 3),
        "mean": round(unit * statistics.fmean(ordered), 3),
    }


def show(figures: dict[str, Any]) -> None:
    """Print the table to stderr, so that stdout is the JSON alone."""
    names = {
        "seconds_of_an_episode": "an episode, s",
        "around_an_episode_s": "reset, planting, checks, parsing, s",
        "harness_ms_a_step": "harness a step, ms",
        "service_ms_a_step": "service a step, ms",
        "script_ms_a_step": "script a step, ms",
    }
    section = Section("collect", f"{figures['episodes']} episodes on {figures['offices']} offices")
    section.rows = [{"what": name, **figures[key]} for key, name in names.items()]
    wall, step = figures["wall_s_an_episode"], figures["harness_ms_a_step"].get("p50", 0.0)
    section.goals = [
        Goal("wall time an episode", f"at most {EPISODE} s", f"{wall:.2f} s", wall <= EPISODE),
        Goal(
            "harness a step, median",
            f"at most {1000 * STEP:.0f} ms",
            f"{step:.1f} ms",
            step <= 1000 * STEP,
        ),
    ]
    section.notes = [
        f"Offices were up before; starting them took {figures.get('start_s', 0.0)} s.",
        f"Load of the machine before {figures['load_before']}, after {figures['load_after']}.",
    ]
    stdout, sys.stdout = sys.stdout, sys.stderr
    try:
        print_section(section)
    finally:
        sys.stdout = stdout


if __name__ == "__main__":
    raise SystemExit(main())
