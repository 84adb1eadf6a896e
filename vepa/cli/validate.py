"""`vepa validate`: every YAML file of the project against its model."""

from __future__ import annotations

from typing import Any

import typer

from vepa.cli.console import AsJson, Output, ProjectDir

__all__ = ["validate"]


def validate(json: AsJson = False, project: ProjectDir = None) -> None:
    """Check the YAML files of the project; names file, line and field of what is wrong.

    Checked are profiles, policies (`policy.yaml`, `*.policy.yaml`, `policies/*.yaml`), their
    tests (`*.tests.yaml`), schemas and mappings. Others are listed as unchecked.
    """
    from vepa.cli.registry import project_files
    from vepa.errors import Where
    from vepa.project import Project

    out = Output(json)
    checked: list[dict[str, Any]] = []
    unchecked: list[str] = []
    good = True
    for file, entry, schemas in project_files(Project(project)):
        if entry is None:
            unchecked.append(str(file))
            out.note(f"unchecked: {file}: no model is known for this file")
            continue
        problems = entry.problems(file, schemas)
        good = good and not problems
        checked.append(
            {
                "file": str(file),
                "kind": entry.kind,
                "ok": not problems,
                "problems": [problem.to_dict() for problem in problems],
            }
        )
        for problem in problems:
            place = Where(str(file), problem.line, problem.field)
            remedy = f"\n  remedy: {problem.remedy}" if problem.remedy else ""
            out.note(f"error: {place}: {problem.message}{remedy}")
        if not problems:
            out.text(f"ok: {file} ({entry.kind})")
    out.document({"ok": good, "files": checked, "unchecked": unchecked})
    out.note(
        f"{len(checked)} files checked, {sum(not row['ok'] for row in checked)} wrong, "
        f"{len(unchecked)} unchecked"
    )
    raise typer.Exit(0 if good else 2)
