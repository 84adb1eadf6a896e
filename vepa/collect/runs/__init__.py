"""A corpus as a run: its profile, the session that collects it, and what it leaves behind."""
