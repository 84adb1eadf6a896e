"""`vepa validate`: every YAML file of the project against its model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from vepa.cli.console import AsJson, Output, ProjectDir
from vepa.cli.findings import counted, finding

if TYPE_CHECKING:
    from pathlib import Path

    from vepa.cli.registry import Found
    from vepa.project import Project

__all__ = ["validate"]


def validate(
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 1 when a file stays unchecked, or none is there.")
    ] = False,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Check the YAML files of the project; names file, line and field of what is wrong.

    Checked are profiles, environments with their seeds and world, policies (`policy.yaml`,
    `*.policy.yaml`, `policies/*.yaml`, and every file with the key `policy`), their tests
    (`*.tests.yaml`), schemas and mappings. Other files are parsed and listed as unchecked. What is
    not in the project's own folder says where it is.
    """
    from vepa.cli.registry import project_files
    from vepa.project import Project

    out = Output(json)
    content = Project(project)
    found, schemas = project_files(content)
    checked: list[dict[str, Any]] = []
    unchecked: list[str] = []
    for file in found:
        problems = file.problems(schemas)
        origin = _origin(file, content)
        for problem in problems:
            out.note(f"error: {finding(problem, str(file.path))}")
        if file.entry is None and not problems:
            unchecked.append(str(file.path))
            out.note(f"unchecked: {file.path}: {file.unchecked}{origin}")
            continue
        checked.append(
            {
                "file": str(file.path),
                "root": str(file.root),
                "kind": file.kind,
                "ok": not problems,
                "problems": [problem.to_dict() for problem in problems],
            }
        )
        if not problems:
            out.text(f"ok: {file.path} ({file.kind}){origin}")
    wrong = sum(not row["ok"] for row in checked)
    out.document({"ok": not wrong, "files": checked, "unchecked": unchecked})
    out.note(
        f"{counted(len(checked), 'file')} checked, {wrong} wrong, {len(unchecked)} unchecked"
        + ("" if found else f"; no YAML file of a project in {content.candidates[0]}")
    )
    raise typer.Exit(2 if wrong else int(strict and (bool(unchecked) or not checked)))


def _origin(file: Found, project: Project) -> str:
    """What is said about a file that does not lie in the project's own folder."""
    if file.root == project.candidates[0]:
        return ""
    return f", content {_place(file.root)}"


def _place(root: Path) -> str:
    from vepa.project import package_content

    return "of the package" if root == package_content() else "of the working directory"
