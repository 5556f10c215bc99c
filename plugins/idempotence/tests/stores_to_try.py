"""Stores of every kind for the tests."""

from __future__ import annotations

import asyncio
import importlib
import sqlite3
import threading
import uuid
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import psycopg
import pymysql
import pymysql.cursors
import pytest
import redis
import redis.asyncio
from database_servers import FreshTables
from mqframe_idempotence import (
    AsyncRedisStore,
    AsyncSqlAlchemyStore,
    AsyncSqlStore,
    MemoryStore,
    Once,
    OnceInTransaction,
    RedisStore,
    SqlAlchemyStore,
    SqlStore,
    StoreBusy,
)
from mqframe_idempotence.counts import Counted
from mqframe_testing.consuming import received


class LoopThread:
    """A loop in a thread of its own, for asynchronous stores."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(60)

    def close(self) -> None:
        self.run(self.loop.shutdown_default_executor())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


class StoreKind:
    """A store, whose effects are counted where they are done: in the database, or in `self.beside`.

    `work`: wraps a function of (message, effect), where `effect(name)` does the effect; the result is called
    with a message, from any thread, whether the store is asynchronous or not.
    """

    def __init__(self, store: Any, insert: str = "", names: Callable[[], list[str]] | None = None) -> None:
        self.store = store
        self.in_transaction = store.in_transaction
        self.insert = insert
        self.beside: list[str] = []
        self._names = names
        self.closers: list[Callable[[], object]] = []
        self.thread = LoopThread() if store.is_async else None

    def names(self) -> list[str]:
        """The effects that are there."""
        return sorted(self.beside if self._names is None else self._names())

    def once(self, scope: str = "billing", **options: Any) -> Any:
        return (OnceInTransaction if self.in_transaction else Once)(self.store, scope, **options)

    def work(self, once: Any, function: Callable[[Any, Callable[[str], Any]], Any]) -> Callable[[Any], Any]:
        if self.store.is_async:
            return self._async_work(once, function)

        if not self.in_transaction:
            return once.handler(lambda message: function(message, self.beside.append))

        def in_session(message: Any, session: Any) -> Any:
            def effect(name: str) -> None:
                carry_out(session, *self.statement(name))

            return function(message, effect)

        return once.handler(in_session)

    def statement(self, name: str) -> Any:
        if ":name" in self.insert and not isinstance(self.store, SqlStore):
            from sqlalchemy import text

            return text(self.insert), {"name": name}
        return self.insert, (name,)

    def _async_work(self, once: Any, function: Any) -> Callable[[Any], Any]:
        async def handle(message: Any, session: Any = None) -> Any:
            wanted: list[str] = []
            try:
                return await asyncio.to_thread(function, message, wanted.append)
            finally:
                for name in wanted:
                    if session is None:
                        self.beside.append(name)
                    else:
                        await carry_out_async(session, *self.statement(name))

        handler = once.handler(handle)
        assert self.thread is not None
        return lambda message: self.thread.run(handler(message))  # type: ignore[union-attr]

    def close(self) -> None:
        for closer in self.closers:
            closer()
        if self.thread is not None:
            self.thread.close()


def carry_out(session: Any, *statement: Any) -> None:
    """Have `session` execute, or a cursor where it does not itself."""
    (session if hasattr(session, "execute") else session.cursor()).execute(*statement)


async def carry_out_async(session: Any, *statement: Any) -> None:
    if hasattr(session, "execute"):
        await session.execute(*statement)
    else:
        async with session.cursor() as cursor:
            await cursor.execute(*statement)


QMARK = "INSERT INTO effects VALUES (?)"
NAMED = "INSERT INTO effects VALUES (:name)"


def sqlite_names(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    try:
        return [row[0] for row in connection.execute("SELECT name FROM effects")]
    finally:
        connection.close()


def memory(request: pytest.FixtureRequest) -> StoreKind:
    return StoreKind(MemoryStore())


def sqlite(request: pytest.FixtureRequest, **options: Any) -> StoreKind:
    path = request.getfixturevalue("sqlite_path")
    store = SqlStore(lambda: sqlite3.connect(path, timeout=30), **options)
    store.create_table()
    kind = StoreKind(store, QMARK, lambda: sqlite_names(path))
    kind.closers.append(store.close)
    return kind


def sqlite_plain_insert(request: pytest.FixtureRequest) -> StoreKind:
    return sqlite(request, on_conflict=False)


def sqlite_named(request: pytest.FixtureRequest) -> StoreKind:
    return sqlite(request, paramstyle="named")


def aiosqlite_store(request: pytest.FixtureRequest) -> StoreKind:
    import aiosqlite

    path = request.getfixturevalue("sqlite_path")
    store = AsyncSqlStore(lambda: aiosqlite.connect(path, timeout=30))
    asyncio.run(store.create_table())
    return StoreKind(store, QMARK, lambda: sqlite_names(path))


def alchemy_sqlite(request: pytest.FixtureRequest) -> StoreKind:
    from sqlalchemy import create_engine
    from sqlalchemy.orm import sessionmaker

    path = request.getfixturevalue("sqlite_path")
    engine = create_engine(f"sqlite:///{path}", connect_args={"timeout": 30})
    store = SqlAlchemyStore(sessionmaker(engine))
    store.create_table()
    kind = StoreKind(store, NAMED, lambda: sqlite_names(path))
    kind.closers.append(engine.dispose)
    return kind


def async_alchemy_sqlite(request: pytest.FixtureRequest) -> StoreKind:
    from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
    from sqlalchemy.pool import NullPool

    path = request.getfixturevalue("sqlite_path")
    url = f"sqlite+aiosqlite:///{path}"
    engine = create_async_engine(url, connect_args={"timeout": 30}, poolclass=NullPool)
    store = AsyncSqlAlchemyStore(async_sessionmaker(engine))
    asyncio.run(store.create_table())
    return StoreKind(store, NAMED, lambda: sqlite_names(path))


def postgres(request: pytest.FixtureRequest, **options: Any) -> StoreKind:
    tables = FreshTables(request.getfixturevalue("postgres"))
    store = SqlStore(tables.server.connect, table=tables.keys, **options)
    store.create_table()
    kind = StoreKind(store, f"INSERT INTO {tables.effects} VALUES (%s)", tables.names)
    kind.closers.append(store.close)
    return kind


def postgres_format(request: pytest.FixtureRequest) -> StoreKind:
    return postgres(request, paramstyle="format")


def async_psycopg(request: pytest.FixtureRequest) -> StoreKind:
    tables = FreshTables(request.getfixturevalue("postgres"))
    store = AsyncSqlStore(
        lambda: psycopg.AsyncConnection.connect(tables.server.conninfo), table=tables.keys, lock_seconds=30
    )
    asyncio.run(store.create_table())
    return StoreKind(store, f"INSERT INTO {tables.effects} VALUES (%s)", tables.names)


def alchemy_postgres(request: pytest.FixtureRequest) -> StoreKind:
    from sqlalchemy import create_engine

    tables = FreshTables(request.getfixturevalue("postgres"))
    engine = create_engine(tables.server.url)
    store = SqlAlchemyStore(engine.connect, table=tables.keys, lock_seconds=30)
    store.create_table()
    kind = StoreKind(store, f"INSERT INTO {tables.effects} VALUES (:name)", tables.names)
    kind.closers.append(engine.dispose)
    return kind


def async_alchemy_postgres(request: pytest.FixtureRequest) -> StoreKind:
    from sqlalchemy.ext.asyncio import create_async_engine
    from sqlalchemy.pool import NullPool

    tables = FreshTables(request.getfixturevalue("postgres"))
    engine = create_async_engine(tables.server.url, poolclass=NullPool)
    store = AsyncSqlAlchemyStore(engine.connect, table=tables.keys)
    asyncio.run(store.create_table())
    return StoreKind(store, f"INSERT INTO {tables.effects} VALUES (:name)", tables.names)


def mariadb(request: pytest.FixtureRequest, connection: Any = None, **options: Any) -> StoreKind:
    """`connection`: how it is opened."""
    tables = FreshTables(request.getfixturevalue("mariadb"))
    store = SqlStore(lambda: tables.server.connect(**(connection or {})), table=tables.keys, **options)
    store.create_table()
    kind = StoreKind(store, f"INSERT INTO {tables.effects} VALUES (%s)", tables.names)
    kind.closers.append(store.close)
    return kind


def mariadb_read_committed(request: pytest.FixtureRequest) -> StoreKind:
    command = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
    return mariadb(request, {"init_command": command})


def mariadb_mappings(request: pytest.FixtureRequest) -> StoreKind:
    return mariadb(request, {"cursorclass": pymysql.cursors.DictCursor}, paramstyle="format")


def async_mariadb(request: pytest.FixtureRequest, driver: str) -> StoreKind:
    connect = importlib.import_module(driver).connect
    server = request.getfixturevalue("mariadb")
    tables = FreshTables(server)
    options = {"unix_socket": server.socket, "user": "root", "db": "shop"}
    store = AsyncSqlStore(lambda: connect(**options), table=tables.keys, lock_seconds=30)
    asyncio.run(store.create_table())
    return StoreKind(store, f"INSERT INTO {tables.effects} VALUES (%s)", tables.names)


def alchemy_mariadb(request: pytest.FixtureRequest, driver: str, **options: Any) -> StoreKind:
    from sqlalchemy import create_engine
    from sqlalchemy.orm import sessionmaker

    server = request.getfixturevalue("mariadb")
    tables = FreshTables(server)
    engine = create_engine(server.url(driver), **options)
    store = SqlAlchemyStore(sessionmaker(engine), table=tables.keys, lock_seconds=30)
    store.create_table()
    kind = StoreKind(store, f"INSERT INTO {tables.effects} VALUES (:name)", tables.names)
    kind.closers.append(engine.dispose)
    return kind


def async_alchemy_mariadb(request: pytest.FixtureRequest, driver: str) -> StoreKind:
    from sqlalchemy.ext.asyncio import create_async_engine
    from sqlalchemy.pool import NullPool

    server = request.getfixturevalue("mariadb")
    tables = FreshTables(server)
    engine = create_async_engine(server.url(driver), poolclass=NullPool)
    store = AsyncSqlAlchemyStore(engine.connect, table=tables.keys)
    asyncio.run(store.create_table())
    return StoreKind(store, f"INSERT INTO {tables.effects} VALUES (:name)", tables.names)


def redis_store(request: pytest.FixtureRequest, **options: Any) -> StoreKind:
    client = request.getfixturevalue("redis_server").client(**options)
    kind = StoreKind(RedisStore(client, prefix=f"{uuid.uuid4().hex}:"))
    kind.closers.append(client.close)
    return kind


def redis_text(request: pytest.FixtureRequest) -> StoreKind:
    return redis_store(request, decode_responses=True)


def async_redis(request: pytest.FixtureRequest) -> StoreKind:
    server = request.getfixturevalue("redis_server")
    client = redis.asyncio.Redis(port=server.port)
    kind = StoreKind(AsyncRedisStore(client, prefix=f"{uuid.uuid4().hex}:"))
    assert kind.thread is not None
    run = kind.thread.run
    kind.closers.append(lambda: run(client.aclose()))
    return kind


def kinds() -> dict[str, Callable[[pytest.FixtureRequest], StoreKind]]:
    """How a store of each kind is made."""
    return {
        "memory": memory,
        "sqlite": sqlite,
        "sqlite, kept connections": lambda request: sqlite(request, keep_connections=True),
        "sqlite, named": sqlite_named,
        "sqlite, plain insert": sqlite_plain_insert,
        "aiosqlite": aiosqlite_store,
        "sqlalchemy sqlite": alchemy_sqlite,
        "sqlalchemy aiosqlite": async_alchemy_sqlite,
        "postgres": postgres,
        "postgres, kept connections": lambda request: postgres(request, keep_connections=True),
        "postgres, format": postgres_format,
        "postgres, lock time-out": lambda request: postgres(request, lock_seconds=30),
        "psycopg async": async_psycopg,
        "sqlalchemy postgres": alchemy_postgres,
        "sqlalchemy psycopg async": async_alchemy_postgres,
        "mariadb": mariadb,
        "mariadb, kept connections": lambda request: mariadb(request, keep_connections=True),
        "mariadb, lock time-out": lambda request: mariadb(request, lock_seconds=30),
        "mariadb, rows as mappings": mariadb_mappings,
        "mariadb, read committed": mariadb_read_committed,
        "aiomysql": lambda request: async_mariadb(request, "aiomysql"),
        "asyncmy": lambda request: async_mariadb(request, "asyncmy"),
        "sqlalchemy mariadb": lambda request: alchemy_mariadb(request, "mariadb+pymysql"),
        "sqlalchemy mysql, serializable": lambda request: alchemy_mariadb(
            request, "mysql+pymysql", isolation_level="SERIALIZABLE"
        ),
        "sqlalchemy aiomysql": lambda request: async_alchemy_mariadb(request, "mysql+aiomysql"),
        "sqlalchemy asyncmy": lambda request: async_alchemy_mariadb(request, "mariadb+asyncmy"),
        "redis": redis_store,
        "redis, text": redis_text,
        "redis async": async_redis,
    }


def message(key: str, offset: int = 0, **properties: str) -> Any:
    """A message whose unique key is `key`."""
    return received(offset, key.encode(), UNIQ_KEY=key, **properties)


def check_that_the_wait_has_an_end(once: OnceInTransaction, hasty: OnceInTransaction, words: str) -> None:
    """While `once` is at a message, `hasty` puts it off, with `words` of the database; later it is known."""
    calls: list[str] = []

    @once.handler
    def charge(message: Any, session: Any) -> None:
        with pytest.raises(StoreBusy, match=words):
            hasty.handler(lambda m, s: calls.append("called"))(message)

    charge(message("a"))
    assert calls == []
    assert hasty.counts.snapshot() == Counted(store_failures=1)
    hasty.handler(lambda m, s: calls.append("called"))(message("a"))
    assert hasty.counts.snapshot() == Counted(store_failures=1, duplicates=1)
