"""What a driver's errors mean. Drivers share no classes, so names, SQLSTATEs and texts decide."""

from __future__ import annotations

from typing import Final

from mqframe.core.errors import MqframeError
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
_BUSY_WORDS: Final = ("is locked", "deadlock", "lock wait timeout", "could not serialize")
_NO_TABLE_WORDS: Final = ("no such table", "doesn't exist")
_BAD_WORDS: Final = ("syntax error", "no such column", "has no column")
_BAD_NAMES: Final = {"ProgrammingError", "NotSupportedError", "InterfaceError", "TypeError"}


def is_conflict(problem: BaseException) -> bool:
    """Whether a row was refused because its key is there."""
    return "IntegrityError" in _class_names(problem)


def meaning(problem: Exception, table: str, paramstyle: str) -> MqframeError:
    """The error of this project for what a driver raised; `problem` itself when it is one already."""
    if isinstance(problem, MqframeError):
        return problem
    state, text = _state(problem), str(problem).lower()
    said = f"{type(problem).__name__}: {str(problem).strip() or 'no text'}"
    if state == _ABORTED:
        return TransactionLost(
            f"the transaction had failed already ({said}); let errors of statements out of the listener, or"
            " guard what may fail by a savepoint"
        )
    if state in _BUSY_STATES or any(words in text for words in _BUSY_WORDS):
        return StoreBusy(f"the database put table {table} off; the message comes again: {said}")
    if state == _NO_TABLE or (table.lower() in text and any(words in text for words in _NO_TABLE_WORDS)):
        return TableMissing(
            f"table {table} does not exist; call create_table() of the store, or run what"
            f" `mqframe idempotence ddl --table {table}` prints ({said})"
        )
    names = _class_names(problem)
    is_bad = state[:2] == _CLASS_OF_BAD_STATEMENTS or any(words in text for words in _BAD_WORDS)
    if is_bad or (_BAD_NAMES & names and not state and not _is_closed(text)):
        return StatementRefused(
            f"the database refused a statement on table {table}; is paramstyle={paramstyle!r} the driver's"
            " own, and the table as documented? For databases without ON CONFLICT say on_conflict=False"
            f" ({said})"
        )
    return StoreAway(f"the database with table {table} could not be used: {said}")


def _is_closed(text: str) -> bool:
    return "closed" in text or "connect" in text


def _class_names(problem: BaseException) -> set[str]:
    return {cls.__name__ for cls in type(problem).__mro__}


def _state(problem: BaseException) -> str:
    for each in (problem, getattr(problem, "orig", None), problem.__cause__):
        found = getattr(each, "sqlstate", None) or getattr(each, "pgcode", None)
        if isinstance(found, str):
            return found
    return ""
