"""The source's experiments on our events: plays that are kept, figures of them, and their pages."""
