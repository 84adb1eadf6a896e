"""A queue with four disputes."""

from __future__ import annotations

import pytest
from disputed import dispute, opened


@pytest.fixture
def queue(tmp_path):
    with opened(tmp_path) as queue:
        queue.fill(dispute(number) for number in range(4))
        yield queue
