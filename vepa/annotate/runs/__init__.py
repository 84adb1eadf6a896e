"""Annotation as a part of the main job: what the flow's stages call."""
