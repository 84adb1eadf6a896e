"""What is said where no container engine answers, or pip has not what an image needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from vepa.errors import RunError, SettingError
from vepa.services.runtimes.images import connect
from vepa.services.runtimes.wheels import collect_wheels


def test_no_engine(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    with pytest.raises(SettingError, match="no container engine answers") as caught:
        connect()
    assert caught.value.exit_code == 2
    assert "docker_engine.sh" in str(caught.value)


def test_wheels_that_cannot_be_had(tmp_path: Path):
    with pytest.raises(RunError, match="pip cannot collect the wheels of no-such-folder/package"):
        collect_wheels(["no-such-folder/package"], None, tmp_path / "wheels")
    assert list((tmp_path / "wheels").iterdir()) == []
