"""How the official images are run, without an engine: reference, rights, ports, program, files."""

from __future__ import annotations

import io
import re
import tarfile
from pathlib import Path

import pytest

from vepa.errors import InputError
from vepa.project import Project
from vepa.services import Environment, load_environment, load_environments
from vepa.services.runtimes import docker_plan as plan
from vepa.services.runtimes.base import Slot
from vepa.services.world import load_world

#: By digest, as their makers' public image lists have it beside the tag (docs/services.md).
BY_DIGEST = {
    "calendar": ("ghcr.io/kozea/radicale:3.8.1", "54d9406cd30f9e20"),
    "chat": ("matrixdotorg/synapse:v1.162.0", "6b84a7bbac36f080"),
    "database": ("postgres:16.14", "95206741a5b21480"),
    "identity": ("openbao/openbao:2.7.1", "6d2b93856e3fcf7b"),
}
BY_RECORD = {"payments": "adrienverge/localstripe:1.15.10"}
BUILT = ("files", "mail", "tickets", "wiki")


@pytest.fixture(scope="module")
def environments() -> dict[str, Environment]:
    return {each.name: each for each in load_environments(Project())}


@pytest.fixture(autouse=True)
def wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VEPA_DOCKER_IMAGES", "official")


def slot_of(environment: Environment, world_file: Path) -> Slot:
    return Slot("office", Path(), environment, load_world(world_file))


def test_every_environment_has_its_kind_of_image(environments: dict[str, Environment]) -> None:
    forms = {name: plan.form_of(each) for name, each in environments.items()}
    official = dict.fromkeys([*BY_DIGEST, *BY_RECORD], "official")
    assert forms == official | dict.fromkeys(BUILT, "built")


@pytest.mark.parametrize("name", BY_DIGEST)
def test_the_digest_decides_not_the_tag(name: str, environments: dict[str, Environment]) -> None:
    image, digest = BY_DIGEST[name]
    assert environments[name].docker.image == image
    reference = plan.official_reference(environments[name])
    assert re.fullmatch(rf"{re.escape(image.rpartition(':')[0])}@sha256:[0-9a-f]{{64}}", reference)
    assert f"sha256:{digest}" in reference


@pytest.mark.parametrize("name", BY_RECORD)
def test_without_a_digest_the_tag_is_asked_for(
    name: str, environments: dict[str, Environment]
) -> None:
    assert plan.official_reference(environments[name]) == BY_RECORD[name]


@pytest.mark.parametrize("name", [*BY_DIGEST, *BY_RECORD])
def test_it_runs_closed_in(
    name: str, environments: dict[str, Environment], world_file: Path
) -> None:
    environment = environments[name]
    settings = plan.settings_of(slot_of(environment, world_file), {})
    assert settings["cap_drop"] == ["ALL"]
    assert "cap_add" not in settings
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", settings["user"])
    assert {host for host, _ in settings["ports"].values()} == {"127.0.0.1"}
    assert settings["ports"].keys() == {f"{each}/tcp" for each in environment.docker.ports.values()}
    assert environment.docker.ports.keys() == environment.process.ports.keys()
    assert "{{" not in str([settings["command"], settings["environment"]])


@pytest.mark.parametrize("name", [*BY_DIGEST, *BY_RECORD])
def test_what_it_is_told_to_read_is_given_to_it(
    name: str, environments: dict[str, Environment], world_file: Path
) -> None:
    slot = slot_of(environments[name], world_file)
    settings = plan.official_settings(slot)
    told = [*settings.get("entrypoint", []), *settings["command"]]
    with tarfile.open(fileobj=io.BytesIO(plan.official_archive(slot, fresh=True))) as archive:
        given = {f"/{each.name}": each for each in archive}
        named = set(re.findall(r"/(?:office/files|environment)/[\w./-]+", " ".join(told)))
        assert named <= given.keys()
        assert given["/office/data"].mode == 0o777
        for place in named:
            assert given[place].mode == 0o644
            member = archive.extractfile(place[1:])
            assert member is not None
            assert b"{{" not in member.read()
    with tarfile.open(fileobj=io.BytesIO(plan.official_archive(slot, fresh=False))) as archive:
        assert not [each.name for each in archive if each.name.startswith("office/data")]


def test_chat_and_payments_are_started_by_our_own_program(
    environments: dict[str, Environment], world_file: Path
) -> None:
    """The image's own has neither a reset nor restricted keys."""
    chat = plan.official_settings(slot_of(environments["chat"], world_file))
    assert chat["entrypoint"] == ["sh", "-c"]
    (script,) = chat["command"]
    assert script.count("python3 /environment/serve.py -c /office/files/run/homeserver.yaml") == 2
    payments = plan.official_settings(slot_of(environments["payments"], world_file))
    assert payments["entrypoint"] == ["python3", "/environment/serve.py"]
    assert payments["command"][:2] == ["0.0.0.0", "8420"]


@pytest.mark.parametrize(
    ("docker", "said"),
    [
        ("{image: postgres, ports: {http: 1}}", "docker.image"),
        ("{image: 'postgres:16@sha256:12', ports: {http: 1}}", "docker.image"),
        ("{image: 'postgres:16', digest: 'sha256:12', ports: {http: 1}}", "docker.digest"),
        ("{entrypoint: [sh]}", "belong to an `image`"),
    ],
)
def test_what_is_no_image(docker: str, said: str, tmp_path: Path) -> None:
    text = (Path(__file__).parent / "environments/notes/environment.yaml").read_text("utf-8")
    assert "docker: {memory: 64}" in text
    file = tmp_path / "environment.yaml"
    file.write_text(text.replace("docker: {memory: 64}", f"docker: {docker}"), "utf-8")
    with pytest.raises(InputError, match=re.escape(said)):
        load_environment(file)
