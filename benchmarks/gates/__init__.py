"""What authority costs and buys: the parts of `python -m benchmarks.authority`."""
