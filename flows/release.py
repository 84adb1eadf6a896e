"""A release of a corpus as it is annotated now; the same content is the same version.

The flow `lifecycle` runs it after annotation; it also runs alone (`python flows/release.py`), as
does `vepa corpus release`. All work happens in `vepa`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.artifacts import create_link_artifact, create_markdown_artifact
from prefect.cache_policies import NO_CACHE

from vepa.lifecycle import stages
from vepa.lifecycle.naming import flow_run_name

__all__ = ["release"]


@task(task_run_name="make-release", cache_policy=NO_CACHE)
def make_release(profile: str, project: str | None, artifacts: str | None) -> dict[str, Any]:
    """Split, write, scan, describe."""
    return stages.release(profile, project, artifacts)


@flow(name="release", flow_run_name=flow_run_name)
def release(
    profile: str = "demo", project: str | None = None, artifacts: str | None = None
) -> dict[str, Any]:
    """Release a corpus; its version and folder.

    Parameters
    ----------
    profile
        Name under `flows/profiles/`, or a path.
    project
        Folder of the project; the working directory when left out.
    artifacts
        Folder of what runs produce; the project's when left out.
    """
    made = make_release(profile, project, artifacts)
    card = Path(made["folder"]) / "README.md"
    create_link_artifact(
        link=card.as_uri(),
        link_text=made["version"],
        key="release",
        description=f"Card of the release, on the worker's machine: `{card}`",
    )
    create_markdown_artifact(
        stages.release_markdown(made),
        key="release-rows",
        description="Rows of each table and split",
    )
    return made


if __name__ == "__main__":
    release(project=str(Path(__file__).resolve().parents[1]))
