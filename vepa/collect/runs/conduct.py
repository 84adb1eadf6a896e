"""From a planned corpus to its products: software, a Prefect server, and the flow that runs."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from vepa.bench.runs.conduct import load_flow, prefect_server
from vepa.collect.runs.session import CorpusPlan
from vepa.errors import MissingExtraError
from vepa.project import Project
from vepa.services.software import install_software

__all__ = ["conduct_corpus"]


def conduct_corpus(
    plan: CorpusPlan,
    project: Project,
    *,
    verbose: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Run the flow `corpus`; the figures of what it collected.

    Parameters
    ----------
    plan
        What is collected.
    project
        Where the flow is looked up.
    verbose
        Let Prefect log to the terminal.
    tell
        Told what is installed.

    Raises
    ------
    MissingExtraError
        When a package that it needs is not installed.
    RunError
        When episodes are missing in the end, or no server can be started.
    """
    for package, extra in (("prefect", "pipeline"), ("httpx", "services"), ("jinja2", "pipeline")):
        if find_spec(package) is None:
            raise MissingExtraError(package, extra)
    artifacts = plan.folder.parents[1]
    if plan.missing():
        install_software(plan.environments, plan.profile.runtime, tell)
    with prefect_server(artifacts / "prefect", verbose=verbose):
        flow = load_flow(project.find("flows", "corpus.py"), "corpus")
        figures: dict[str, Any] = flow(
            profile=str(plan.file),
            project=str(project.directory) if project.directory else None,
            artifacts=str(artifacts),
        )
    return figures
