"""VEPA: policies for agents that grow from labelled behaviour, verified and gated by evidence.

A policy is a set of inspectable rules over typed events. It answers `allow`, `refuse` or `abstain`;
it changes only by patches that a deterministic verifier accepts, and a rule has a say only once
enough evidence stands behind it.

`import vepa` is cheap: public names are loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vepa.errors import InputError, VepaError
    from vepa.project import Project

__version__ = "0.1.0"

#: Public name -> the module that defines it.
_HOME = {
    "InputError": "vepa.errors",
    "Project": "vepa.project",
    "VepaError": "vepa.errors",
}

__all__ = ["InputError", "Project", "VepaError", "__version__"]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value  # the next access does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
