"""The temporary Prefect server, when several commands start on a new folder at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vepa.bench.runs.server import TemporaryServer, quiet_environment


@pytest.mark.slow
def test_servers_that_start_at_once_share_a_new_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PREFECT_HOME", raising=False)
    home = tmp_path / "prefect"

    def begin_and_end(_: int) -> str:
        with TemporaryServer(home, quiet_environment(home)) as server:
            return server.api_url

    with ThreadPoolExecutor(3) as pool:
        urls = list(pool.map(begin_and_end, range(3)))
    assert all(url.startswith("http://127.0.0.1:") for url in urls)
