"""Removes the containers and the network of an office when its owner dies, also by kill -9.

A script of its own, `python -I reaper.py OWNER START OFFICE ROOT`: it sleeps in the kernel until
the owner is gone, and loads the docker SDK only then. The runtime ends it when the office is
stopped in good order.
"""

from __future__ import annotations

import os
import select
import sys
import time
from contextlib import suppress
from pathlib import Path

#: Requests that the owner had under way may still make containers for a moment.
ROUNDS, PAUSE = 4, 0.7


def wait_for_end(pid: int, start: int) -> None:
    """Return when this very process is gone."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        if int(fields[19]) != start or fields[0] in (b"Z", b"X"):
            return
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        poll.poll()
    except OSError:
        return
    finally:
        os.close(fd)


def remove(office: str, root: str) -> None:
    """Remove everything with the labels of the office."""
    import docker
    from docker.errors import APIError

    client = docker.from_env(timeout=60)
    labels = {"label": [f"vepa.office={office}", f"vepa.root={root}"]}
    for _ in range(ROUNDS):
        for container in client.containers.list(all=True, filters=labels, ignore_removed=True):
            with suppress(APIError):  # gone already, or the next round gets it
                container.remove(force=True, v=True)
        time.sleep(PAUSE)
    for network in client.networks.list(filters=labels):
        with suppress(APIError):
            network.remove()


if __name__ == "__main__":
    wait_for_end(int(sys.argv[1]), int(sys.argv[2]))
    remove(sys.argv[3], sys.argv[4])
