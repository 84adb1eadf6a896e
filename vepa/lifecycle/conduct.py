"""From a planned lifecycle to its products: packages, software, a Prefect server, the flow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vepa.bench.runs.conduct import check_packages, load_flow, prefect_server
from vepa.collect.runs.conduct import prepare_corpus
from vepa.lifecycle.plan import Lifecycle
from vepa.lifecycle.scaling import check_runner

__all__ = ["conduct_lifecycle", "prepare"]


def prepare(whole: Lifecycle, tell: Callable[[str], None] = lambda _: None) -> None:
    """Whatever could keep a stage from being made at all, settled before anything starts.

    Parameters
    ----------
    whole
        What is to be done.
    tell
        Told what is installed.

    Raises
    ------
    MissingExtraError
        When a package is not installed.
    SettingError, InputError
        When services cannot be run.
    """
    check_packages(whole.benchmark)
    check_runner(whole.profile.scale)
    if whole.corpus is not None and whole.corpus.missing():
        prepare_corpus(whole.corpus, tell)


def conduct_lifecycle(
    whole: Lifecycle, *, verbose: bool = False, stop_after: int | None = None
) -> dict[str, Any]:
    """Run the flow `lifecycle`; what all stages left.

    Parameters
    ----------
    whole
        From `plan_lifecycle`, prepared.
    verbose
        Let Prefect log to the terminal.
    stop_after
        Round after which policies stop to evolve; then nothing is trained, and no page is made.

    Raises
    ------
    RunError
        When no server can be started. What a stage raises is raised here.
    """
    with prefect_server(whole.artifacts / "prefect", verbose=verbose):
        flow = load_flow(whole.project.find("flows", "lifecycle.py"), "lifecycle")
        summary: dict[str, Any] = flow(
            profile=str(whole.file),
            project=str(whole.project.directory) if whole.project.directory else None,
            artifacts=str(whole.artifacts),
            stop_after=stop_after,
        )
    return summary
