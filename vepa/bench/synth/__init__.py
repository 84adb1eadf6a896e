"""Synthetic streams: events over a schema whose true policy is known.

What is drawn follows from whole numbers alone, so a seed gives the same bytes on every machine.
"""

from vepa.bench.synth.agreement import Agreement, agreement
from vepa.bench.synth.making import Synthetic, SyntheticSettings, make_synthetic

__all__ = ["Agreement", "Synthetic", "SyntheticSettings", "agreement", "make_synthetic"]
