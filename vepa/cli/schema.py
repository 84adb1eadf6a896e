"""`vepa schema …`: work with event schemas."""

from __future__ import annotations

import typer

__all__ = ["app"]

app = typer.Typer(help="Work with event schemas.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def schema() -> None:
    """Work with event schemas."""
