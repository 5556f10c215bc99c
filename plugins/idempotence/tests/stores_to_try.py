"""Servers and stores for the tests."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import sqlite3
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
import redis.asyncio
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
)
from mqframe_testing.consuming import received

START_SECONDS = 60.0


def until(true: Callable[[], object], seconds: float = START_SECONDS) -> None:
    """Wait until `true()`; fails when that does not come."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def postgres_folder() -> Path | None:
    """Where the programs of PostgreSQL are, of the newest version where several are installed."""
    found = shutil.which("initdb")
    if found:
        return Path(found).parent
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parts[-3]))
    return places[-1].parent if places else None


class PostgresServer:
    """PostgreSQL in `folder`, which refuses to run as root."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs = programs
        self._folder = folder
        self._user: Any = None
        if os.geteuid() == 0:
            names = {user.pw_name: user for user in pwd.getpwall()}
            self._user = names.get("postgres") or names["nobody"]
            os.chown(folder, self._user.pw_uid, self._user.pw_gid)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def conninfo(self) -> str:
        return f"host={self._folder} user=tester dbname=postgres"

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://tester@/postgres?host={self._folder}"

    def start(self, *, fsync: bool = False) -> None:
        data = self._folder / "data"
        self._run("initdb", "-D", str(data), "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
        words = ["-D", str(data), "-k", str(self._folder), "-c", "listen_addresses="]
        words += [
            "-c",
            f"fsync={'on' if fsync else 'off'}",
            "-c",
            "max_connections=60",
            "-c",
            "shared_buffers=32MB",
        ]
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [str(self._programs / "postgres"), *words], stdout=log, stderr=log, **self._as_user()
            )
        until(self._answers)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(2)  # "fast": sessions that are open are ended
            self._process.wait(60)

    def connect(self, **options: Any) -> psycopg.Connection[Any]:
        return psycopg.connect(self.conninfo, **options)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._folder / "log").read_text()
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def _run(self, program: str, *words: str) -> None:
        command = [str(self._programs / program), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, **self._as_user())
        assert done.returncode == 0, done.stderr

    def _as_user(self) -> dict[str, Any]:
        where = {"cwd": str(self._folder)}
        if self._user is None:
            return where
        return {**where, "user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}


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
                session.execute(*self.statement(name))

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
                        await session.execute(*self.statement(name))

        handler = once.handler(handle)
        assert self.thread is not None
        return lambda message: self.thread.run(handler(message))  # type: ignore[union-attr]

    def close(self) -> None:
        for closer in self.closers:
            closer()
        if self.thread is not None:
            self.thread.close()


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


class PostgresTables:
    """Fresh tables for one test."""

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self.keys = f"keys_{uuid.uuid4().hex[:12]}"
        self.effects = f"effects_{uuid.uuid4().hex[:12]}"
        with server.connect() as connection:
            connection.execute(f"CREATE TABLE {self.effects} (name VARCHAR(100))")

    def names(self) -> list[str]:
        with self.server.connect() as connection:
            return [row[0] for row in connection.execute(f"SELECT name FROM {self.effects}").fetchall()]


def postgres(request: pytest.FixtureRequest, **options: Any) -> StoreKind:
    tables = PostgresTables(request.getfixturevalue("postgres"))
    store = SqlStore(tables.server.connect, table=tables.keys, **options)
    store.create_table()
    kind = StoreKind(store, f"INSERT INTO {tables.effects} VALUES (%s)", tables.names)
    kind.closers.append(store.close)
    return kind


def postgres_format(request: pytest.FixtureRequest) -> StoreKind:
    return postgres(request, paramstyle="format")


def async_psycopg(request: pytest.FixtureRequest) -> StoreKind:
    tables = PostgresTables(request.getfixturevalue("postgres"))
    store = AsyncSqlStore(
        lambda: psycopg.AsyncConnection.connect(tables.server.conninfo), table=tables.keys, lock_seconds=30
    )
    asyncio.run(store.create_table())
    return StoreKind(store, f"INSERT INTO {tables.effects} VALUES (%s)", tables.names)


def alchemy_postgres(request: pytest.FixtureRequest) -> StoreKind:
    from sqlalchemy import create_engine

    tables = PostgresTables(request.getfixturevalue("postgres"))
    engine = create_engine(tables.server.url)
    store = SqlAlchemyStore(engine.connect, table=tables.keys, lock_seconds=30)
    store.create_table()
    kind = StoreKind(store, f"INSERT INTO {tables.effects} VALUES (:name)", tables.names)
    kind.closers.append(engine.dispose)
    return kind


def async_alchemy_postgres(request: pytest.FixtureRequest) -> StoreKind:
    from sqlalchemy.ext.asyncio import create_async_engine
    from sqlalchemy.pool import NullPool

    tables = PostgresTables(request.getfixturevalue("postgres"))
    engine = create_async_engine(tables.server.url, poolclass=NullPool)
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
        "redis": redis_store,
        "redis, text": redis_text,
        "redis async": async_redis,
    }


def message(key: str, offset: int = 0, **properties: str) -> Any:
    """A message whose unique key is `key`."""
    return received(offset, key.encode(), UNIQ_KEY=key, **properties)
