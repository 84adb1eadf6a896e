"""The compose file: services as containers that need no VEPA; tried on a real engine elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from vepa.services import load_environment
from vepa.services.compose import FIRST_PORT, compose_document, compose_yaml

NOTES = Path(__file__).parent / "environments" / "notes" / "environment.yaml"


def test_a_service_is_closed_in_and_on_loopback(world_file):
    document = compose_document([load_environment(NOTES)], world_file)
    notes = document["services"]["notes"]
    assert notes["image"] == "vepa-seed/notes:latest"
    assert notes["ports"] == [f"127.0.0.1:${{VEPA_PORT_NOTES_HTTP:-{FIRST_PORT}}}:20001"]
    assert (notes["cap_drop"], notes["security_opt"]) == (["ALL"], ["no-new-privileges"])
    assert notes["mem_limit"] == "64m"
    assert notes["networks"] == list(document["networks"])
    assert notes["healthcheck"]["test"][-1] == "health"


def test_the_service_is_told_the_port_of_its_clients(world_file):
    notes = compose_document([load_environment(NOTES)], world_file)["services"]["notes"]
    spec = json.loads(notes["environment"]["VEPA_SPEC"].replace("${VEPA_PORT_NOTES_HTTP:-", "<"))
    port = f"<{FIRST_PORT}}}"
    assert spec["argv"][spec["argv"].index("--port") + 1] == port
    assert json.loads(spec["files"]["/office/files/run/config.json"].replace(port, "1")) == {
        "address": "127.0.0.1:1"
    }
    assert (spec["relay"], spec["prepare"]) == ({"20001": port}, [])


def test_a_dollar_of_an_environment_is_no_variable(world_file, tmp_path):
    folder = tmp_path / "notes"
    (folder / "seed").mkdir(parents=True)
    (folder / "seed" / "notes.yaml").write_text("notes: []\n")
    text = NOTES.read_text().replace("  prepare:", '  environment: {PRICE: "$5"}\n  prepare:')
    (folder / "environment.yaml").write_text(text)
    document = compose_document([load_environment(folder / "environment.yaml")], world_file)
    assert '"PRICE": "$$5"' in document["services"]["notes"]["environment"]["VEPA_SPEC"]
    assert yaml.safe_load(compose_yaml(document)) == document
