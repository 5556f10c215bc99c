"""Ties the end of a transaction to the application's own database.

One row in the database says that a transaction was committed. It is written together with the business
change, by the same commit, so it is there exactly when the change is; whoever is asked looks for it.
"""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol

from mqframe.core.errors import FixError
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.sending.transaction_outcome import TransactionOutcome
from mqframe.log import get_logger
from mqframe_transactions.client.listener import HalfMessage, TransactionListener
from mqframe_transactions.client.sends import OpenTransaction

log = get_logger("client")

TABLE: Final = "mqframe_transactions"
UNDECIDED_SECONDS: Final = 60.0
_COMMITTED: Final = "commit"
_BARRED: Final = "rollback"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_PLACEHOLDERS: Final = {"qmark": "?", "format": "%s", "pyformat": "%s", "numeric": ":{}"}


class DatabaseCursor(Protocol):
    """The part of a DB-API cursor that is used."""

    @property
    def rowcount(self) -> int:
        """Rows that the last statement changed."""

    def execute(self, statement: str, parameters: tuple[object, ...] = ..., /) -> object:
        """Carry out one statement."""

    def fetchone(self) -> Any:
        """The next row of a query, or `None`."""

    def close(self) -> object:
        """Let go of it."""


class DatabaseSession(Protocol):
    """The part of a session of SQLAlchemy that is used."""

    def connection(self) -> Any:
        """The `Connection` that it works on."""


class DatabaseConnection(Protocol):
    """The part of a DB-API connection (PEP 249) that is used."""

    def cursor(self) -> DatabaseCursor:
        """A new cursor."""

    def commit(self) -> object:
        """Commit what was done."""

    def rollback(self) -> object:
        """Take back what was done."""

    def close(self) -> object:
        """Let go of it."""


class DatabaseOutcome(TransactionListener):
    """A listener that knows how a transaction ended from a row in the application's database.

        outcome = DatabaseOutcome(lambda: sqlite3.connect("shop.db"), pay)   # pay(connection, message, arg)
        outcome.create_table()
        with TransactionProducer("shop", outcome, nameserver=…) as producer:
            producer.send_in_transaction(Message("orders", b"…"), order)

    `connect`: returns a new DB-API connection that does not commit by itself; called in several threads.
    `business`: the local transaction, for `send_in_transaction`; it neither commits nor rolls back. Without
    it, use `with producer.transaction(message)` and call `record` before you commit. `table`: where the rows
    are. `paramstyle`: the driver's own ("qmark", "format", "pyformat" or "numeric").

    What is answered when the broker asks:

    ==============================  ========================================================================
    row                             answer
    ==============================  ========================================================================
    committed                       COMMIT
    none, younger than the limit    UNKNOWN: the application may be about to commit
    none, older                     a row that bars it is written first, then ROLLBACK: `record` would break
                                    on that row's key, so the business change cannot be committed any more
    barred                          ROLLBACK
    ==============================  ========================================================================

    So neither a slow transaction nor one of a process that died is ever committed on one side and rolled back
    on the other. `undecided_seconds` is the limit, counted from the birth of the message; it only decides how
    long a broker goes on asking, so clocks that differ do no harm.
    """

    def __init__(
        self,
        connect: Callable[[], DatabaseConnection],
        business: Callable[[Any, HalfMessage, Any], object] | None = None,
        *,
        table: str = TABLE,
        undecided_seconds: float = UNDECIDED_SECONDS,
        paramstyle: str = "qmark",
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        if not _NAME.fullmatch(table):
            raise FixError(f"table {table!r} is no plain name of a table")
        if paramstyle not in _PLACEHOLDERS:
            raise FixError(f"paramstyle {paramstyle!r} is none of {', '.join(_PLACEHOLDERS)}")
        self._connect = connect
        self._business = business
        self._table = table
        self._undecided_ms = undecided_seconds * 1000
        self._now_ms = now_ms
        one, two, three = (_PLACEHOLDERS[paramstyle].format(number) for number in (1, 2, 3))
        self._insert = (
            f"INSERT INTO {table} (transaction_id, outcome, written_ms) VALUES ({one}, {two}, {three})"
        )
        self._select = f"SELECT outcome FROM {table} WHERE transaction_id = {one}"
        self._delete = f"DELETE FROM {table} WHERE written_ms < {one}"

    def create_table(self) -> None:
        """Make the table where it does not exist: a key of at most 255 characters, a word, a time in ms."""
        with self._connected() as (connection, cursor):
            cursor.execute(
                f"CREATE TABLE IF NOT EXISTS {self._table} ("
                "transaction_id VARCHAR(255) NOT NULL PRIMARY KEY, "
                "outcome VARCHAR(8) NOT NULL, written_ms BIGINT NOT NULL)"
            )
            connection.commit()

    def record(
        self, connection: DatabaseConnection | DatabaseSession, transaction: OpenTransaction | HalfMessage
    ) -> None:
        """Note in `connection`'s own transaction that it commits `transaction`. Call it before you commit.

        `connection`: of the driver, or a `Session` or `Connection` of SQLAlchemy; of its `AsyncSession`
        `await session.run_sync(outcome.record, transaction)`. From here on an exception in the block of an
        `OpenTransaction` leaves it open: the database decides.
        Raises the driver's error when the transaction was barred meanwhile; then roll back. Raises `FixError`
        for what is no connection.
        """
        row = transaction.transaction_id, _COMMITTED, self._now_ms()
        try:
            _execute(connection, self._insert, row)
        finally:
            if isinstance(transaction, OpenTransaction):
                transaction.in_doubt()

    def forget(self, older_than_seconds: float) -> int:
        """Delete rows older than that; returns how many.

        Keep them as long as brokers keep halves (72 h by default), or a late question may be answered wrong.
        """
        with self._connected() as (connection, cursor):
            cursor.execute(self._delete, (self._now_ms() - int(older_than_seconds * 1000),))
            count = cursor.rowcount
            connection.commit()
        return count

    def execute_local_transaction(self, message: HalfMessage, arg: Any) -> TransactionOutcome:
        """Do the business and note it, in one database transaction."""
        if self._business is None:
            raise FixError("DatabaseOutcome was made without a business function; use producer.transaction")
        with self._connected() as (connection, _):
            try:
                self._business(connection, message, arg)
                self.record(connection, message)
            except BaseException:  # re-raised: nothing of it may be committed
                connection.rollback()
                raise
            connection.commit()
        return TransactionOutcome.COMMIT

    def check_local_transaction(self, message: ReceivedMessage) -> TransactionOutcome:
        """Look for the row. See the table above."""
        name = message.transaction_id
        with self._connected() as (connection, cursor):
            found = self._find(cursor, name)
            if found is None and self._now_ms() - message.born_timestamp > self._undecided_ms:
                found = self._bar(connection, cursor, name)
        if found is None:
            return TransactionOutcome.UNKNOWN
        return TransactionOutcome.COMMIT if found == _COMMITTED else TransactionOutcome.ROLLBACK

    def _find(self, cursor: DatabaseCursor, name: str) -> str | None:
        cursor.execute(self._select, (name,))
        row = cursor.fetchone()
        return None if row is None else str(row[0])

    def _bar(self, connection: DatabaseConnection, cursor: DatabaseCursor, name: str) -> str | None:
        try:
            cursor.execute(self._insert, (name, _BARRED, self._now_ms()))
            connection.commit()
        except (
            Exception
        ) as problem:  # drivers share no error class: whatever it was, what is there now counts
            connection.rollback()
            log.info("transaction could not be barred", transaction=name, reason=repr(problem))
            return self._find(cursor, name)
        log.warning("transaction rolled back: nothing was committed in time", transaction=name)
        return _BARRED

    @contextmanager
    def _connected(self) -> Iterator[tuple[DatabaseConnection, DatabaseCursor]]:
        connection = self._connect()
        try:
            yield connection, connection.cursor()
        finally:
            connection.close()


def _execute(given: Any, statement: str, parameters: tuple[object, ...]) -> None:
    """Carry out `statement` of the driver in the transaction of `given`. Raises `FixError` where none is."""
    if hasattr(given, "cursor"):
        cursor: DatabaseCursor = given.cursor()
        try:
            cursor.execute(statement, parameters)
        finally:
            cursor.close()
        return
    _sqlalchemy_connection(given).exec_driver_sql(statement, parameters)


def _sqlalchemy_connection(given: Any) -> Any:
    """The connection of SQLAlchemy that `given` is or, as a session, has. Raises `FixError` where none is."""
    is_connection = hasattr(given, "exec_driver_sql")
    found = getattr(given, "exec_driver_sql" if is_connection else "connection", None)
    if inspect.iscoroutinefunction(found):
        raise FixError(
            f"a {type(given).__name__} has to be awaited; write"
            " `await session.run_sync(outcome.record, transaction)`"
        )
    if is_connection:
        return given
    connection = found() if callable(found) else found
    if not hasattr(connection, "exec_driver_sql"):
        raise FixError(
            f"a {type(given).__name__} is neither a connection with a cursor() nor a session of SQLAlchemy"
        )
    return connection
