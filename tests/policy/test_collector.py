"""The collector is paused inside the block and as before after it, whatever happens."""

from __future__ import annotations

import gc

import pytest

from vepa.errors import PolicyError
from vepa.policy import read_policy
from vepa.policy.collector import paused


@pytest.fixture(params=[True, False])
def enabled(request):
    before = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if before else gc.disable)()


def test_the_state_before_comes_back(enabled):
    with paused():
        assert not gc.isenabled()
        with paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled() == enabled


def test_it_comes_back_after_an_error(enabled):
    with pytest.raises(PolicyError):
        read_policy("{", "broken.yaml")
    assert gc.isenabled() == enabled
