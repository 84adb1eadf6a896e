"""Memory of a process and its descendants, also while they come and go."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from vepa.services.runtimes.memory import proportional_memory


def test_a_child_that_ends_while_it_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = os.listdir

    def late(path: str) -> list[str]:
        if path == f"/proc/{child.pid}/task":
            child.kill()
            child.wait()
        return listed(path)

    with subprocess.Popen(["sleep", "60"]) as child:
        monkeypatch.setattr(os, "listdir", late)
        assert (proportional_memory(os.getpid()) or 0) > 1
        assert child.poll() is not None


def test_a_process_that_is_gone() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    assert proportional_memory(process.pid) is None
