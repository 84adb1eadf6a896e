"""The server: a socket, the page behind it, and a clean end."""

from __future__ import annotations

import ipaddress
import signal
import socket
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn

from vepa.annotate.arbitration.desk import write_settled
from vepa.annotate.arbitration.page.app import make_app
from vepa.annotate.arbitration.page.door import Door
from vepa.annotate.arbitration.page.guard import Asked, Hosts
from vepa.annotate.arbitration.page.keeping import Keeper
from vepa.annotate.arbitration.page.limits import Limits
from vepa.annotate.arbitration.page.pages import Desk
from vepa.annotate.arbitration.page.rendering import Renderer
from vepa.annotate.arbitration.queue import ArbitrationQueue
from vepa.annotate.panel import Rules
from vepa.errors import SettingError, Where

__all__ = ["PageServer", "Settings"]

#: Requests that are still answered when the server ends may take so long.
_GRACE_SECONDS = 5
#: Addresses that a page asks by itself, again and again; they are left out of the log.
_QUIET = ("/renew", "/state")


@dataclass(frozen=True, slots=True)
class Settings:
    """How a page is served.

    Attributes
    ----------
    host, port
        Where; port 0 is a free one.
    people
        Who may come in, each by a link of their own; empty for one link for all.
    taken
        Names that nobody may have.
    limits
        How much is taken.
    """

    host: str = "127.0.0.1"
    port: int = 0
    people: Sequence[str] = ()
    taken: Collection[str] = ()
    limits: Limits = field(default_factory=Limits)


class PageServer:
    """One page, served until somebody ends it.

    Parameters
    ----------
    folder
        Of the annotation.
    queue
        Its queue.
    rules
        Taxonomy and codebook.
    settings
        Where, and for whom.
    tell
        Told requests and faults, a line each.

    Raises
    ------
    SettingError
        When nothing can listen there.
    """

    def __init__(
        self,
        folder: Path,
        queue: ArbitrationQueue,
        rules: Rules,
        settings: Settings,
        tell: Callable[[str], None],
    ):
        self._tell = tell
        self.socket = _listening(settings.host, settings.port)
        self.port = int(self.socket.getsockname()[1])
        self._host = settings.host
        self._keeper = Keeper(lambda: write_settled(folder, queue), tell)
        self.door = Door(settings.people, settings.taken)
        desk = Desk(
            queue=queue,
            renderer=Renderer(rules),
            door=self.door,
            named=bool(settings.people),
            changed=self._keeper.changed,
        )
        app = make_app(
            desk,
            Hosts(settings.host, self.port),
            cookie=f"vepa-arbitration-{self.port}",
            limits=settings.limits,
            log=self._log,
        )
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                lifespan="off",
                ws="none",
                http="h11",
                log_config=None,
                access_log=False,
                server_header=False,
                limit_concurrency=256,
                # What a client says about its own address is not believed.
                proxy_headers=False,
                timeout_graceful_shutdown=_GRACE_SECONDS,
            )
        )

    @property
    def links(self) -> dict[str, str]:
        """Name -> link; the name is empty where one link is everybody's."""
        shown = f"[{self._host}]" if ":" in self._host else self._host
        base = f"http://{shown}:{self.port}/login"
        return {name: f"{base}#{token}" for name, token in self.door.tokens.items()}

    @property
    def local(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ipaddress.ip_address(self.socket.getsockname()[0]).is_loopback
        except ValueError:
            return False

    def run(self) -> None:
        """Serve until SIGINT, SIGTERM or `stop`; returns when all is written."""
        self._keeper.start()
        try:
            with self._signals():
                self._server.run(sockets=[self.socket])
        finally:
            self.socket.close()
            self._keeper.stop()

    def stop(self) -> None:
        """End it, from any thread."""
        self._server.should_exit = True

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Ending is what is meant: a signal is no fault, also when uvicorn raises it again."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        kinds = (signal.SIGINT, signal.SIGTERM)
        before = {kind: signal.signal(kind, lambda *_: self.stop()) for kind in kinds}
        try:
            yield
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)

    def _log(self, asked: Asked) -> None:
        plain = asked.status < 400 and (asked.method == "GET" or asked.path in _QUIET)
        if not plain:
            self._tell(str(asked))


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=128)
    except (OSError, OverflowError) as error:
        raise SettingError(
            f"nothing can listen on {host}:{port}: {getattr(error, 'strerror', None) or error}",
            where=Where(field="--host" if isinstance(error, socket.gaierror) else "--port"),
            remedy="another --port (0 is a free one), or an address of this machine as --host",
        ) from None
