"""Wheels for images whose build has no network: pip collects them outside."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vepa.errors import RunError
from vepa.files import canonical_json, read_text, sha256_of
from vepa.services.places import make_private
from vepa.services.runtimes.base import Progress
from vepa.services.runtimes.images import BASE, last_lines

__all__ = ["collect_wheels", "wheels_fit"]

_PIP_SECONDS = 900


def wheels_fit(client: Any, base: str = BASE) -> bool:
    """Whether wheels that this Python collects would run in the image."""
    version = f":{sys.version_info.major}.{sys.version_info.minor}-"
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    engine = client.version()
    same = engine.get("Os") == "linux" and engine.get("Arch") == machine
    return sys.platform == "linux" and same and version in base


def collect_wheels(
    packages: Sequence[str],
    constraints: Path | None,
    folder: Path,
    progress: Progress | None = None,
) -> Path:
    """Wheels of the packages and of all that they need, from pip's ordinary sources.

    Parameters
    ----------
    packages
        Pinned packages.
    constraints
        Versions of what they need in turn.
    folder
        Keeps the sets, one folder each; a set that is there is not collected again.
    progress
        Told when pip is asked.

    Returns
    -------
    pathlib.Path
        The folder of this set.

    Raises
    ------
    RunError
        When pip cannot get them.
    """
    text = read_text(constraints) if constraints else ""
    key = sha256_of(canonical_json([sorted(packages), text, sys.version, platform.machine()]))
    target = folder / key[:16]
    if target.is_dir():
        return target
    if progress:
        progress(f"collecting wheels of {', '.join(packages)}")
    make_private(folder)
    work = Path(tempfile.mkdtemp(dir=folder, prefix=".collect-"))
    try:
        _pip_wheel(packages, constraints, work)
        if not target.is_dir():
            work.rename(target)
    except OSError:
        if not target.is_dir():  # somebody else was faster otherwise
            raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target


def _pip_wheel(packages: Sequence[str], constraints: Path | None, target: Path) -> None:
    argv = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    argv += ["--wheel-dir", str(target)]
    if constraints:
        argv += ["--constraint", str(constraints)]
    try:
        done = subprocess.run(
            [*argv, *packages],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PIP_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise RunError(f"pip collected no wheels within {_PIP_SECONDS} s") from None
    if done.returncode != 0:
        raise RunError(
            f"pip cannot collect the wheels of {', '.join(packages)}:\n"
            + last_lines((done.stderr or done.stdout).splitlines())
        )
