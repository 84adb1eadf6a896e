"""Episodes for people: found on disk, listed, and told with their end, checks and cost."""
