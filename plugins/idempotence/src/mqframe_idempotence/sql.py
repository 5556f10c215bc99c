"""Stores that keep keys in a table of the application's own database, in the listener's own transaction."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from inspect import isawaitable
from typing import Any

from mqframe_idempotence.driver_errors import meaning
from mqframe_idempotence.drivers import POSTGRESQL
from mqframe_idempotence.errors import WrongUse
from mqframe_idempotence.handles import (
    AlchemyHandle,
    AsyncAlchemyHandle,
    AsyncDbapiHandle,
    DbapiHandle,
    Handle,
)
from mqframe_idempotence.kept_connections import KeptConnections
from mqframe_idempotence.statements import PARAMSTYLES, TABLE, checked_dialect, checked_table, ddl
from mqframe_idempotence.steps import Steps, run, run_async
from mqframe_idempotence.stores import KEEP_SECONDS, Claims
from mqframe_idempotence.transaction import TableOptions, Transaction


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


class _Table:
    """What SQL stores share: see `SqlStore` for `table`, `on_conflict`, `lock_seconds`."""

    in_transaction = True

    def __init__(
        self,
        table: str,
        on_conflict: bool,
        lock_seconds: float | None,
        now_ms: Callable[[], int],
    ) -> None:
        if lock_seconds is not None and not lock_seconds > 0:
            raise WrongUse(f"lock_seconds={lock_seconds!r} is to be more than 0")
        self._options = TableOptions(checked_table(table), on_conflict, lock_seconds, now_ms)

    def ddl(self, dialect: str = POSTGRESQL) -> tuple[str, ...]:
        """The statements of `create_table` on `dialect`, for migrations; see the function `ddl`."""
        return ddl(self._options.table, dialect)

    def _away(self, problem: Exception) -> Exception:
        return meaning(problem, self._options.table, "of the driver")


class _PlainTable(_Table):
    is_async = False

    def _handle(self) -> Handle:
        raise NotImplementedError

    def open(self, scope: str) -> SqlAttempt:
        """A new transaction. Raises `StoreAway` when there is no connection."""
        try:
            return SqlAttempt(Transaction(self._handle(), scope, self._options))
        except Exception as problem:
            raise self._away(problem) from problem

    def create_table(self) -> None:
        """Make the table and its index where they do not exist. Raises as `open` does."""
        self._alone(lambda transaction: transaction.create_table())

    def purge(self, older_than_seconds: float = KEEP_SECONDS) -> int:
        """Delete keys that are older; how many there were.

        A message that comes again after its key was deleted has its effect again: keep keys for longer than
        messages come again. Raises as `open` does.
        """
        return self._alone(lambda transaction: transaction.purge(older_than_seconds))

    def _alone(self, steps: Callable[[Transaction], Steps[int]]) -> int:
        attempt = self.open("")
        try:
            count = run(steps(attempt.transaction))
        except BaseException:
            with suppress(Exception):  # what was wrong before counts more
                attempt.close()
            raise
        attempt.close()
        return count


class _AsyncTable(_Table):
    is_async = True

    async def _handle(self) -> Handle:
        raise NotImplementedError

    async def open(self, scope: str) -> AsyncSqlAttempt:
        """A new transaction. Raises `StoreAway` when there is no connection."""
        try:
            return AsyncSqlAttempt(Transaction(await self._handle(), scope, self._options))
        except Exception as problem:
            raise self._away(problem) from problem

    async def create_table(self) -> None:
        """As `SqlStore.create_table`."""
        await self._alone(lambda transaction: transaction.create_table())

    async def purge(self, older_than_seconds: float = KEEP_SECONDS) -> int:
        """As `SqlStore.purge`."""
        return await self._alone(lambda transaction: transaction.purge(older_than_seconds))

    async def _alone(self, steps: Callable[[Transaction], Steps[int]]) -> int:
        attempt = await self.open("")
        try:
            count = await run_async(steps(attempt.transaction))
        except BaseException:
            with suppress(Exception):  # what was wrong before counts more
                await attempt.close()
            raise
        await attempt.close()
        return count


class SqlStore(_PlainTable):
    """Keys in a table that a DB-API driver (PEP 249) reaches.

        store = SqlStore(lambda: sqlite3.connect("shop.db"), keep_connections=True)
        store.create_table()

    `connect`: returns a new connection that does not commit by itself, or a context manager of one, such as
    `pool.connection`; called in every thread that works. `keep_connections`: each thread keeps its connection
    as long as nothing goes wrong with it. `table`: its name. `paramstyle`: by default that of the driver.
    `dialect`: "mysql" (MariaDB, too), "postgresql" or "sqlite"; by default that of the driver, to be said
    where something wraps its connections. `on_conflict=False`: for other databases, without ON CONFLICT DO
    NOTHING, whose statements fail alone. `lock_seconds`: how long to wait for another delivery of the same
    key, and what else is locked, before the message is put off; by default as the connection has it; on
    MySQL in whole seconds, rounded up, which the connection keeps. Raises `WrongUse`.
    """

    def __init__(
        self,
        connect: Callable[[], Any],
        *,
        table: str = TABLE,
        paramstyle: str | None = None,
        dialect: str | None = None,
        keep_connections: bool = False,
        on_conflict: bool = True,
        lock_seconds: float | None = None,
        now_ms: Callable[[], int] = _wall_ms,
    ) -> None:
        super().__init__(table, on_conflict, lock_seconds, now_ms)
        self._connect = connect
        self._paramstyle = checked_paramstyle(paramstyle)
        self._dialect = None if dialect is None else checked_dialect(dialect)
        self._kept: KeptConnections | None = None
        if keep_connections:
            self._kept = KeptConnections(connect, self._paramstyle, self._dialect)

    def close(self) -> None:
        """Close the connection that the calling thread keeps, if any; the next use opens another."""
        if self._kept is not None:
            self._kept.close()

    def _handle(self) -> Handle:
        if self._kept is not None:
            return self._kept.handle()
        given = self._connect()
        if hasattr(given, "cursor") or not hasattr(given, "__enter__"):
            return DbapiHandle(given, given.close, self._paramstyle, self._dialect)
        connection = given.__enter__()
        return DbapiHandle(
            connection, lambda: given.__exit__(None, None, None), self._paramstyle, self._dialect
        )


class AsyncSqlStore(_AsyncTable):
    """As `SqlStore`, for asynchronous drivers after PEP 249: psycopg's `AsyncConnection`, asyncmy, aiosqlite.

    `connect`: returns an awaitable of a new connection, or an asynchronous context manager of one, such as
    `pool.connection` of psycopg and `pool.acquire` of asyncmy and aiomysql.
    """

    def __init__(
        self,
        connect: Callable[[], Any],
        *,
        table: str = TABLE,
        paramstyle: str | None = None,
        dialect: str | None = None,
        on_conflict: bool = True,
        lock_seconds: float | None = None,
        now_ms: Callable[[], int] = _wall_ms,
    ) -> None:
        super().__init__(table, on_conflict, lock_seconds, now_ms)
        self._connect = connect
        self._paramstyle = checked_paramstyle(paramstyle)
        self._dialect = None if dialect is None else checked_dialect(dialect)

    async def _handle(self) -> Handle:
        given = self._connect()
        if hasattr(given, "__aenter__"):  # where it can be awaited as well, a pool wants its connection back
            connection = await given.__aenter__()
            close = partial(given.__aexit__, None, None, None)
        else:
            connection = await given
            close = getattr(connection, "ensure_closed", connection.close)
        return AsyncDbapiHandle(connection, close, self._paramstyle, self._dialect)


class SqlAlchemyStore(_PlainTable):
    """Keys in a table that SQLAlchemy reaches.

    `make`: returns a new `Session` or `Connection`: a `sessionmaker`, or an engine's `connect`; the listener
    gets it. Everything else as of `SqlStore`.
    """

    def __init__(
        self,
        make: Callable[[], Any],
        *,
        table: str = TABLE,
        on_conflict: bool = True,
        lock_seconds: float | None = None,
        now_ms: Callable[[], int] = _wall_ms,
    ) -> None:
        super().__init__(table, on_conflict, lock_seconds, now_ms)
        self._make = make

    def _handle(self) -> Handle:
        return AlchemyHandle(self._make())


class AsyncSqlAlchemyStore(_AsyncTable):
    """As `SqlAlchemyStore`, for `async_sessionmaker` and the `connect` of an `AsyncEngine`."""

    def __init__(
        self,
        make: Callable[[], Any],
        *,
        table: str = TABLE,
        on_conflict: bool = True,
        lock_seconds: float | None = None,
        now_ms: Callable[[], int] = _wall_ms,
    ) -> None:
        super().__init__(table, on_conflict, lock_seconds, now_ms)
        self._make = make

    async def _handle(self) -> Handle:
        made = self._make()
        return AsyncAlchemyHandle(await made if isawaitable(made) else made)


class SqlAttempt:
    """One transaction; see `Attempt`."""

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction

    @property
    def session(self) -> Any:
        """The connection or session, from `claim` on."""
        return self.transaction.session

    def claim(self, keys: Sequence[str]) -> Claims:
        """Claim `keys`."""
        return run(self.transaction.claim(keys))

    def finish(self, keys: Sequence[str]) -> int:
        """Commit."""
        return run(self.transaction.finish(keys))

    def give_up(self) -> None:
        """Roll back."""
        run(self.transaction.give_up())

    def close(self) -> None:
        """Let go of the connection."""
        run(self.transaction.close())


class AsyncSqlAttempt:
    """One transaction of an asynchronous store; see `Attempt`."""

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction

    @property
    def session(self) -> Any:
        """The connection or session, from `claim` on."""
        return self.transaction.session

    def claim(self, keys: Sequence[str]) -> Awaitable[Claims]:
        """Claim `keys`."""
        return run_async(self.transaction.claim(keys))

    def finish(self, keys: Sequence[str]) -> Awaitable[int]:
        """Commit."""
        return run_async(self.transaction.finish(keys))

    def give_up(self) -> Awaitable[None]:
        """Roll back."""
        return run_async(self.transaction.give_up())

    def close(self) -> Awaitable[None]:
        """Let go of the connection."""
        return run_async(self.transaction.close())


def checked_paramstyle(paramstyle: str | None) -> str | None:
    """`paramstyle`, or `None`. Raises `WrongUse` when PEP 249 does not know it."""
    if paramstyle is not None and paramstyle not in PARAMSTYLES:
        raise WrongUse(f"paramstyle {paramstyle!r} is none of {', '.join(PARAMSTYLES)}")
    return paramstyle
