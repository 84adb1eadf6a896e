"""Baselines that a language model drives."""
