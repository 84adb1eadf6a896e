"""Streams, the prequential loop, metrics, baselines and experiments."""
