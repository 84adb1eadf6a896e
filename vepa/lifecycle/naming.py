"""What the runs of a lifecycle are called in a Prefect server."""

from __future__ import annotations

from pathlib import Path

__all__ = ["flow_run_name", "run_name"]


def run_name(flow: str, profile: str) -> str:
    """`FLOW-PROFILE`; a profile that is given as a path goes by its name.

    Parameters
    ----------
    flow
        Name of the flow.
    profile
        Name of a profile, or its path.

    Examples
    --------
    >>> run_name("evolve", "demo")
    'evolve-demo'
    >>> run_name("evolve", "flows/profiles/demo.yaml")
    'evolve-demo'
    >>> run_name("evolve", "artifacts/corpus/demo/evolve.yaml")
    'evolve-corpus-demo'
    """
    path = Path(profile)
    if path.name == "evolve.yaml":  # of a policy that evolves on a corpus; the folder has its name
        return f"{flow}-corpus-{path.parent.name}"
    return f"{flow}-{path.stem if path.suffix in {'.yaml', '.yml'} else path.name}"


def flow_run_name() -> str:
    """The name of the flow run that Prefect begins in this thread."""
    from prefect.runtime import flow_run

    return run_name(flow_run.flow_name, flow_run.parameters["profile"])
