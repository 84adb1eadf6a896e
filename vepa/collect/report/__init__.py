"""The report of a corpus: what was collected, from what, and how to look further."""
