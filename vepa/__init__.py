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
    from vepa.corpus.events import EventTable, read_events
    from vepa.corpus.trajectory import Trajectory, stream_trajectories
    from vepa.errors import InputError, VepaError
    from vepa.parsing.instrumented import InstrumentedParser
    from vepa.policy.event import Event
    from vepa.policy.matching import CompiledPolicy, Decision
    from vepa.policy.policy import Policy
    from vepa.policy.reading import load_policy
    from vepa.policy.schema import Schema, bundled_schema
    from vepa.policy.verifier import verify
    from vepa.project import Project

__version__ = "0.1.0"

#: Public name -> the module that defines it.
_HOME = {
    "CompiledPolicy": "vepa.policy.matching",
    "Decision": "vepa.policy.matching",
    "Event": "vepa.policy.event",
    "EventTable": "vepa.corpus.events",
    "InputError": "vepa.errors",
    "InstrumentedParser": "vepa.parsing.instrumented",
    "Policy": "vepa.policy.policy",
    "Project": "vepa.project",
    "Schema": "vepa.policy.schema",
    "Trajectory": "vepa.corpus.trajectory",
    "VepaError": "vepa.errors",
    "bundled_schema": "vepa.policy.schema",
    "load_policy": "vepa.policy.reading",
    "read_events": "vepa.corpus.events",
    "stream_trajectories": "vepa.corpus.trajectory",
    "verify": "vepa.policy.verifier",
}

__all__ = [
    "CompiledPolicy",
    "Decision",
    "Event",
    "EventTable",
    "InputError",
    "InstrumentedParser",
    "Policy",
    "Project",
    "Schema",
    "Trajectory",
    "VepaError",
    "__version__",
    "bundled_schema",
    "load_policy",
    "read_events",
    "stream_trajectories",
    "verify",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value  # the next access does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
