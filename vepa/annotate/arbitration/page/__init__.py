"""The page where people settle what annotators see differently."""
