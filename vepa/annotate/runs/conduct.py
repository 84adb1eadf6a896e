"""From a planned annotation to its products: a Prefect server, and the flow that runs."""

from __future__ import annotations

from typing import Any

from vepa.annotate.runs.plan import AnnotationPlan
from vepa.bench.runs.conduct import load_flow, prefect_server
from vepa.project import Project

__all__ = ["conduct_annotation"]


def conduct_annotation(
    plan: AnnotationPlan, project: Project, *, verbose: bool = False
) -> dict[str, Any]:
    """Run the flow `annotate` over a corpus that is collected; its figures.

    Parameters
    ----------
    plan
        What is annotated.
    project
        Where the flow is looked up.
    verbose
        Let Prefect log to the terminal.

    Raises
    ------
    BudgetError, ModelError
        As `DualAnnotation.judge`; what was judged is kept.
    RunError
        When no server can be started.
    """
    artifacts = plan.corpus.parents[1]
    with prefect_server(artifacts / "prefect", verbose=verbose):
        flow = load_flow(project.find("flows", "corpus.py"), "annotate")
        figures: dict[str, Any] = flow(
            profile=str(plan.file),
            project=str(project.directory) if project.directory else None,
            artifacts=str(artifacts),
        )
    return figures
