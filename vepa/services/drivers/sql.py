"""PostgreSQL: one statement a request, each in a transaction and on a connection of its own.

Settings (`drivers: {sql: ...}`)::

    port: sql                       # name of a port
    database: office                # where a request goes that names no database

Request::

    statement: "SELECT name FROM customers WHERE tier = $1"
    parameters: [gold]              # for $1, $2 ...; never put an argument into the text
    database: postgres              # another database, such as for resets
    rows: 200                       # more are not fetched
    form: records                   # rows as {column: value}; `table` (default): as lists
    read_only: true                 # the server refuses every change (SQLSTATE 25006)
    transaction: false              # for what cannot run in one: CREATE DATABASE, DROP DATABASE
    several: true                   # several statements with `;`, without parameters

Data of the answer: `{columns, rows, rowcount, truncated}`. Its status is the SQLSTATE: `00000`, or
what the server said, or `08004` when it did not let the account in. A GRANT by somebody who may not
is a refusal (01007), although PostgreSQL only warns. Nothing of a session outlives a request, so no
`SET` of one call reaches another, and a reset never meets a connection that is kept. The server
ends a statement when the time of the call is over (57014).
"""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import date, datetime, timedelta
from datetime import time as daytime
from decimal import Decimal
from math import ceil, isfinite
from typing import Annotated, Any, Literal

import psycopg
from psycopg.rows import tuple_row
from psycopg.types.json import Jsonb
from pydantic import Field, model_validator

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

__all__ = ["Request", "Settings", "SqlDriver"]

MAX_ROWS = 10_000
#: SQLSTATE of what the client library refuses to send or to read, such as COPY.
_UNSUPPORTED = "0A000"
_LET_IN_NOT = "08004"
#: A GRANT or REVOKE by somebody who may not: PostgreSQL warns, and does nothing.
_NOT_GRANTED, _NOT_REVOKED = "01007", "01006"
#: Time between the server's own limit and ours, so that its answer still comes through.
_GRACE = 0.3

_COMMENTS = re.compile(r"(?:\s+|--[^\n]*(?:\n|$)|/\*.*?\*/|\()*", re.DOTALL)
_WORD = re.compile(r"[a-z]+", re.IGNORECASE)
_CHANGES = re.compile(r"\b(insert|update|delete|merge|into)\b", re.IGNORECASE)


class Request(Parcel):
    """One request (the module's head shows it)."""

    statement: Annotated[str, Field(min_length=1)]
    parameters: list[Any] = []
    database: str | None = None
    rows: Annotated[int, Field(ge=1, le=MAX_ROWS)] = 200
    form: Literal["table", "records"] = "table"
    read_only: bool = False
    transaction: bool = True
    several: bool = False

    @model_validator(mode="after")
    def _fits(self) -> Request:
        if self.several and self.parameters:
            raise ValueError("`several` statements take no parameters")
        if self.read_only and not self.transaction:
            raise ValueError("`read_only` needs a transaction")
        return self


class Settings(Parcel):
    """Settings of the driver (the module's head shows them)."""

    port: str = "sql"
    database: str


class SqlDriver:
    """Speaks to one PostgreSQL server."""

    def __init__(self, settings: Mapping[str, Any], endpoint: Endpoint):
        self._settings = validated(Settings, settings, "drivers.sql")
        port = endpoint.ports.get(self._settings.port)
        if port is None:
            raise InputError(
                f"drivers.sql: the service has no port {self._settings.port!r}",
                where=Where(field="port"),
            )
        self._host, self._port = endpoint.host, port

    def request(self, request: Any, caller: Caller, deadline: Deadline) -> Answer:
        """See `Driver.request`."""
        wanted = validated(Request, request, "sql")
        try:
            connection = self._connect(wanted, caller, deadline)
        except psycopg.OperationalError as error:
            text = _plain(str(error))
            if "FATAL:" not in text:
                raise Unreachable(f"no answer: {text}") from None
            return Answer(False, _LET_IN_NOT, None, text.partition("FATAL:")[2].strip())
        # Closing rolls back what was not committed.
        with closing(connection), _watched(connection, deadline):
            return _answer(connection, wanted, deadline)

    def close(self) -> None:
        """See `Driver.close`; nothing is kept."""

    def _connect(
        self, wanted: Request, caller: Caller, deadline: Deadline
    ) -> psycopg.Connection[Any]:
        while True:
            left = deadline.left()
            limit = ceil(max(left - _GRACE, left * 0.8) * 1000)
            try:
                return psycopg.connect(
                    host=self._host,
                    port=self._port,
                    user=caller.user,
                    password=caller.password,
                    dbname=wanted.database or self._settings.database,
                    connect_timeout=ceil(left),
                    # Said in full: the surroundings' PG... variables are not for this server.
                    options=f"-c statement_timeout={limit} -c lock_timeout={limit}",
                    sslmode="disable",
                    gssencmode="disable",
                    application_name="vepa",
                    client_encoding="utf8",
                    autocommit=not wanted.transaction,
                    row_factory=tuple_row,
                )
            except psycopg.OperationalError as error:
                if "starting up" not in str(error):
                    raise
                time.sleep(0.05)


@contextmanager
def _watched(connection: psycopg.Connection[Any], deadline: Deadline) -> Iterator[None]:
    """Cut the line when the deadline passes: a server that hangs keeps no limit of its own."""
    line = socket.socket(fileno=connection.fileno())
    done = threading.Event()

    def cut() -> None:
        if not done.is_set():
            line.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(deadline.left(), cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        done.set()
        timer.cancel()
        timer.join()
        line.detach()


def _answer(connection: psycopg.Connection[Any], wanted: Request, deadline: Deadline) -> Answer:
    told: list[tuple[str, str]] = []  # a notice can be read only while it is handed over
    connection.add_notice_handler(
        lambda notice: told.append((str(notice.sqlstate), str(notice.message_primary)))
    )
    try:
        connection.read_only = True if wanted.read_only else None
        data = _run(connection, wanted)
        for status, text in told:
            if status in (_NOT_GRANTED, _NOT_REVOKED):
                return Answer(False, status, None, text)
        if wanted.transaction:
            connection.commit()
        return Answer(True, "00000", data)
    except psycopg.Error as error:
        deadline.left()
        if error.sqlstate is None and connection.broken:
            raise Unreachable(f"no answer: {_plain(str(error))}") from None
        return Answer(False, error.sqlstate or _UNSUPPORTED, None, _said(error))


def _run(connection: psycopg.Connection[Any], wanted: Request) -> dict[str, Any]:
    parameters = [_sent(each) for each in wanted.parameters]
    if wanted.transaction and _only_gives_rows(wanted.statement):
        # A cursor in the server: rows beyond the limit never leave it.
        with psycopg.RawServerCursor(connection, "rows") as reading:
            reading.execute(wanted.statement, parameters)
            rows = reading.fetchmany(wanted.rows + 1)
            return _table(reading.description, rows, len(rows[: wanted.rows]), wanted)
    with psycopg.RawCursor(connection) as cursor:
        if wanted.several:
            cursor.execute(wanted.statement)
            while cursor.nextset():
                pass
        else:
            # Prepared: the server itself refuses a second statement then (42601).
            cursor.execute(wanted.statement, parameters, prepare=True)
        rows = cursor.fetchmany(wanted.rows + 1) if cursor.description else []
        return _table(cursor.description, rows, cursor.rowcount, wanted)


def _only_gives_rows(statement: str) -> bool:
    comments = _COMMENTS.match(statement)
    word = _WORD.match(statement, comments.end() if comments else 0)
    first = word[0].lower() if word else ""
    if first in ("values", "table"):
        return True
    return first in ("select", "with") and not _CHANGES.search(statement)


def _table(
    description: Sequence[Any] | None, rows: Sequence[Any], rowcount: int, wanted: Request
) -> dict[str, Any]:
    columns = _told_apart([column.name for column in description or []])
    plain = [[_received(value) for value in row] for row in rows[: wanted.rows]]
    return {
        "columns": columns,
        "rows": plain
        if wanted.form == "table"
        else [dict(zip(columns, row, strict=True)) for row in plain],
        "rowcount": max(rowcount, 0),
        "truncated": len(rows) > wanted.rows,
    }


def _told_apart(names: list[str]) -> list[str]:
    """Names of columns, a repeated one with its number."""
    found: list[str] = []
    for name in names:
        number, unique = 1, name
        while unique in found:
            number += 1
            unique = f"{name}_{number}"
        found.append(unique)
    return found


def _sent(value: Any) -> Any:
    return Jsonb(value) if isinstance(value, dict) else value


def _received(value: Any) -> Any:
    """A value of the database as JSON has it; what JSON has not becomes text."""
    if isinstance(value, Decimal) and value.is_finite():
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (datetime, date, daytime)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, Mapping):
        return {str(key): _received(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_received(item) for item in value]
    return str(value)


def _said(error: psycopg.Error) -> str:
    diag = error.diag
    if diag.message_primary is None:
        return _plain(str(error))
    parts = [diag.message_primary]
    parts += [f"DETAIL: {diag.message_detail}"] if diag.message_detail else []
    parts += [f"HINT: {diag.message_hint}"] if diag.message_hint else []
    return "\n".join(parts)


def _plain(text: str) -> str:
    """Without the port, which differs from run to run."""
    return re.sub(r"port \d+", "its port", " ".join(text.split()))
