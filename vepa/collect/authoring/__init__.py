"""Letting a model write tasks and personas: asked, checked, proven, kept or sent back."""
