"""Environments as data: the models of `environment.yaml` and how such a file is read."""

from vepa.services.environment.load import (
    check_arguments,
    content_hash,
    load_environment,
    load_environments,
    load_seed,
    read_environment,
    where_in,
)
from vepa.services.environment.model import Environment
from vepa.services.environment.parts import ROLES, Account, Assertion, Step, VolatileKind
from vepa.services.environment.tool import Limits, Tool

__all__ = [
    "ROLES",
    "Account",
    "Assertion",
    "Environment",
    "Limits",
    "Step",
    "Tool",
    "VolatileKind",
    "check_arguments",
    "content_hash",
    "load_environment",
    "load_environments",
    "load_seed",
    "read_environment",
    "where_in",
]
