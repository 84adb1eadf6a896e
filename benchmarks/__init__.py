"""Speed, beside other engines in the same run: `python -m benchmarks.run`."""
