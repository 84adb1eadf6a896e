"""Where the gate of the LiSA-style baseline comes from: a sweep in a synthetic setting."""

from __future__ import annotations

import numpy as np
import pytest
from blind_spot import scored

from vepa.bench.baselines.asked.lisa import memory
from vepa.bench.baselines.asked.lisa.constants import GATE


@pytest.mark.slow
def test_the_gate_is_the_best_of_its_sweep(monkeypatch):
    found = {}
    for gate in (0.0, 0.3, GATE, 0.5):  # beyond its neighbours it only falls (docs/baselines.md)
        monkeypatch.setattr(memory, "GATE", gate)
        found[gate] = np.mean([scored(flip, seed) for flip in (0.0, 0.1, 0.2) for seed in range(5)])
    assert max(found, key=found.get) == GATE
    # What it is for: wrong feedback must not open the memory to policies that few events back.
    assert found[GATE] > found[0.0] + 0.02
