"""compose.services.yaml: what the command generates, on loopback only, fit for docker compose."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from vepa.cli import main
from vepa.project import Project
from vepa.services import load_environments

ROOT = Path(__file__).parents[2]
FILE = ROOT / "compose.services.yaml"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(FILE.read_text("utf-8"))
    return data


def test_the_file_is_what_the_command_generates(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("VEPA_DOCKER_IMAGES", raising=False)
    monkeypatch.chdir(ROOT)
    assert main(["services", "compose"]) == 0
    assert capsys.readouterr().out == FILE.read_text("utf-8"), "vepa services compose --write"


def test_it_is_written_into_the_project(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("VEPA_DOCKER_IMAGES", raising=False)
    monkeypatch.chdir(ROOT)
    assert main(["services", "compose", "--write", "--project", str(tmp_path), "--json"]) == 0
    written = (tmp_path / "compose.services.yaml").read_text("utf-8")
    assert written == FILE.read_text("utf-8")


def test_every_environment_is_a_service(document: dict[str, Any]) -> None:
    environments = load_environments(Project(ROOT))
    assert list(document["services"]) == [each.name for each in environments]
    for each in environments:
        service = document["services"][each.name]
        assert service["mem_limit"] == f"{each.docker.memory}m"
        assert service["labels"]["vepa.service"] == each.name
        assert service["healthcheck"]["test"][0] == "CMD"
        assert service["networks"] == ["office"]
        assert len(service["ports"]) == len(each.process.ports)
    assert set(document["networks"]) == {"office"}


def test_every_port_is_on_loopback_its_own_and_can_be_chosen(document: dict[str, Any]) -> None:
    ports = [port for service in document["services"].values() for port in service["ports"]]
    form = re.compile(r"127\.0\.0\.1:\$\{(VEPA_PORT_[A-Z_0-9]+):-(\d+)\}:\d+")
    found = [form.fullmatch(port) for port in ports]
    assert None not in found
    for group in (1, 2):
        values = [match[group] for match in found if match]
        assert len(set(values)) == len(values)


def test_no_service_asks_for_more_rights(document: dict[str, Any]) -> None:
    for name, service in document["services"].items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges"], name
        assert not {"privileged", "volumes", "network_mode", "pid", "devices"} & set(service), name


def compose_command() -> list[str] | None:
    """Docker's own compose, of either kind."""
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    plugin = ["docker", "compose"]
    found = shutil.which("docker") and subprocess.run(
        [*plugin, "version"], capture_output=True, check=False
    )
    return plugin if found and found.returncode == 0 else None


def test_docker_compose_accepts_it() -> None:
    command = compose_command()
    if command is None:
        pytest.skip("NOT RUN: docker compose is not installed")
    done = subprocess.run(
        [*command, "-f", FILE, "config", "-q"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
