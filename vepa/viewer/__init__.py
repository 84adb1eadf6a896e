"""Trajectories for people: step by step in a terminal, or thousands of them on one page."""
