"""Loopback models for the tests of the model parser."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from loopback_model import key, server, warm

__all__ = ["key", "server", "warm"]

settings.register_profile("vepa", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("vepa")
