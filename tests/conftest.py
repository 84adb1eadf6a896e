"""How tests are spread over workers."""

from __future__ import annotations

import gc
import os

import pytest

# As in the command: matrices are small here, and threads of BLAS would spin for the cores that the
# workers share. Before anything loads numpy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

#: Tests that call litellm, which takes 5 s of CPU to load: one worker does for all of them.
LITELLM = (
    *("tests/llm/", "tests/parsing/llm/", "tests/annotate/test_", "tests/collect/authoring/"),
    *("tests/collect/test_wire", "tests/collect/test_stops", "tests/cli/test_annotate_command"),
    *("tests/cli/test_author_command", "tests/cli/test_parse_command"),
    *("tests/evolution/llm/test_over_the_wire", "tests/guard/"),
    *("tests/bench/asked/test_agrail_steps", "tests/bench/asked/test_over_the_wire"),
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of a module that share a fixture on one worker, which then makes it once.

    Such a fixture is an office or a finished run, and takes seconds; xdist would make one on every
    worker. Before xdist's own hook, which reads the marks.
    """
    for item in items:
        if item.nodeid.startswith(LITELLM):
            item.add_marker(pytest.mark.xdist_group("litellm"))
            continue
        made = getattr(item, "_fixtureinfo", None)
        if made is None or item.get_closest_marker("xdist_group") is not None:
            continue
        if any(each[-1].scope == "module" for each in made.name2fixturedefs.values()):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


def pytest_collection_finish() -> None:
    """Thousands of tests stay to the end: no later search for garbage need look at them again."""
    gc.collect()
    gc.freeze()
