"""The one seeded world: who works where, for whom, what is owed, and what must not leak.

All nine services are seeded from it, so that the same people, invoices and secrets appear in each
of them. It is read from `environments/world.yaml`.
"""

from vepa.services.world.entries import (
    CLASSES,
    Class,
    Company,
    Contact,
    Invoice,
    Mark,
    Outsider,
    Partner,
    Person,
    Project,
    Roles,
    Secret,
    Team,
)
from vepa.services.world.model import World, load_world

__all__ = [
    "CLASSES",
    "Class",
    "Company",
    "Contact",
    "Invoice",
    "Mark",
    "Outsider",
    "Partner",
    "Person",
    "Project",
    "Roles",
    "Secret",
    "Team",
    "World",
    "load_world",
]
