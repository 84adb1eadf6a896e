"""The whole lifecycle: a corpus is collected, annotated and released, and policies evolve on it."""
