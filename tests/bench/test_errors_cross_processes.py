from __future__ import annotations

import pickle

import pytest

from vepa.errors import InputError, MissingExtraError, RunError, VerificationError, Where
from vepa.policy import Feedback

ERRORS = [
    InputError("wrong", where=Where("f", 3, "x"), remedy="mend it"),
    MissingExtraError("river", "bench"),
    RunError("stopped"),
    VerificationError([Feedback("conflict", "they clash", rules=("a", "b"))], file="p.yaml"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_from_a_worker_arrives_whole(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy).keys() == vars(error).keys()
    assert copy.exit_code == error.exit_code
