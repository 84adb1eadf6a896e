"""The main job as a run: its profile, its stages, and the folder where its products lie."""
