"""From a planned corpus to its products: software, a Prefect server, and the flow that runs."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from vepa.bench.runs.conduct import load_flow, prefect_server
from vepa.collect.runs.session import CorpusPlan
from vepa.errors import MissingExtraError, SettingError, Where
from vepa.files import name_of, read_text
from vepa.policy.document import parse_document
from vepa.project import Project
from vepa.services.software import install_software

__all__ = ["conduct_corpus", "prepare_corpus"]


def prepare_corpus(plan: CorpusPlan, tell: Callable[[str], None] = lambda _: None) -> None:
    """Whatever could keep episodes from being played at all, settled before anything starts.

    Packages are there, and the services' software is installed.

    Parameters
    ----------
    plan
        What is collected.
    tell
        Told what is installed.

    Raises
    ------
    MissingExtraError
        When a package is not installed.
    SettingError
        When the profile wants containers and no engine answers; names file, line and field.
    InputError
        When software cannot be had.
    """
    for package, extra in (("prefect", "pipeline"), ("httpx", "services"), ("jinja2", "pipeline")):
        if find_spec(package) is None:
            raise MissingExtraError(package, extra)
    try:
        install_software(plan.environments, plan.profile.runtime, tell)
    except SettingError as error:
        if error.where.field != "--runtime docker":
            raise
        document = parse_document(read_text(plan.file), name_of(plan.file), SettingError)
        place = ("corpus", "runtime")
        raise SettingError(
            error.message,
            where=Where(document.file, document.line(place), ".".join(place)),
            remedy=error.remedy,
        ) from None


def conduct_corpus(
    plan: CorpusPlan,
    project: Project,
    *,
    verbose: bool = False,
) -> dict[str, Any]:
    """Run the flow `corpus` over a corpus that is prepared; the figures of what it collected.

    Parameters
    ----------
    plan
        What is collected.
    project
        Where the flow is looked up.
    verbose
        Let Prefect log to the terminal.

    Raises
    ------
    RunError
        When episodes are missing in the end, or no server can be started.
    """
    artifacts = plan.folder.parents[1]
    with prefect_server(artifacts / "prefect", verbose=verbose):
        flow = load_flow(project.find("flows", "corpus.py"), "corpus")
        figures: dict[str, Any] = flow(
            profile=str(plan.file),
            project=str(project.directory) if project.directory else None,
            artifacts=str(artifacts),
        )
    return figures
