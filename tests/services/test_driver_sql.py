"""The sql driver against the real PostgreSQL, and against servers that misbehave."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from vepa.errors import InputError
from vepa.services.drivers import Caller, Deadline, Endpoint, Unreachable
from vepa.services.drivers.sql import SqlDriver

pytestmark = pytest.mark.integration

SERVICES = ["database"]


@pytest.fixture
def ask(office, connection):
    """Send one statement as an account."""
    driver = SqlDriver({"port": "sql", "database": "office"}, office.endpoint("database"))

    def send(statement, *parameters, account="admin", seconds=10.0, **more):
        request = {"statement": statement, "parameters": list(parameters), **more}
        return driver.request(request, connection.caller(account), Deadline.after(seconds))

    yield send
    driver.close()


def test_rows_come_as_a_table_or_as_records(ask):
    query = "SELECT id, cents FROM invoices WHERE customer = $1 ORDER BY id"
    table = ask(query, "nordkap")
    assert (table.ok, table.status) == (True, "00000")
    assert table.data == {
        "columns": ["id", "cents"],
        "rows": [["hl-1001", 4850000], ["hl-1002", 2425000]],
        "rowcount": 2,
        "truncated": False,
    }
    assert ask(query, "nordkap", form="records").data["rows"][0] == {
        "id": "hl-1001",
        "cents": 4850000,
    }


def test_values_are_what_json_has(ask):
    row = ask(
        """SELECT 1.50, 2::numeric, 'NaN'::float8, DATE '2026-03-02', TIMESTAMP '2026-03-02 09:00',
           INTERVAL '90 seconds', '\\x0aff'::bytea, '{"a": [1, null]}'::jsonb,
           ARRAY[DATE '2026-01-01'], NULL, true, 'ä', '10.0.0.1'::inet"""
    ).data["rows"][0]
    assert row == [
        1.5, 2, "nan", "2026-03-02", "2026-03-02T09:00:00", 90.0, "0aff", {"a": [1, None]},
        ["2026-01-01"], None, True, "ä", "10.0.0.1",
    ]  # fmt: skip


def test_columns_of_one_name_are_told_apart_and_kept_without_rows(ask):
    assert ask("SELECT 1 AS a, 2 AS a, 3 AS b", form="records").data["rows"] == [
        {"a": 1, "a_2": 2, "b": 3}
    ]
    assert ask("SELECT id FROM people WHERE false").data["columns"] == ["id"]


@pytest.mark.parametrize(
    "value", ["'; DROP TABLE notes; --", "$1", "%s %%", 'a"b', "back\\slash", "", None, 7, True]
)
def test_a_parameter_is_never_part_of_the_statement(ask, value):
    kind = {int: "integer", bool: "boolean"}.get(type(value), "text")
    assert ask(f"SELECT $1::{kind}", value).data["rows"] == [[value]]
    assert ask("SELECT count(*) FROM notes").data["rows"][0][0] > 0


def test_lists_and_objects_as_parameters(ask):
    assert ask("SELECT unnest($1::text[])", ["a", "b"]).data["rows"] == [["a"], ["b"]]
    assert ask("SELECT $1::jsonb -> 'a'", {"a": 1}).data["rows"] == [[1]]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT generate_series(1, 100000000)",
        "  -- first\n/* second */ (SELECT generate_series(1, 100000000))",
        "WITH one AS (SELECT 1) SELECT generate_series(1, 100000000) FROM one",
        "VALUES (1), (2), (3), (4), (5), (6)",
    ],
)
def test_rows_beyond_the_limit_are_not_fetched(ask, statement):
    began = time.monotonic()
    data = ask(statement, rows=5, seconds=60).data
    assert (data["rows"], data["truncated"]) == ([[1], [2], [3], [4], [5]], True)
    assert time.monotonic() - began < 30


def test_a_change_is_there_for_the_next_request_and_rows_are_counted(ask):
    changed = ask("UPDATE orders SET state = 'held' WHERE customer = 'tejo' RETURNING id", rows=2)
    assert (changed.data["rowcount"], len(changed.data["rows"])) == (5, 2)
    assert ask("SELECT count(*) FROM orders WHERE state = 'held'").data["rows"] == [[5]]
    moved = ask("WITH gone AS (DELETE FROM notes RETURNING id) SELECT id FROM gone", rows=1)
    assert moved.data["truncated"] is True
    assert ask("SELECT count(*) FROM notes").data["rows"] == [[0]]


def test_a_refused_statement_changes_nothing(ask):
    refused = ask("INSERT INTO orders (customer, product, quantity, unit_cents, ordered_on) "
                  "VALUES ('tejo', 'x', 0, 1, '2026-03-02')")  # fmt: skip
    assert (refused.ok, refused.status) == (False, "23514")
    assert ask("SELECT count(*) FROM orders WHERE product = 'x'").data["rows"] == [[0]]


@pytest.mark.parametrize(
    ("statement", "account", "status", "message"),
    [
        ("SELECT * FROM payroll", "employee", "42501", "permission denied for table payroll"),
        ("SELECT * FROM payrol", "employee", "42P01", 'relation "payrol" does not exist'),
        ("SELEC 1", "employee", "42601", "syntax error"),
        ("SELECT 1 / 0", "employee", "22012", "division by zero"),
        ("SELECT 1; DROP TABLE notes", "admin", "42601", "multiple commands"),
        ("UPDATE notes SET body = ''; COMMIT", "admin", "42601", "multiple commands"),
        ("INSERT INTO people VALUES ('mara')", "hr", "23502", "violates not-null"),
        ("COPY people TO STDOUT", "admin", "0A000", "COPY"),
        ("COPY people TO PROGRAM 'id'", "employee", "42501", "permission denied"),
        ("SELECT pg_read_file('/etc/passwd')", "it", "42501", "permission denied"),
        ("SELECT $1", "admin", "08P01", "0 parameters"),
    ],
)
def test_a_refusal_is_the_servers_own(ask, statement, account, status, message):
    answer = ask(statement, account=account)
    assert (answer.ok, answer.status) == (False, status)
    assert message in answer.text


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM notes",
        "DROP TABLE audit_log",
        "ALTER ROLE ines PASSWORD 'x'",
        "WITH gone AS (DELETE FROM notes RETURNING id) SELECT * FROM gone",
        "SELECT nextval('notes_id_seq')",
        "SELECT set_config('transaction_read_only', 'off', true), lo_create(0)",
    ],
)
def test_read_only_is_the_servers_business(ask, office, statement):
    answer = ask(statement, read_only=True)
    assert (answer.ok, answer.status) in {(False, "25006"), (False, "25001")}
    assert office.at_seed("database")


def test_nothing_of_a_session_reaches_the_next_request(ask):
    assert ask("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY").ok
    assert ask("SET ROLE jonas").ok
    assert ask("SELECT current_user").data["rows"] == [["dbadmin"]]
    assert ask("CREATE TEMPORARY TABLE t (a integer)").ok
    assert ask("SELECT * FROM t").status == "42P01"


def test_several_statements_only_when_told(ask):
    assert ask("CREATE TABLE t (a integer); INSERT INTO t VALUES (1)", several=True).ok
    assert ask("SELECT * FROM t").data["rows"] == [[1]]
    with pytest.raises(InputError, match="take no parameters"):
        ask("SELECT $1; SELECT 2", 1, several=True)


def test_a_statement_ends_with_the_time_of_the_call(ask):
    began = time.monotonic()
    answer = ask("SELECT pg_sleep(30)", seconds=1.5)
    assert (answer.ok, answer.status) == (False, "57014")
    assert time.monotonic() - began < 15  # and not 30


def test_a_wrong_password_and_a_closed_database_are_refusals(office, ask):
    driver = SqlDriver({"database": "office"}, office.endpoint("database"))
    wrong = driver.request(
        {"statement": "SELECT 1"}, Caller("x", "jonas", "wrong"), Deadline.after(5)
    )
    assert (wrong.ok, wrong.status) == (False, "08004")
    assert wrong.text == 'password authentication failed for user "jonas"'
    closed = ask("SELECT 1", account="employee", database="office_seed")
    assert (closed.ok, closed.status) == (False, "08004")
    assert "permission denied for database" in closed.text


def test_connections_work_again_right_after_a_reset(office, ask):
    for _ in range(3):
        assert ask("SELECT 1", account="employee").ok
        office.reset(["database"], everything=True)


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"statement": ""}, "statement"),
        ({"statement": "SELECT 1", "rows": 0}, "rows"),
        ({"statement": "SELECT 1", "form": "csv"}, "form"),
        ({"statement": "SELECT 1", "sql": "SELECT 2"}, "sql"),
        ({"statement": "SELECT 1", "read_only": True, "transaction": False}, "transaction"),
    ],
)
def test_a_wrong_request_is_told_apart(request_, field):
    driver = SqlDriver({"database": "x"}, Endpoint("127.0.0.1", {"sql": 1}))
    with pytest.raises(InputError, match=field):
        driver.request(request_, Caller("a", "a", "a"), Deadline.after(1))


def test_a_port_that_the_service_has_not():
    with pytest.raises(InputError, match="no port 'pg'"):
        SqlDriver({"port": "pg", "database": "x"}, Endpoint("127.0.0.1", {"sql": 1}))


def test_nobody_at_the_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    driver = SqlDriver({"database": "x"}, Endpoint("127.0.0.1", {"sql": port}))
    with pytest.raises(Unreachable, match="refused") as told:
        driver.request({"statement": "SELECT 1"}, Caller("a", "a", "a"), Deadline.after(5))
    assert str(port) not in str(told.value)


def test_a_server_that_hangs_in_the_middle_is_unreachable_in_time(office):
    """A relay to the real server that goes silent once the login is through."""
    target = office.endpoint("database")
    silent = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def relay():
            client, _ = listener.accept()
            server = socket.create_connection((target.host, target.ports["sql"]))

            def pump(source, sink):
                try:
                    while data := source.recv(65536):
                        if silent.is_set() or b"pg_sleep" in data:
                            silent.set()
                            continue
                        sink.sendall(data)
                except OSError:
                    pass
                server.close()

            threading.Thread(target=pump, args=(server, client), daemon=True).start()
            pump(client, server)
            client.close()

        thread = threading.Thread(target=relay, daemon=True)
        thread.start()
        endpoint = Endpoint("127.0.0.1", {"sql": listener.getsockname()[1]})
        driver = SqlDriver({"database": "office"}, endpoint)
        jonas = Caller("employee", "jonas", office.world.person("jonas").password)
        began = time.monotonic()
        with pytest.raises(Unreachable):
            driver.request({"statement": "SELECT pg_sleep(0)"}, jonas, Deadline.after(2))
        assert silent.is_set()
        assert time.monotonic() - began < 5
        thread.join(5)
