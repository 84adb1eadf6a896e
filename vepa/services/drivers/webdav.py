"""WebDAV: a file store, as its users see it.

Settings (`drivers: {webdav: ...}`)::

    port: http                      # name of a port
    prefix: /dav                    # before every path

Request: `{do: WHAT, path: /Folder/name.md, ...}`. Paths are plain text (not escaped) from the root
of the store; `..` and doubled slashes are resolved before anything is sent.

====== ============================================ ===============================================
do     further keys                                 data of the answer
====== ============================================ ===============================================
list   deep, limit                                  [{path, type, size, modified}], sorted by path
info   .                                            {path, type, size, modified}
exists .                                            true or false; absence is no error
read   limit (bytes)                                the text
write  text, overwrite (true), folders (false)      {path, size, created}
mkdir  .                                            {path}
copy   to, overwrite (false)                        {from, to}
move   to, overwrite (false)                        {from, to}
delete .                                            {path}
search name (part of a name, or with `*`), text,    {entries, unreadable}: what was found, and the
       limit                                        folders that the account may not enter
====== ============================================ ===============================================

`size` is in bytes, `modified` an ISO time. Entity tags are never given away: they differ from run
to run. Servers refuse COPY and MOVE between two shares (502); the driver then does what file
managers do with a single file: read, write, and for a move delete.
"""

from __future__ import annotations

import fnmatch
import posixpath
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC
from typing import Annotated, Any, Literal, cast
from urllib.parse import quote

import httpx
from pydantic import AfterValidator, Field, model_validator
from webdav4.client import Client, ClientError
from webdav4.http import Client as DavHttp

from vepa.errors import InputError, Where
from vepa.services.drivers.base import (
    Answer,
    Caller,
    Deadline,
    Endpoint,
    Parcel,
    Unreachable,
    validated,
)
from vepa.services.drivers.dav_transport import BoundedTransport, said

__all__ = ["Request", "Settings", "WebdavDriver"]

#: Folders that a deep listing or a search enters at most.
MAX_FOLDERS = 2000
_MAX_READ = 8 * 1024 * 1024
_FOLDER_CLOSED = (401, 403)
#: WsgiDAV unescapes the target of COPY and MOVE before it splits it: these would cut the name.
_UNSAFE = frozenset("?;")


def _plain(path: str) -> str:
    return posixpath.normpath("/" + path.lstrip("/"))


PlainPath = Annotated[str, AfterValidator(_plain)]


class Request(Parcel):
    """One request; the head of this module says which key belongs to which `do`."""

    do: Literal[
        "list", "info", "exists", "read", "write", "mkdir", "copy", "move", "delete", "search"
    ]
    path: PlainPath = "/"
    to: PlainPath | None = None
    text: str | None = None
    name: str | None = None
    deep: bool = False
    overwrite: bool | None = None
    folders: bool = False
    limit: Annotated[int, Field(ge=1, le=_MAX_READ)] | None = None

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Request:
        if self.do in ("copy", "move") and self.to is None:
            raise ValueError(f"`{self.do}` needs `to`")
        if self.do == "write" and self.text is None:
            raise ValueError("`write` needs `text`")
        if self.do == "search" and self.name is None and self.text is None:
            raise ValueError("`search` needs `name` or `text`")
        return self


class Settings(Parcel):
    """Settings of the driver (the module's head shows them)."""

    port: str = "http"
    prefix: str = ""


class _Refused(Exception):  # noqa: N818 - what the server did
    """The server refused; carries its answer."""

    def __init__(self, answer: Answer):
        super().__init__(answer.text)
        self.answer = answer


class WebdavDriver:
    """Speaks WebDAV to one store; one client an account."""

    def __init__(self, settings: Mapping[str, Any], endpoint: Endpoint):
        wanted = validated(Settings, settings, "drivers.webdav")
        port = endpoint.ports.get(wanted.port)
        if port is None:
            raise InputError(
                f"drivers.webdav: the service has no port {wanted.port!r}",
                where=Where(field="port"),
            )
        self._base = f"http://{endpoint.host}:{port}{wanted.prefix}"
        self._stores: dict[str, _Store] = {}

    def request(self, request: Any, caller: Caller, deadline: Deadline) -> Answer:
        """See `Driver.request`."""
        wanted = validated(Request, request, "webdav")
        store = self._stores.get(caller.role)
        if store is None:
            store = self._stores[caller.role] = _Store(self._base, caller)
        return store.carry_out(wanted, deadline)

    def close(self) -> None:
        """See `Driver.close`."""
        for store in self._stores.values():
            store.close()
        self._stores.clear()


class _Store:
    """The store as one account sees it."""

    def __init__(self, base: str, caller: Caller):
        self._transport = BoundedTransport()
        http = DavHttp(
            base_url=base,
            auth=(caller.user, caller.password),
            transport=self._transport,
            trust_env=False,  # a proxy of the surroundings is not for loopback
        )
        self._client = Client(base, http_client=http, retry=False)
        self._answered: httpx.Response | None = None
        http.event_hooks = {"response": [self._keep]}

    def _keep(self, response: httpx.Response) -> None:
        self._answered = response
        if response.status_code >= 400:
            response.read()

    def close(self) -> None:
        self._client.http.close()

    def carry_out(self, wanted: Request, deadline: Deadline) -> Answer:
        self._transport.deadline = deadline
        self._answered = None
        try:
            data = getattr(self, f"_{wanted.do}")(wanted)
        except _Refused as refused:
            return _in_full(refused.answer, wanted)
        except ClientError as error:
            return _in_full(self._refusal(error), wanted)
        except httpx.TimeoutException:
            raise Unreachable("no answer within the time limit") from None
        except httpx.HTTPError as error:
            raise Unreachable(f"no answer: {str(error) or type(error).__name__}") from None
        except (httpx.InvalidURL, UnicodeError) as error:
            raise Unreachable(f"HTTP cannot carry this request: {error}") from None
        return Answer(True, self._status(), data, data if isinstance(data, str) else "")

    def _status(self) -> int:
        """Status of the last answer; 0 where there is none."""
        return 0 if self._answered is None else self._answered.status_code

    def _refusal(self, error: ClientError) -> Answer:
        last = self._answered
        if last is None or last.status_code < 400:  # a part of it failed (207)
            return Answer(False, last.status_code if last is not None else 500, None, str(error))
        return Answer(False, last.status_code, None, said(last))

    # --- what can be asked

    def _list(self, wanted: Request) -> list[dict[str, Any]]:
        if not wanted.deep:
            found = self._entries(wanted.path)
        else:
            closed: list[str] = []
            found = list(self._walk(wanted.path, closed))
            if wanted.path in closed:  # what was asked for itself, not a folder below it
                raise self._closed()
        return sorted(found, key=_path_of)[: wanted.limit]

    def _info(self, wanted: Request) -> dict[str, Any]:
        return self._entry(self._client.info(quote(wanted.path)))

    def _exists(self, wanted: Request) -> bool:
        try:
            self._client.propfind(quote(wanted.path), headers={"Depth": "0"})
        except ClientError:
            if self._status() != 404:
                raise
            return False
        return True

    def _read(self, wanted: Request) -> str:
        content = self._content(wanted.path, wanted.limit or _MAX_READ)
        try:
            return content.decode("utf-8", "strict")
        except UnicodeDecodeError as error:
            if error.reason == "unexpected end of data":  # the limit fell into a character
                return content[: error.start].decode("utf-8")
            text = f"{wanted.path} is no text: {len(content)} bytes that are not UTF-8"
            raise _Refused(Answer(False, 415, None, text)) from None

    def _write(self, wanted: Request) -> dict[str, Any]:
        content = (wanted.text or "").encode()
        if wanted.folders:
            self._make_folders(posixpath.dirname(wanted.path))
        created = self._put(wanted.path, content, overwrite=wanted.overwrite is not False)
        return {"path": wanted.path, "size": len(content), "created": created}

    def _mkdir(self, wanted: Request) -> dict[str, Any]:
        self._client.mkdir(quote(wanted.path))
        return {"path": wanted.path}

    def _copy(self, wanted: Request) -> dict[str, Any]:
        return self._transfer(wanted, self._client.copy)

    def _move(self, wanted: Request) -> dict[str, Any]:
        return self._transfer(wanted, self._client.move)

    def _delete(self, wanted: Request) -> dict[str, Any]:
        self._client.remove(quote(wanted.path))
        return {"path": wanted.path}

    def _search(self, wanted: Request) -> dict[str, Any]:
        closed: list[str] = []
        found = [
            entry
            for entry in self._walk(wanted.path, closed)
            if _called(entry["path"], wanted.name) and self._says(entry, wanted.text)
        ]
        if wanted.path in closed:
            raise self._closed()
        entries = sorted(found, key=_path_of)[: wanted.limit]
        return {"entries": entries, "unreadable": sorted(closed)}

    # --- inside

    def _entries(self, path: str) -> list[dict[str, Any]]:
        listed = cast("list[dict[str, Any]]", self._client.ls(quote(path), detail=True))
        return [self._entry(each) for each in listed]

    def _entry(self, found: Mapping[str, Any]) -> dict[str, Any]:
        modified = found["modified"]
        folder = found["type"] == "directory"
        return {
            "path": _plain(found["name"]),
            "type": "folder" if folder else "file",
            "size": None if folder else found["content_length"],
            "modified": modified.astimezone(UTC).isoformat() if modified is not None else None,
        }

    def _walk(self, path: str, closed: list[str]) -> Iterator[dict[str, Any]]:
        """Everything below a folder; folders that are not to be entered go to `closed`."""
        todo = deque([path])
        for _ in range(MAX_FOLDERS):
            if not todo:
                return
            folder = todo.popleft()
            try:
                entries = self._entries(folder)
            except ClientError:
                if self._answered is None or self._answered.status_code not in _FOLDER_CLOSED:
                    raise
                self._closing = self._answered
                closed.append(folder)
                continue
            yield from entries
            todo += [each["path"] for each in entries if each["type"] == "folder"]
        text = f"more than {MAX_FOLDERS} folders below {path}"
        raise _Refused(Answer(False, 507, None, text))

    def _closed(self) -> _Refused:
        last = self._closing
        return _Refused(Answer(False, last.status_code, None, said(last)))

    def _says(self, entry: Mapping[str, Any], text: str | None) -> bool:
        if text is None:
            return True
        if entry["type"] == "folder":
            return False
        content = self._content(entry["path"], _MAX_READ).decode("utf-8", "replace")
        return text.casefold() in content.casefold()

    def _content(self, path: str, limit: int) -> bytes:
        url = self._client.join_url(quote(path))
        with self._client.http.stream("GET", url) as response:
            if response.status_code >= 400:
                raise _Refused(Answer(False, response.status_code, None, said(response)))
            parts: list[bytes] = []
            size = 0
            for part in response.iter_bytes():
                parts.append(part)
                size += len(part)
                if size >= limit:
                    break
        return b"".join(parts)[:limit]

    def _put(self, path: str, content: bytes, *, overwrite: bool) -> bool:
        headers = {"Content-Type": "application/octet-stream"}
        if not overwrite:
            headers["If-None-Match"] = "*"
        self._client.request("PUT", quote(path), content=content, headers=headers)
        return self._status() == 201

    def _make_folders(self, path: str) -> None:
        if path == "/" or self._exists(Request(do="exists", path=path)):
            return
        self._make_folders(posixpath.dirname(path))
        self._client.mkdir(quote(path))

    def _transfer(self, wanted: Request, send: Any) -> dict[str, Any]:
        source, target, overwrite = wanted.path, str(wanted.to), wanted.overwrite is True
        try:
            if _UNSAFE & set(target):
                self._by_hand(wanted)
            else:
                send(quote(source), quote(target), overwrite=overwrite)
        except ClientError:
            if self._status() != 502:
                raise
            self._by_hand(wanted)
        return {"from": source, "to": target}

    def _by_hand(self, wanted: Request) -> None:
        content = self._content(wanted.path, _MAX_READ)
        self._put(str(wanted.to), content, overwrite=wanted.overwrite is True)
        if wanted.do == "move":
            self._client.remove(quote(wanted.path))


def _in_full(answer: Answer, wanted: Request) -> Answer:
    """A refusal that names paths as they were asked for: WsgiDAV leaves out the share."""
    for path in filter(None, (wanted.path, wanted.to)):
        below = "/" + path.lstrip("/").partition("/")[2]
        if answer.text.endswith(f": {below}"):
            return replace(answer, text=answer.text.removesuffix(below) + path)
    return answer


def _path_of(entry: Mapping[str, Any]) -> str:
    return str(entry["path"])


def _called(path: str, name: str | None) -> bool:
    if name is None:
        return True
    own, wanted = posixpath.basename(path).casefold(), name.casefold()
    if any(sign in wanted for sign in "*?["):
        return fnmatch.fnmatchcase(own, wanted)
    return wanted in own
