"""The report of a lifecycle: read in a minute, with ways to dig into every stage."""
