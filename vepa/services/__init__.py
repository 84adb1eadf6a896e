"""The nine services: environments as data, two runtimes, reset, tools and their drivers.

`Office.start(...)` brings services up, seeded; `office.session(role)` is an episode's way to their
tools; `office.reset()` brings them back to their seed.
"""

from vepa.services.environment import Environment, load_environment, load_environments
from vepa.services.leftovers import clean_up
from vepa.services.office import Office
from vepa.services.resetting import ResetReport
from vepa.services.session import Outcome, ToolSession
from vepa.services.world import World, load_world

__all__ = [
    "Environment",
    "Office",
    "Outcome",
    "ResetReport",
    "ToolSession",
    "World",
    "clean_up",
    "load_environment",
    "load_environments",
    "load_world",
]
