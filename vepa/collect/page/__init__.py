"""Episodes for people: found on disk, step by step, in a terminal or as one HTML page."""
