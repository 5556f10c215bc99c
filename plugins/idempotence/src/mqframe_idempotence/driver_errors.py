"""What a driver's errors mean. Drivers share no classes, so names, SQLSTATEs, numbers and texts decide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mqframe.core.errors import MqframeError
from mqframe_idempotence.drivers import MYSQL, dialect_of
from mqframe_idempotence.errors import StatementRefused, StoreAway, StoreBusy, TableMissing, TransactionLost

_BUSY_STATES: Final = {
    "40001",  # serialization failure
    "40P01",  # deadlock
    "55P03",  # lock not available: lock_timeout
    "57014",  # query cancelled: statement_timeout
}
_ABORTED: Final = "25P02"
_NO_TABLE: Final = "42P01"
_CLASS_OF_BAD_STATEMENTS: Final = "42"
# Drivers for MySQL and MariaDB give numbers, most of them no SQLSTATE.
_MYSQL_CONFLICTS: Final = {1062, 1586}
_MYSQL_BUSY: Final = {
    1020,  # the row has changed since the snapshot (MariaDB)
    1205,  # lock wait time-out: the statement was taken back, the transaction is still there
    1213,  # deadlock: the transaction was taken back
    1317,  # the statement was ended by somebody
    1969,  # max_statement_time (MariaDB)
    3024,  # max_execution_time (MySQL)
    3101,  # another member of the group changed the same
    3572,  # NOWAIT
}
_MYSQL_NO_TABLE: Final = 1146
_MYSQL_BAD_STATEMENTS: Final = {
    1054,  # no such column
    1064,  # syntax
    1071,  # the key is too long for the format of rows
    1115,  # no such character set
    1136,  # not as many values as columns
    1142,  # this account may not
    1143,  # nor with this column
    1267,  # collations that do not go together
    1273,  # no such collation
    1286,  # no such engine
    1364,  # a further column that wants a value
    1366,  # characters that the column's character set lacks
    1406,  # too long for the column
}
_MYSQL_TEXT_ALONE: Final = -1
"""What a driver itself found wrong. It gives 0 where the connection was lost before."""
_BUSY_WORDS: Final = ("is locked", "deadlock", "lock wait timeout", "could not serialize")
_NO_TABLE_WORDS: Final = ("no such table", "doesn't exist")
_BAD_WORDS: Final = ("syntax error", "no such column", "has no column")
_BAD_NAMES: Final = {"ProgrammingError", "NotSupportedError", "InterfaceError", "TypeError"}


def is_conflict(problem: BaseException) -> bool:
    """Whether a row was refused because its key is there."""
    number = _mysql_number(problem)
    if number is not None:
        return number in _MYSQL_CONFLICTS
    return "IntegrityError" in _class_names(problem)


def meaning(problem: Exception, table: str, paramstyle: str) -> MqframeError:
    """The error of this project for what a driver raised; `problem` itself when it is one already."""
    if isinstance(problem, MqframeError):
        return problem
    state, number, text = _state(problem), _mysql_number(problem), str(problem).lower()
    said = f"{type(problem).__name__}: {str(problem).strip() or 'no text'}"
    if state == _ABORTED:
        return TransactionLost(
            f"the transaction had failed already ({said}); let errors of statements out of the listener, or"
            " guard what may fail by a savepoint"
        )
    if state in _BUSY_STATES or number in _MYSQL_BUSY or any(words in text for words in _BUSY_WORDS):
        return StoreBusy(f"the database put table {table} off; the message comes again: {said}")
    is_named = table.lower() in text and any(words in text for words in _NO_TABLE_WORDS)
    if state == _NO_TABLE or number == _MYSQL_NO_TABLE or is_named:
        words = f"--table {table}" if number is None else f"--table {table} --dialect {MYSQL}"
        return TableMissing(
            f"table {table} does not exist; call create_table() of the store, or run what"
            f" `mqframe idempotence ddl {words}` prints ({said})"
        )
    if _is_refused(problem, state, number, text):
        hint = "For databases without ON CONFLICT say on_conflict=False"
        if number is not None:
            hint = f"Where something wraps the driver's connections say dialect={MYSQL!r}"
        return StatementRefused(
            f"the database refused a statement on table {table}; is paramstyle={paramstyle!r} the driver's"
            f" own, and the table as documented? {hint} ({said})"
        )
    return StoreAway(f"the database with table {table} could not be used: {said}")


def _is_refused(problem: Exception, state: str, number: int | None, text: str) -> bool:
    if number is not None and number != _MYSQL_TEXT_ALONE:
        return number in _MYSQL_BAD_STATEMENTS  # states of this class stand for want of connections as well
    if state[:2] == _CLASS_OF_BAD_STATEMENTS or any(words in text for words in _BAD_WORDS):
        return True
    return bool(_BAD_NAMES & _class_names(problem)) and not state and not _is_closed(text)


def _is_closed(text: str) -> bool:
    return "closed" in text or "connect" in text


def _class_names(problem: BaseException) -> set[str]:
    return {cls.__name__ for cls in type(problem).__mro__}


def _state(problem: BaseException) -> str:
    for each in _chain(problem):
        found = getattr(each, "sqlstate", None) or getattr(each, "pgcode", None)
        if isinstance(found, str):
            return found
    return ""


def _mysql_number(problem: BaseException) -> int | None:
    """The number of an error of MySQL, MariaDB or a driver for them; `None` of others."""
    for each in _chain(problem):
        if dialect_of(each) == MYSQL:
            found = getattr(each, "errno", each.args[0] if each.args else None)
            return found if isinstance(found, int) else _MYSQL_TEXT_ALONE
    return None


def _chain(problem: BaseException) -> Iterator[BaseException]:
    """`problem`, and what SQLAlchemy has wrapped in it."""
    for each in (problem, getattr(problem, "orig", None), problem.__cause__):
        if isinstance(each, BaseException):
            yield each
