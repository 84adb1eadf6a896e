"""The flow `author`: mapped over wishes, what became of each is an artifact."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from authoring_desk import GOOD, written
from behaviours import FAKE_KEY
from model_servers import Data, ModelServer, Seen
from tiny_office import ROOT, cache_folder
from tiny_tasks import CLEAN, write_project

#: A process of its own, for Prefect settles itself once in each; without the bundled content.
SCRIPT = """
import json, sys
from pathlib import Path
import vepa.project
from vepa.bench.runs.conduct import load_flow, prefect_server
from vepa.errors import SettingError

folder, flow, settings = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
vepa.project.package_content = lambda: folder
with prefect_server(folder / "artifacts" / "prefect", verbose=False):
    author = load_flow(flow, "author")
    report = author(settings, project=str(folder), artifacts=str(folder / "artifacts"))
    try:
        author({**settings, "environments": ["mail"]}, project=str(folder))
    except SettingError as error:
        print(error.message, file=sys.stderr)
print(json.dumps(report))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A tiny project with prompts."""
    folder = write_project(tmp_path / "project", CLEAN)
    shutil.copytree(ROOT / "prompts", folder / "prompts")
    return folder


def answer(seen: Seen) -> Data:
    """A good task for the first wish, a copy of an existing request for the others."""
    if seen.body.get("seed", seen.number + 1) == 1:
        return written(GOOD)
    return written({**GOOD, "id": f"memos-{seen.number}", "request": CLEAN["request"]})


@pytest.mark.integration
@pytest.mark.xdist_group("corpus-flow")  # the server of those tests
def test_wishes_are_written_and_told(project: Path, server: str, prefect_home: Path) -> None:
    with cache_folder() as places, ModelServer(answer) as model:
        settings: dict[str, Any] = {
            "model": "openai/gpt-4o-mini",
            "area": "memos",
            "environments": ["memos"],
            "count": 3,
            "tries": 0,
            "model_settings": {"api_base": model.openai},
        }
        flow = ROOT / "flows" / "author.py"
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(project), str(flow), json.dumps(settings)],
            env={
                **os.environ,
                "VEPA_CACHE": str(places.root),
                "OPENAI_API_KEY": FAKE_KEY,
                "PREFECT_API_URL": server,
            },
            cwd=project,
            capture_output=True,
            text=True,
            timeout=150,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads(done.stdout.splitlines()[-1])
    assert [each["id"] for each in report["accepted"]] == [GOOD["id"]]
    assert len(report["rejected"]) == 2
    assert "no environment 'mail'" in done.stderr
    assert model.requests == 3
    database = prefect_home / "prefect.db"
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        told = dict(connection.execute("select key, data from artifact").fetchall())
        names = dict(connection.execute("select name, state_type from task_run").fetchall())
    table = json.loads(told["authored"])
    table = json.loads(table) if isinstance(table, str) else table
    assert sorted(row["state"] for row in table) == ["accepted", "rejected", "rejected"]
    assert sum("alike" in row["reasons"] for row in table) == 2
    assert float(told["author"]) == 100.0
    assert [names[f"write-{number}"] for number in (1, 2, 3)] == ["COMPLETED"] * 3
