"""Training data for the two adapters: trace to event, and trace to verdict and triggers."""

from vepa.tuning.building import Built, Request, build
from vepa.tuning.examples import Example, stream_examples
from vepa.tuning.manifest import DataManifest, read_data_manifest

__all__ = [
    "Built",
    "DataManifest",
    "Example",
    "Request",
    "build",
    "read_data_manifest",
    "stream_examples",
]
