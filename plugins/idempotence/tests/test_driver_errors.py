import sqlite3

import pymysql
import pytest
from mqframe_idempotence import StatementRefused, StoreAway, StoreBusy, TableMissing, TransactionLost
from mqframe_idempotence.driver_errors import is_conflict, meaning

from mqframe.core.errors import MqframeError


class OperationalError(Exception):
    """As drivers call it. `sqlstate`: None where a driver has none."""

    def __init__(self, text: str, sqlstate: str | None = None) -> None:
        super().__init__(text)
        self.sqlstate = sqlstate


class ProgrammingError(OperationalError): ...


class IntegrityError(OperationalError): ...


class Wrapped(Exception):
    """As SQLAlchemy has it."""

    def __init__(self, orig: Exception) -> None:
        super().__init__(str(orig))
        self.orig = orig


@pytest.mark.parametrize(
    ("problem", "kind"),
    [
        (OperationalError("x", "40001"), StoreBusy),
        (OperationalError("x", "40P01"), StoreBusy),
        (OperationalError("x", "55P03"), StoreBusy),
        (OperationalError("x", "57014"), StoreBusy),
        (Wrapped(OperationalError("x", "55P03")), StoreBusy),
        (sqlite3.OperationalError("database is locked"), StoreBusy),
        (ProgrammingError("x", "42P01"), TableMissing),
        (sqlite3.OperationalError("no such table: keys"), TableMissing),
        (OperationalError("x", "25P02"), TransactionLost),
        (ProgrammingError("x", "42601"), StatementRefused),
        (sqlite3.OperationalError('near "%": syntax error'), StatementRefused),
        (sqlite3.ProgrammingError("Incorrect number of bindings supplied"), StatementRefused),
        (sqlite3.OperationalError("table keys has no column named scope"), StatementRefused),
        (sqlite3.ProgrammingError("Cannot operate on a closed database."), StoreAway),
        (OperationalError("server closed the connection unexpectedly"), StoreAway),
        (OperationalError("too many clients", "53300"), StoreAway),
        (sqlite3.OperationalError("disk I/O error"), StoreAway),
        (ConnectionRefusedError("refused"), StoreAway),
        (pymysql.OperationalError(1205, "Lock wait timeout exceeded"), StoreBusy),
        (pymysql.OperationalError(1213, "Deadlock found"), StoreBusy),
        (pymysql.OperationalError(1020, "Record has changed since last read"), StoreBusy),
        (pymysql.OperationalError(1317, "Query execution was interrupted"), StoreBusy),
        (pymysql.OperationalError(1969, "max_statement_time exceeded"), StoreBusy),
        (Wrapped(pymysql.OperationalError(1213, "x")), StoreBusy),
        (pymysql.ProgrammingError(1146, "Table 'shop.keys' doesn't exist"), TableMissing),
        (pymysql.ProgrammingError(1064, "You have an error in your SQL syntax"), StatementRefused),
        (pymysql.OperationalError(1054, "Unknown column 'scope' in 'field list'"), StatementRefused),
        (pymysql.OperationalError(1142, "INSERT command denied to user"), StatementRefused),
        (pymysql.DataError(1366, "Incorrect string value"), StatementRefused),
        (TypeError("not all arguments converted during string formatting"), StatementRefused),
        (pymysql.OperationalError(2006, "MySQL server has gone away"), StoreAway),
        (pymysql.OperationalError(2013, "Lost connection to MySQL server during query"), StoreAway),
        (pymysql.OperationalError(2003, "Can't connect to MySQL server on 'x'"), StoreAway),
        (pymysql.OperationalError(1040, "Too many connections"), StoreAway),
        (pymysql.OperationalError(1290, "running with the --read-only option"), StoreAway),
        (pymysql.ProgrammingError(1203, "has already more than 'max_user_connections'"), StoreAway),
        (pymysql.ProgrammingError("not all arguments converted"), StatementRefused),
        (pymysql.InterfaceError(0, ""), StoreAway),
        (pymysql.InterfaceError("(0, 'Not connected')"), StoreAway),
    ],
)
def test_what_an_error_means(problem: Exception, kind: type[MqframeError]) -> None:
    found = meaning(problem, "keys", "qmark")
    assert type(found) is kind
    assert str(problem) in str(found)


def test_messages_say_what_to_do() -> None:
    missing = str(meaning(ProgrammingError("x", "42P01"), "shop.keys", "qmark"))
    assert "create_table()" in missing
    assert "mqframe idempotence ddl --table shop.keys" in missing
    missing = str(meaning(pymysql.ProgrammingError(1146, "x"), "keys", "pyformat"))
    assert "mqframe idempotence ddl --table keys --dialect mysql" in missing
    assert "on_conflict=False" in str(meaning(ProgrammingError("x", "42601"), "keys", "format"))
    assert "say dialect='mysql'" in str(meaning(pymysql.ProgrammingError(1064, "x"), "keys", "format"))
    assert "paramstyle='format'" in str(meaning(ProgrammingError("x", "42601"), "keys", "format"))


def test_our_own_errors_stay() -> None:
    problem = StoreBusy("x")
    assert meaning(problem, "keys", "qmark") is problem


def test_conflicts_are_known_by_name() -> None:
    assert is_conflict(IntegrityError("x"))
    assert is_conflict(sqlite3.IntegrityError())
    assert not is_conflict(ProgrammingError("x"))


def test_of_mysql_they_are_known_by_number() -> None:
    assert is_conflict(pymysql.IntegrityError(1062, "Duplicate entry 's-a' for key 'PRIMARY'"))
    assert is_conflict(Wrapped(pymysql.IntegrityError(1062, "x")))
    assert not is_conflict(pymysql.IntegrityError(1452, "a foreign key constraint fails"))
