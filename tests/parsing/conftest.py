from hypothesis import HealthCheck, settings

# Deadlines would make tests depend on how busy the machine is.
settings.register_profile("vepa", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("vepa")
