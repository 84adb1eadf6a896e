"""Tasks, personas, and the memory-blind agent that acts on them: real tool trajectories."""
