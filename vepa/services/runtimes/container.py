"""What runs as the first process of a container that VEPA built: it keeps one service.

Copied into the image; standard library only, `python -I -S container.py`. The runtime publishes a
port and learns its number only when the container runs. So this program waits for `/office/go`,
reads `/office/spec.json`, and starts the service on exactly that number of the container's own
loopback. A relay carries connections from the container's address to there. The service so sees
the host and the ports that its clients use, as in the process form: addresses that it writes into
links or checks in headers are right, and no service has to listen beyond loopback.

    python -I -S container.py                 keep the service (the entry point)
    python -I -S container.py ask '{"do": …}' ask the one that runs: `mirror`, `restart`, `keep`
    python -I -S container.py health          exit 0 when all relayed ports answer

Exit codes: the service's own when it ends by itself (128 + signal), 120 when a command that
prepares the data fails, 121 when a program cannot be started.
"""

# ruff: noqa: T201 - what is printed goes to the container's log

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

OFFICE = Path("/office")
DATA, SEED, FILES, TEMPORARY = (OFFICE / name for name in ("data", "seed", "files", "tmp"))
SPEC, GO, CONTROL = OFFICE / "spec.json", OFFICE / "go", OFFICE / "control"
PREPARE_FAILED, NO_PROGRAM = 120, 121
#: A command that prepares the data and takes longer has hung.
PREPARE_SECONDS = 120


def note(text: str) -> None:
    """A line of our own in the container's log."""
    print(f"--- vepa: {text}", flush=True)


class Keeper:
    """Keeps the service of a spec.

    Parameters
    ----------
    spec
        `argv`, `env`, `files` (absolute path -> text), `prepare` (commands, empty unless the data
        is new), `relay` (port of the container -> port of the service), `stop_signal`, `grace`.
    """

    def __init__(self, spec: dict[str, Any]):
        self.spec = spec
        self.pid = 0
        self.busy = True  # the service is being stopped or started: its end is no news
        self.gone = asyncio.Event()
        self.exit: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.relay = beside("relay").Relay(spec["relay"])

    def end(self, code: int) -> None:
        """Let this program end."""
        if not self.exit.done():
            self.exit.set_result(code)

    # ---- the service

    def render(self) -> None:
        """Write the files of the spec anew."""
        for name, text in self.spec["files"].items():
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            path.write_text(text, "utf-8")
            path.chmod(0o600)

    def environment(self) -> dict[str, str]:
        """The whole environment of the service."""
        own: dict[str, str] = {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "HOME": str(DATA),
            "TMPDIR": str(TEMPORARY),
        }
        return {**own, **self.spec["env"]}

    def prepare(self) -> None:
        """Run the commands that fill an empty data folder; ends this program when one fails."""
        self.render()
        for number, argv in enumerate(self.spec["prepare"]):
            try:
                done = subprocess.run(
                    argv,
                    cwd=DATA,
                    env=self.environment(),
                    stdin=subprocess.DEVNULL,
                    timeout=PREPARE_SECONDS,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                note(f"prepare.{number} did not end within {PREPARE_SECONDS} s")
                sys.exit(PREPARE_FAILED)
            except OSError as error:
                note(f"prepare.{number}: {error.filename or argv[0]}: {error.strerror}")
                sys.exit(PREPARE_FAILED)
            if done.returncode != 0:
                note(f"prepare.{number} failed with exit code {done.returncode}")
                sys.exit(PREPARE_FAILED)

    def start(self) -> None:
        """Start the service.

        Raises
        ------
        OSError
            When its program is not there.
        """
        self.render()
        self.gone.clear()
        argv = self.spec["argv"]
        program = shutil.which(argv[0], path=self.environment()["PATH"])
        if program is None:
            raise FileNotFoundError(2, "no such program", argv[0])
        os.chdir(DATA)
        self.pid = os.posix_spawn(
            program,
            argv,
            self.environment(),
            file_actions=[(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)],
            setsid=True,
            setsigmask=[],
            setsigdef=[signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE],
        )

    def reap(self) -> None:
        """Collect the dead, adopted ones too."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.pid:
                self.pid = 0
                self.gone.set()
                code = os.waitstatus_to_exitcode(status)
                if not self.busy:
                    note(f"the service has ended ({_end(code)})")
                    self.end(code if code >= 0 else 128 - code)

    async def stop(self) -> None:
        """Ask the service to stop, wait the time of grace, kill everything that is left."""
        if self.pid:
            os.kill(self.pid, getattr(signal, "SIG" + self.spec["stop_signal"]))
            try:
                await asyncio.wait_for(self.gone.wait(), self.spec["grace"])
            except TimeoutError:
                note(f"no end within {self.spec['grace']} s: killed")
        await self.clear()

    async def clear(self) -> None:
        """Kill every process of the service."""
        for _ in range(1000):
            rest = _descendants()
            if not rest:
                return
            for pid in rest:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            await asyncio.sleep(0.005)
            self.reap()

    # ---- requests

    async def answer(self, request: dict[str, Any]) -> None:
        """Carry out what was asked; raises when it cannot be."""
        do = request["do"]
        if do == "mirror":
            mirror = beside("mirror").mirror
            for part in request["paths"] or ["."]:
                mirror(SEED / part, DATA / part)
            self.render_data()
            if request.get("signal") and self.pid:
                os.kill(self.pid, getattr(signal, "SIG" + request["signal"]))
        elif do == "restart":
            self.busy = True
            await self.stop()
            self.relay.hang_up()
            beside("mirror").mirror(SEED, DATA)
            self.start()
            self.busy = False
        elif do == "keep":
            self.busy = True
            await self.stop()
            shutil.rmtree(SEED, ignore_errors=True)
            shutil.copytree(DATA, SEED, symlinks=True)
        else:
            raise ValueError(f"unknown request {do!r}")

    def render_data(self) -> None:
        """Files of the spec below the data folder hold this container's own values."""
        if any(Path(name).is_relative_to(DATA) for name in self.spec["files"]):
            self.render()

    async def control(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request of `ask`."""
        request = json.loads(await reader.readline())
        try:
            await self.answer(request)
            reply = {"ok": True, "message": ""}
        except Exception as error:  # noqa: BLE001 - whoever asked is told
            reply = {"ok": False, "message": f"{type(error).__name__}: {error}"}
        writer.write(json.dumps(reply).encode() + b"\n")
        with suppress(OSError):
            await writer.drain()
        writer.close()
        if self.busy and request["do"] != "keep":  # the service did not come back
            # With this program everything in the container ends, the one who asked too: let it.
            asyncio.get_running_loop().call_later(0.5, self.end, 1)

    # ---- life

    async def run(self) -> int:
        """Keep the service until it ends or this program is told to stop; its exit code."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGCHLD, self.reap)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.end, 0)
        await self.relay.open()
        CONTROL.unlink(missing_ok=True)
        await asyncio.start_unix_server(self.control, CONTROL)
        CONTROL.chmod(0o600)
        try:
            self.start()
        except OSError as error:
            note(f"cannot be started: {error.filename}: {error.strerror}")
            return NO_PROGRAM
        self.busy = False
        code = await self.exit
        self.busy = True
        await self.stop()
        return code


def _end(code: int) -> str:
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name


def _descendants() -> list[int]:
    """Every other process of this container but those that the engine started beside us."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
                if fields[0] not in (b"Z", b"X"):
                    parents[int(entry.name)] = int(fields[1])
    me = os.getpid()

    def ours(pid: int) -> bool:
        while pid in parents and pid != me:
            pid = parents[pid]
        return pid == me

    return [pid for pid in parents if pid != me and ours(pid)]


def beside(name: str) -> Any:
    """A module that lies beside this script; it has no search path."""
    found = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def keep() -> int:
    """Wait for the spec, then keep its service."""
    os.umask(0o077)
    given = os.environ.get("VEPA_SPEC")
    if given:  # from a compose file, which knows the ports beforehand
        SPEC.write_text(given, "utf-8")
    else:
        while not GO.exists():
            time.sleep(0.01)
        GO.unlink()
    spec = json.loads(SPEC.read_text("utf-8"))
    for folder in (DATA, FILES, TEMPORARY):
        folder.mkdir(exist_ok=True)
    return asyncio.run(_keep(spec))


async def _keep(spec: dict[str, Any]) -> int:
    keeper = Keeper(spec)
    keeper.prepare()
    return await keeper.run()


def ask(request: str) -> int:
    """Send a request to the program that keeps the service here."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(CONTROL))
        line.sendall(request.encode() + b"\n")
        reply = json.loads(line.makefile().readline() or '{"ok": false, "message": "no answer"}')
    if not reply["ok"]:
        print(reply["message"])
    return 0 if reply["ok"] else 1


def health() -> int:
    """Whether every port of the service answers."""
    try:
        for port in json.loads(SPEC.read_text("utf-8"))["relay"].values():
            socket.create_connection(("127.0.0.1", int(port)), 2).close()
    except (OSError, ValueError):
        return 1
    return 0


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "ask":
        sys.exit(ask(sys.argv[2]))
    sys.exit(health() if sys.argv[1:] == ["health"] else keep())
