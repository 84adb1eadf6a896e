"""Files of published benchmarks: what is known of them, and how they come into the cache."""

from vepa.corpus.benchmarks.fetching import Fetched, fetch, is_fetched, place_of
from vepa.corpus.benchmarks.listing import Benchmark, BenchmarkFile, benchmarks, read_benchmarks

__all__ = [
    "Benchmark",
    "BenchmarkFile",
    "Fetched",
    "benchmarks",
    "fetch",
    "is_fetched",
    "place_of",
    "read_benchmarks",
]
