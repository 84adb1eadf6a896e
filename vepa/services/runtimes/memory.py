"""Memory of a process and all its descendants."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["proportional_memory"]


def proportional_memory(pid: int) -> float | None:
    """Proportional set size in MiB (shared pages are split among those that share them).

    None when the kernel does not tell (another user's process).
    """
    total = 0
    for each in _family(pid):
        try:
            text = Path(f"/proc/{each}/smaps_rollup").read_text("ascii")
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
    return round(total / 1024, 1) if total else None


def _family(pid: int) -> list[int]:
    found = [pid]
    try:
        tasks = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208
    except OSError:  # it ended while it was looked at
        return found
    for task in tasks:
        try:
            children = Path(f"/proc/{pid}/task/{task}/children").read_text("ascii").split()
        except OSError:
            continue
        for child in children:
            found += _family(int(child))
    return found
