"""The parts of the benchmark: policies, peers, and one module for each thing that is timed."""
