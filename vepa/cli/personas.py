"""`vepa personas …`: who asks."""

from __future__ import annotations

import typer

from vepa.cli.authoring import new_persona
from vepa.cli.console import AsJson, Output, ProjectDir
from vepa.cli.findings import counted
from vepa.cli.offices import world_of

__all__ = ["app"]

app = typer.Typer(
    help="List the personas whose requests the agent works on.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("new")(new_persona)


@app.command("list")
def list_personas(json: AsJson = False, project: ProjectDir = None) -> None:
    """List personas: who they are and what they may do."""
    from vepa.collect.personas import load_personas
    from vepa.project import Project
    from vepa.services.world import load_world

    out = Output(json)
    found = load_personas(Project(project), load_world(world_of(project)))
    out.document({"personas": [each.model_dump(mode="json") for each in found.values()]})
    rows = [(each.id, each.position, each.rights) for each in found.values()]
    out.table(("persona", "position", "may"), rows)
    out.note(counted(len(found), "persona"))
