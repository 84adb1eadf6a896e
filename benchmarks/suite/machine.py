"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["facts", "load"]

PACKAGES = ("vepa", "numpy", "pydantic", "PyYAML", "cedarpy", "z3-solver")


def facts() -> dict[str, Any]:
    """Processor, cores, memory, Python and package versions."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3),
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": {name: version(name) for name in PACKAGES},
    }


def load() -> float:
    """Processes that ran or wanted to run in the last minute, this one included."""
    return round(os.getloadavg()[0], 2)


def _cpu() -> str:
    known = Path("/proc/cpuinfo")
    if known.exists():
        for line in known.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
