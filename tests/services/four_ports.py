"""In a network namespace with four ports: what the kernel gives out beside three held ones.

Prints four times whether all is as it should be; exit code 77 where there is no such namespace.
"""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
import sys
from pathlib import Path

from vepa.services.runtimes.launcher import hold


def given(take: int, reuse: bool, address: str) -> set[int]:
    """Ports that come of asking for any; they stay taken while we ask."""
    taken, ports = [], set()
    for _ in range(take):
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
        taken.append(one)
        try:
            one.bind((address, 0))
        except OSError:
            continue
        ports.add(one.getsockname()[1])
    for one in taken:
        one.close()
    return ports


def connected(server: int) -> set[int]:
    """Ports that connections get as their own end."""
    ports = set()
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", server))
        listener.listen()
        for _ in range(6):
            with socket.socket() as client:
                try:
                    client.connect(("127.0.0.1", server))
                except OSError:
                    continue
                ports.add(client.getsockname()[1])
    return ports


if __name__ == "__main__":
    if ctypes.CDLL(None, use_errno=True).unshare(0x40000000) != 0:
        sys.stderr.write("unshare is refused")
        raise SystemExit(77)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:  # loopback up
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 0x41))
    Path("/proc/sys/net/ipv4/ip_local_port_range").write_text("40000 40003")
    sockets = [hold(0) for _ in range(3)]
    left = set(range(40000, 40004)) - {one[0].getsockname()[1] for one in sockets}
    seen = [
        given(8, False, "127.0.0.1"),
        given(8, True, "127.0.0.1"),
        given(8, False, "0.0.0.0"),
        connected(39000),
    ]
    sys.stdout.write(" ".join(str(ports == left) for ports in seen))
