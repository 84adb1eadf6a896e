"""Streams that are closed, full or no UTF-8, and files that cannot be read or written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vepa.policy.schema import bundled_schema


def shell(line: str, folder: Path, **more: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of shell; `$VEPA` is the command."""
    return subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        capture_output=True,
        timeout=120,
        check=False,
        env={**os.environ, "VEPA": f"{sys.executable} -m vepa", **more},
    )


def is_told(done: subprocess.CompletedProcess[bytes], words: bytes, code: int = 2) -> None:
    assert done.returncode == code, done.stderr
    assert b"Traceback" not in done.stderr
    assert words in done.stderr


def test_a_closed_stdin_is_told(files: Path) -> None:
    is_told(shell("$VEPA policy check - <&-", files), b"standard input is closed")


def test_a_closed_stdout_is_no_traceback(files: Path) -> None:
    is_told(shell("$VEPA policy show p.yaml >&-", files), b"", code=0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="NOT RUN: no /dev/full here")
@pytest.mark.parametrize(
    "line",
    ["policy show p.yaml", "policy check p.yaml --json", "decide --policy p.yaml e.jsonl --json"],
)
def test_no_room_on_stdout_is_told(files: Path, line: str) -> None:
    is_told(shell(f"$VEPA {line} > /dev/full", files), b"No space left on device")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="NOT RUN: no /proc here")
def test_a_file_that_fails_while_it_is_read_is_told(files: Path) -> None:
    is_told(shell("$VEPA policy check /proc/self/mem", files), b"/proc/self/mem: cannot be read")
    failed = shell("$VEPA decide --policy p.yaml /proc/self/mem", files)
    is_told(failed, b"/proc/self/mem: cannot be read")


def test_a_working_directory_that_is_gone_is_told(files: Path) -> None:
    line = "mkdir gone; cd gone; rmdir ../gone; $VEPA validate --json"
    done = shell(line, files, PYTHONPATH=str(Path(__file__).parents[2]))
    is_told(done, b"the working directory no longer exists")
    assert json.loads(done.stdout)["error"]["remedy"]


def test_output_is_utf8_whatever_the_locale(files: Path) -> None:
    (files / "u.yaml").write_text(
        (files / "p.yaml").read_text().replace("id: r1", "id: ré→1"), encoding="utf-8"
    )
    done = shell("$VEPA policy fmt u.yaml", files, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    (files / "out.yaml").write_bytes(done.stdout)
    assert "id: ré→1" in done.stdout.decode()
    assert shell("$VEPA policy fmt out.yaml --check", files).returncode == 0
    assert shell("$VEPA policy show u.yaml", files, PYTHONIOENCODING="ascii").returncode == 0


def test_a_link_stays_a_link(vepa: Any, files: Path) -> None:
    (files / "link.yaml").symlink_to("p.yaml")
    assert vepa("policy", "fmt", files / "link.yaml", "--write").code == 0
    assert (files / "link.yaml").is_symlink()
    assert vepa("policy", "fmt", files / "p.yaml", "--check").code == 0


def test_a_pipe_is_written_to_and_not_replaced(files: Path) -> None:
    (files / "s.json").write_text(_schema())
    line = "mkfifo pipe; cat pipe > got & $VEPA schema migrate s.json s.json p.yaml -o pipe; wait"
    done = shell(line, files)
    assert done.returncode == 0, done.stderr
    assert (files / "pipe").is_fifo()
    assert (files / "got").read_text().startswith("policy: 1")


@pytest.mark.parametrize("target", ["", "-", "p.yaml/x.yaml", "/proc/nope.yaml"])
def test_a_target_that_cannot_be_written_is_told(vepa: Any, files: Path, target: str) -> None:
    (files / "s.json").write_text(_schema())
    place = target if target.startswith(("-", "/")) else str(files / target)
    ran = vepa(
        *("schema", "migrate", files / "s.json", files / "s.json", files / "p.yaml"), "-o", place
    )
    assert ran.code == 2, ran.err
    assert "cannot be written" in ran.err or "standard input" in ran.err
    assert ran.out == ""


def test_evidence_is_bounded(vepa: Any, files: Path) -> None:
    text = (files / "p.yaml").read_text()
    for support, code in ((10**12, 0), (10**400, 2)):
        counted = f"  evidence: {{support: {support}, contradictions: 3}}\n  status: active\n"
        (files / "h.yaml").write_text(text.replace("- id: r2\n", f"{counted}- id: r2\n"))
        for verb in ("check", "show", "lint"):
            assert vepa("policy", verb, files / "h.yaml").code == code


def _schema() -> str:
    fields = {field.name: dict(field.descriptions) for field in bundled_schema().fields}
    return json.dumps({"version": 1, "fields": fields})
