"""Images of environments: built by a real engine from what this machine has, and really run."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from vepa.errors import InputError, RunError
from vepa.services.runtimes.images import (
    BASE,
    LABELS,
    Recipe,
    base_id,
    build_image,
    connect,
    find_image,
)
from vepa.services.runtimes.wheels import collect_wheels, wheels_fit

# One after the other: they share images, and look at what is left of all.
pytestmark = [pytest.mark.docker, pytest.mark.xdist_group("engine"), pytest.mark.timeout(400)]

SERVE = """
import http.server, json, os, sys
import mdurl

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        known = {"path": mdurl.parse(self.path).pathname, "user": os.getuid(), "id": os.getpid()}
        self.wfile.write(json.dumps(known).encode())

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
"""


@pytest.fixture(scope="module")
def engine() -> Any:
    return connect()


@pytest.fixture(scope="module")
def recipe(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recipe]:
    assert wheels_fit(engine), "these tests collect wheels with the Python of the base image"
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "serve.py").write_text(SERVE)
    (folder / "environment.yaml").write_text("description: no part of the image\n")
    wheels = collect_wheels(["mdurl==0.1.2"], None, tmp_path_factory.mktemp("wheels"))
    made = Recipe(
        name="tiny", packages=["mdurl==0.1.2"], folder=folder, programs=["git"], wheels=wheels
    )
    yield made
    for image in engine.images.list("vepa/tiny"):
        engine.images.remove(image.id, force=True)


def answer(url: str) -> dict[str, Any]:
    for _ in range(200):
        try:
            with urllib.request.urlopen(url, timeout=5) as reply:
                return json.loads(reply.read())
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"{url} does not answer")


def test_a_built_image_runs_and_answers_on_loopback(engine, recipe):
    reference = build_image(engine, recipe)
    labels = find_image(engine, reference).labels
    assert labels[LABELS["environment"]] == "tiny"
    assert labels[LABELS["content"]].startswith(reference.rpartition(":")[2])
    network = engine.networks.create("vepa-test-images")
    container = None
    try:
        container = engine.containers.run(
            reference,
            entrypoint=["/opt/services/bin/python", "/environment/serve.py", "0.0.0.0", "8000"],
            detach=True,
            network=network.name,
            ports={"8000/tcp": ("127.0.0.1", None)},
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
        )
        container.reload()
        (binding,) = container.ports["8000/tcp"]
        assert binding["HostIp"] == "127.0.0.1"
        said = answer(f"http://127.0.0.1:{binding['HostPort']}/a?b")
        assert (said["path"], said["user"]) == ("/a", 10001)
        listed = container.exec_run(["ls", "/environment", "/opt/vepa"]).output.decode().split()
        assert "serve.py" in listed
        assert "container.py" in listed
        assert "environment.yaml" not in listed
        assert container.exec_run(["git", "--version"]).exit_code == 0
    finally:
        if container is not None:
            container.remove(force=True)
        network.remove()


def test_an_unchanged_environment_is_not_built_again(engine, recipe):
    told: list[str] = []
    first = build_image(engine, recipe)
    assert build_image(engine, recipe, told.append) == first
    assert told == []
    (recipe.folder / "environment.yaml").write_text("description: other words\n")
    assert build_image(engine, recipe, told.append) == first
    (recipe.folder / "serve.py").write_text(SERVE + "\n# changed\n")
    assert build_image(engine, recipe, told.append) != first
    assert told == ["tiny: building its image"]


def test_a_failed_build_says_why(engine, recipe, tmp_path):
    broken = Recipe(
        name="tiny", packages=["mdurl==0.1.1"], folder=recipe.folder, wheels=recipe.wheels
    )
    with pytest.raises(RunError, match="the image of tiny cannot be built") as caught:
        build_image(engine, broken)
    assert "mdurl==0.1.1" in str(caught.value)
    # Other tests have containers of their own on the engine at the same time.
    left = [each.attrs["Config"] for each in engine.containers.list(all=True, ignore_removed=True)]
    assert [config for config in left if broken.packages[0] in str(config)] == []


def test_a_wrong_image_is_named(engine):
    with pytest.raises(InputError, match=r"vepa-nobody/nothing:0.*cannot be pulled"):
        base_id(engine, "vepa-nobody/nothing:0")
    assert base_id(engine, BASE).startswith("sha256:")
