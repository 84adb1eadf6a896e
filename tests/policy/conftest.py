"""Settings of hypothesis for a machine that may be busy: no wall clock decides about a test."""

from hypothesis import HealthCheck, settings

settings.register_profile("vepa", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("vepa")
