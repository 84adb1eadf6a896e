"""What a task can put into a service before an episode, beside what its tools can do."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from vepa.services.environment.base import Name, Part
from vepa.services.environment.parts import Step

__all__ = ["Plant"]


class Plant(Part):
    """A named way to put content there, such as a mail that arrives from outside.

    Attributes
    ----------
    name, description
        For people and tasks.
    parameters
        Names of the arguments that a task must give (`args` in templates).
    optional
        Names of those that it may give.
    steps
        Requests; as `admin` unless a step says otherwise.
    example
        Arguments that work on the seed.
    """

    name: Name
    description: str
    parameters: list[Name] = []
    optional: list[Name] = []
    steps: list[Step] = Field(min_length=1)
    example: dict[str, Any] = {}
