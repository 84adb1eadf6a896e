"""The stage that writes summary and page, over a real run of a policy."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from small_runs import PROFILE, SmallProject

from vepa.lifecycle import stages
from vepa.project import package_content


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> SmallProject:
    """A finished run over the first real events, of two rounds."""
    made = SmallProject(tmp_path_factory.mktemp("project"))
    for file in (made.profile, made.events):
        file.parent.mkdir(parents=True)
    made.profile.write_text(PROFILE.replace("rounds: 5", "rounds: 2").replace("hoeffding, ", ""))
    source = package_content() / "data" / "assebench_security.events.jsonl"
    made.events.write_text("".join(source.read_text().splitlines(keepends=True)[:60]))
    made.make()
    return made


def test_the_page_lies_beside_the_summary(project: SmallProject) -> None:
    where = ("small", str(project.folder), str(project.folder / "artifacts"))
    shutil.rmtree(project.folder / "artifacts" / "lifecycle", ignore_errors=True)
    first = stages.summarise(*where, {"evolve-benchmark": 1.5})
    page, summary = Path(first["page"]), Path(first["summary"])
    assert page == summary.parent / "report.html"
    text = page.read_text()
    confusion = json.loads(summary.read_text())["benchmark"]["confusion"]
    total = sum(sum(row.values()) for row in confusion.values())
    assert total == 60
    assert f"of {total} events (" in text
    assert "made now, 1.5 s" in text
    (run,) = (project.folder / "artifacts" / "runs").iterdir()
    assert f'href="../../runs/{run.name}/report.html"' in text
    assert "no earlier run" in text
    stages.summarise(*where)
    again = page.read_text()
    assert "<b>Nothing changed.</b>" in again
    assert "stood, made in 1.5 s" in again.replace("</span>", "")
    assert sorted(each.name for each in page.parent.iterdir()) == ["lifecycle.json", "report.html"]
