"""A project whose panel sits at a loopback vendor of `batch_servers`."""

from __future__ import annotations

import shutil
from pathlib import Path

from batch_servers import BatchServer

__all__ = ["project_at"]

_OWN = Path(__file__).parents[2] / "annotation"
_SEAT = """\
  - name: {name}
    vendor: {wire}
    model: {model}
    settings: {{api_base: "{base}", first_wait: 0.002, longest_wait: 0.02, max_attempts: 3}}
"""
_MODELS = {"openai": "openai/gpt-4o-mini", "anthropic": "anthropic/claude-sonnet-4-5"}


def project_at(server: BatchServer, folder: Path) -> Path:
    """Copy the rules, seat both vendors; returns the folder of the project."""
    shutil.copytree(_OWN, folder / "annotation")
    seats = "".join(
        _SEAT.format(name=name, wire=wire, model=_MODELS[wire], base=server.base(wire))
        for name, wire in (("a", "openai"), ("b", "anthropic"))
    )
    (folder / "annotation" / "panel.yaml").write_text(
        f"panel: 1\nannotators:\n{seats}budget: {{dollars: 100}}\n"
    )
    return folder
