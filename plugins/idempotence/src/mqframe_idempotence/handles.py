"""One way to talk to connections and sessions of every kind; asynchronous ones return awaitables."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from inspect import isawaitable
from typing import Any, Protocol

from mqframe_idempotence.statements import PARAMSTYLES


class Handle(Protocol):
    """A connection or session.

    `session`: what the application gets; `paramstyle`: how statements are written; `dialect`: "sqlite",
    "postgresql" or another word.
    """

    session: Any
    paramstyle: str
    dialect: str

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
    """A connection of PEP 249. `close`: lets go of it; `paramstyle`: `None`: the driver's own."""

    def __init__(self, connection: Any, close: Callable[[], Any], paramstyle: str | None) -> None:
        self.session = connection
        self.close = close
        self.paramstyle = paramstyle or driver_paramstyle(connection)
        self.dialect = _dialect(connection)

    def execute(self, text: str, parameters: Any, fetch: bool) -> Any:
        """As `Handle.execute`."""
        cursor = self.session.cursor()
        try:
            cursor.execute(text, parameters)
            return [tuple(row) for row in cursor.fetchall()] if fetch else cursor.rowcount
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
    """A connection as of psycopg's `AsyncConnection` or aiosqlite: PEP 249 with `await`."""

    async def execute(self, text: str, parameters: Any, fetch: bool) -> Any:
        """As `Handle.execute`."""
        cursor = await _there(self.session.cursor())
        try:
            await _there(cursor.execute(text, parameters))
            return [tuple(row) for row in await _there(cursor.fetchall())] if fetch else cursor.rowcount
        finally:
            await _there(cursor.close())


class AlchemyHandle:
    """A `Session` or `Connection` of SQLAlchemy."""

    paramstyle = "named"

    def __init__(self, session: Any) -> None:
        self.session = session
        bind = session.get_bind() if hasattr(session, "get_bind") else session
        self.dialect = str(bind.dialect.name)

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


def driver_paramstyle(connection: object) -> str:
    """The paramstyle that the driver's module states; "qmark" where it states none that is known."""
    parts = type(connection).__module__.split(".")
    for end in range(len(parts), 0, -1):
        module = sys.modules.get(".".join(parts[:end]))
        style = getattr(module, "paramstyle", None)
        if isinstance(style, str) and style in PARAMSTYLES:
            return style
    return "qmark"


async def _there(value: Awaitable[Any] | Any) -> Any:
    return await value if isawaitable(value) else value


def _dialect(connection: object) -> str:
    driver = type(connection).__module__.partition(".")[0]
    if driver in ("sqlite3", "aiosqlite"):
        return "sqlite"
    return "postgresql" if driver.startswith(("psycopg", "pg8000")) else driver


def _autocommits(connection: Any) -> bool:
    inside = getattr(connection, "in_transaction", None)
    if isinstance(inside, bool):  # SQLite's: whatever the mode is called, this is what is
        return not inside
    with suppress(Exception):  # a driver that does not tell
        status = getattr(getattr(connection, "info", None), "transaction_status", None)
        if status is not None:
            return int(status) == 0
    return getattr(connection, "autocommit", False) is True


def _text(text: str) -> Any:
    from sqlalchemy import text as clause

    return clause(text)


def _rows(result: Any, fetch: bool) -> Any:
    return [tuple(row) for row in result] if fetch else result.rowcount
