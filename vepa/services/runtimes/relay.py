"""Carries connections from a container's own address to its service on the container's loopback.

Beside `container.py` in the image, and loaded by it; standard library only.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping


class Relay:
    """Listens on ports of the container's address.

    Parameters
    ----------
    ports
        Port of the container's address -> port of its loopback.
    """

    def __init__(self, ports: Mapping[str, int | str]):
        self._ports = {int(outer): int(inner) for outer, inner in ports.items()}
        self._writers: set[asyncio.StreamWriter] = set()

    async def open(self) -> None:
        """Begin to listen."""
        address = socket.gethostbyname(socket.gethostname())
        for outer, inner in self._ports.items():

            async def serve(
                reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int = inner
            ) -> None:
                await self._carry(reader, writer, port)

            await asyncio.start_server(serve, address, outer, backlog=256)

    async def _carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int
    ) -> None:
        try:
            there, back = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.transport.abort()  # nobody listens: the client sees a reset, no orderly end
            return
        self._writers |= {writer, back}
        try:
            await asyncio.gather(_pump(reader, back), _pump(there, writer))
        except OSError:
            writer.transport.abort()
        finally:
            self._writers -= {writer, back}
            writer.close()
            back.close()

    def hang_up(self) -> None:
        """End the connections to a service that is gone."""
        for writer in list(self._writers):
            writer.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof() and not writer.transport.is_closing():
        writer.write_eof()
