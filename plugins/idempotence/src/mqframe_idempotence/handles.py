"""One way to talk to connections and sessions of every kind; asynchronous ones return awaitables."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from inspect import isawaitable
from typing import Any, Final, Protocol

from mqframe_idempotence.drivers import MYSQL, dialect_named, dialect_of, modules_of
from mqframe_idempotence.statements import PARAMSTYLES

_IN_TRANSACTION: Final = 1
"""The bit of MySQL's status of a session."""


class Handle(Protocol):
    """A connection or session.

    `session`: what the application gets; `paramstyle`: how statements are written; `dialect`: one of
    `DIALECTS`, or another word; `is_replaceable`: whether another connection may take its place, as nothing
    was done in it.
    """

    session: Any
    paramstyle: str
    dialect: str
    is_replaceable: bool

    def execute(self, text: str, parameters: Any, fetch: bool) -> Any:
        """Carry out a statement: its rows when they are to be fetched, else how many rows it changed."""

    def commit(self) -> Any:
        """Commit."""

    def rollback(self) -> Any:
        """Roll back."""

    def close(self) -> Any:
        """Let go of it."""

    def commits_by_itself(self) -> bool:
        """Whether no transaction is open though a statement was carried out."""


class DbapiHandle:
    """A connection of PEP 249. `close`: lets go of it; `paramstyle`, `dialect`: `None`: the driver's own."""

    def __init__(
        self,
        connection: Any,
        close: Callable[[], Any],
        paramstyle: str | None,
        dialect: str | None = None,
    ) -> None:
        self.session = connection
        self.close = close
        self.is_replaceable = False
        self.dialect = dialect or dialect_of(connection)
        self.paramstyle = paramstyle or driver_paramstyle(connection, self.dialect)

    def execute(self, text: str, parameters: Any, fetch: bool) -> Any:
        """As `Handle.execute`."""
        cursor = self.session.cursor()
        try:
            cursor.execute(text, parameters)
            return [_values(row) for row in cursor.fetchall()] if fetch else cursor.rowcount
        finally:
            cursor.close()

    def commit(self) -> Any:
        """Commit."""
        return self.session.commit()

    def rollback(self) -> Any:
        """Roll back."""
        return self.session.rollback()

    def commits_by_itself(self) -> bool:
        """As `Handle.commits_by_itself`."""
        return _autocommits(self.session)


class AsyncDbapiHandle(DbapiHandle):
    """A connection as of psycopg's `AsyncConnection`, asyncmy or aiosqlite: PEP 249 with `await`."""

    async def execute(self, text: str, parameters: Any, fetch: bool) -> Any:
        """As `Handle.execute`."""
        cursor = await _there(self.session.cursor())
        try:
            await _there(cursor.execute(text, parameters))
            return [_values(row) for row in await _there(cursor.fetchall())] if fetch else cursor.rowcount
        finally:
            await _there(cursor.close())


class AlchemyHandle:
    """A `Session` or `Connection` of SQLAlchemy."""

    paramstyle = "named"

    def __init__(self, session: Any) -> None:
        self.session = session
        self.is_replaceable = False
        bind = session.get_bind() if hasattr(session, "get_bind") else session
        self.dialect = dialect_named(str(bind.dialect.name))

    def execute(self, text: str, parameters: Any, fetch: bool) -> Any:
        """As `Handle.execute`."""
        return _rows(self.session.execute(_text(text), parameters), fetch)

    def commit(self) -> Any:
        """Commit."""
        return self.session.commit()

    def rollback(self) -> Any:
        """Roll back."""
        return self.session.rollback()

    def close(self) -> Any:
        """Let go of it."""
        return self.session.close()

    def commits_by_itself(self) -> bool:
        """As `Handle.commits_by_itself`."""
        connection = self._connection()
        pooled = getattr(connection, "connection", None)
        return _autocommits(getattr(pooled, "driver_connection", None))

    def _connection(self) -> Any:
        return self.session.connection() if hasattr(self.session, "get_bind") else self.session


class AsyncAlchemyHandle(AlchemyHandle):
    """An `AsyncSession` or `AsyncConnection` of SQLAlchemy."""

    async def execute(self, text: str, parameters: Any, fetch: bool) -> Any:
        """As `Handle.execute`."""
        return _rows(await self.session.execute(_text(text), parameters), fetch)

    def _connection(self) -> Any:
        sync = getattr(self.session, "sync_session", None)
        return sync.connection() if sync is not None else self.session.sync_connection


def driver_paramstyle(connection: object, dialect: str) -> str:
    """The paramstyle that the driver's module states.

    Where it states none that is known: what drivers of `dialect` have in common, else "qmark".
    """
    for module in modules_of(connection):
        parts = module.split(".")
        for end in range(len(parts), 0, -1):
            style = getattr(sys.modules.get(".".join(parts[:end])), "paramstyle", None)
            if isinstance(style, str) and style in PARAMSTYLES:
                return style
    return "format" if dialect == MYSQL else "qmark"


async def _there(value: Awaitable[Any] | Any) -> Any:
    return await value if isawaitable(value) else value


def _autocommits(connection: Any) -> bool:
    inside = getattr(connection, "in_transaction", None)
    if isinstance(inside, bool):  # SQLite's: whatever the mode is called, this is what is
        return not inside
    answered = getattr(connection, "server_status", None)
    if isinstance(answered, int):  # of PyMySQL and its kin: what the server said last
        return not answered & _IN_TRANSACTION
    with suppress(Exception):  # a driver that does not tell
        status = getattr(getattr(connection, "info", None), "transaction_status", None)
        if status is not None:
            return int(status) == 0
    tells = getattr(connection, "get_autocommit", None)  # mysqlclient's
    return tells() is True if callable(tells) else getattr(connection, "autocommit", False) is True


def _values(row: Any) -> tuple[Any, ...]:
    """What is in a row, also where the connection was opened for rows that are mappings."""
    return tuple(row.values() if isinstance(row, Mapping) else row)


def _text(text: str) -> Any:
    from sqlalchemy import text as clause

    return clause(text)


def _rows(result: Any, fetch: bool) -> Any:
    return [tuple(row) for row in result] if fetch else result.rowcount
