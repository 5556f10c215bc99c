import sqlite3

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
    assert "paramstyle='format'" in str(meaning(ProgrammingError("x", "42601"), "keys", "format"))


def test_our_own_errors_stay() -> None:
    problem = StoreBusy("x")
    assert meaning(problem, "keys", "qmark") is problem


def test_conflicts_are_known_by_name() -> None:
    assert is_conflict(IntegrityError("x"))
    assert is_conflict(sqlite3.IntegrityError())
    assert not is_conflict(ProgrammingError("x"))
