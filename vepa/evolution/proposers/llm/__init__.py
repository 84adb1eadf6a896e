"""Patches by a language model: asked through the one door, checked like anybody's."""
