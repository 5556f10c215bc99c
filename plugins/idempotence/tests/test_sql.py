"""SQL stores on SQLite and PostgreSQL: kills, time-outs, isolation, aborted transactions, wrong tables."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from database_servers import FreshTables, PostgresServer
from mqframe_idempotence import (
    AsyncSqlStore,
    OnceInTransaction,
    SqlAlchemyStore,
    SqlStore,
    StatementRefused,
    StoreAway,
    StoreBusy,
    TableMissing,
    TransactionLost,
    WrongUse,
)
from mqframe_idempotence.counts import Counted
from stores_to_try import check_that_the_wait_has_an_end, message, sqlite_names


@pytest.fixture
def tables(postgres: PostgresServer) -> FreshTables:
    made = FreshTables(postgres)
    SqlStore(postgres.connect, table=made.keys).create_table()
    return made


def on_postgres(tables: FreshTables, *begin: str, **options: Any) -> Any:
    def connect() -> psycopg.Connection[Any]:
        connection = tables.server.connect()
        for statement in begin:
            connection.execute(statement)
        return connection

    return OnceInTransaction(SqlStore(connect, table=tables.keys, **options), "s")


KILLED = """
    import os, signal, sys
    import psycopg, pymysql, sqlite3
    from stores_to_try import message
    from mqframe_idempotence import OnceInTransaction, SqlStore

    kind, where, keys, effects, when = sys.argv[1:]
    connect = {
        "postgres": lambda: psycopg.connect(where),
        "mariadb": lambda: pymysql.connect(unix_socket=where, user="root", database="shop"),
        "sqlite": lambda: sqlite3.connect(where),
    }[kind]

    @OnceInTransaction(SqlStore(connect, table=keys), "s").handler
    def charge(message, session):
        session.cursor().execute(f"INSERT INTO {effects} VALUES ('one')")
        if when == "before":
            os.kill(os.getpid(), signal.SIGKILL)

    charge(message("a"))
    os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(*words: str) -> None:
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    command = [sys.executable, "-c", textwrap.dedent(KILLED), *words]
    assert subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=False).returncode == -9


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_around_the_commit_leaves_one_effect_on_postgresql(tables: FreshTables, when: str) -> None:
    killed("postgres", tables.server.conninfo, tables.keys, tables.effects, when)
    once = on_postgres(tables)
    insert = f"INSERT INTO {tables.effects} VALUES ('one')"
    once.handler(lambda m, session: session.execute(insert))(message("a"))
    assert tables.names() == ["one"]
    counted = once.counts.snapshot()
    assert (counted.effects, counted.duplicates) == ((1, 0) if when == "before" else (0, 1))


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_around_the_commit_leaves_one_effect_on_sqlite(sqlite_path: Path, when: str) -> None:
    store = SqlStore(lambda: sqlite3.connect(sqlite_path, timeout=30), table="keys")
    store.create_table()
    killed("sqlite", str(sqlite_path), "keys", "effects", when)
    once = OnceInTransaction(store, "s")
    once.handler(lambda m, session: session.execute("INSERT INTO effects VALUES ('one')"))(message("a"))
    assert sqlite_names(sqlite_path) == ["one"]


def test_several_processes_share_a_sqlite_file(sqlite_path: Path) -> None:
    SqlStore(lambda: sqlite3.connect(sqlite_path, timeout=30), table="keys").create_table()
    program = """
        import sqlite3, sys
        from stores_to_try import message
        from mqframe_idempotence import OnceInTransaction, SqlStore

        connect = lambda: sqlite3.connect(sys.argv[1], timeout=60)
        store = SqlStore(connect, table="keys", keep_connections=True)
        insert = "INSERT INTO effects VALUES (?)"
        handle = OnceInTransaction(store, "s").handler(lambda m, s: s.execute(insert, (m.message_id,)))
        for number in range(60):
            handle(message(f"k{number:02}"))
        store.close()
    """
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    command = [sys.executable, "-c", textwrap.dedent(program), str(sqlite_path)]
    running = [subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}) for _ in range(3)]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    assert sorted(sqlite_names(sqlite_path)) == [f"k{number:02}" for number in range(60)]


def test_waiting_for_the_first_delivery_has_an_end(tables: FreshTables) -> None:
    once, hasty = on_postgres(tables), on_postgres(tables, lock_seconds=0.05)
    check_that_the_wait_has_an_end(once, hasty, "lock timeout")


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_with_strict_isolation_the_second_comes_later(tables: FreshTables, level: str) -> None:
    """Its snapshot is older than the commit of the first, so that PostgreSQL has it tried again."""
    first = on_postgres(tables)
    strict = on_postgres(tables, f"SET TRANSACTION ISOLATION LEVEL {level}", "SELECT 1")
    first.handler(lambda m, s: None)(message("other"))
    begun = strict.store.open("s")
    begun.session.execute(f"SELECT * FROM {tables.keys}")
    first.handler(lambda m, s: None)(message("a"))
    with pytest.raises(StoreBusy, match="could not serialize"):
        begun.claim(["a"])
    begun.close()
    strict.handler(lambda m, s: pytest.fail("called"))(message("a"))
    assert strict.counts.snapshot() == Counted(duplicates=1)


def test_batches_with_the_same_keys_do_not_wait_for_each_other(tables: FreshTables) -> None:
    store = SqlStore(tables.server.connect, table=tables.keys, keep_connections=True)
    keys = [f"k{number:04}" for number in range(1000)]  # four statements

    def work(order: list[str]) -> int:
        attempt = store.open("s")
        new = [key for key, claim in attempt.claim(order).items() if claim.value == "new"]
        attempt.finish(new)
        attempt.close()
        return len(new)

    for _ in range(5):
        with ThreadPoolExecutor(2) as pool:
            both = [pool.submit(work, keys), pool.submit(work, keys[::-1])]
            assert sum(done.result(30) for done in both) == len(keys)
        assert store.purge(-10) == len(keys)
    store.close()


def test_an_error_that_the_listener_kept_to_itself_is_no_success(tables: FreshTables) -> None:
    """PostgreSQL answers COMMIT of a failed transaction with a rollback, and the driver says nothing."""
    once = on_postgres(tables)

    @once.handler
    def charge(message: Any, session: Any) -> None:
        session.execute(f"INSERT INTO {tables.effects} VALUES ('one')")
        with pytest.raises(psycopg.errors.UndefinedTable):
            session.execute("SELECT * FROM nowhere")

    with pytest.raises(TransactionLost, match="savepoint"):
        charge(message("a"))
    assert tables.names() == []
    assert once.counts.snapshot() == Counted(store_failures=1)


def test_a_listener_that_fails_in_postgresql_is_tried_again(tables: FreshTables) -> None:
    once = on_postgres(tables, keep_connections=True)
    statements = ["SELECT * FROM nowhere", f"INSERT INTO {tables.effects} VALUES ('one')"]
    handle = once.handler(lambda m, s: s.execute(statements.pop(0)))
    with pytest.raises(psycopg.errors.UndefinedTable):
        handle(message("a"))
    handle(message("a"))
    assert tables.names() == ["one"]
    once.store.close()


def test_a_missing_table_is_named(postgres: PostgresServer, tmp_path: Path) -> None:
    for store in (
        SqlStore(postgres.connect, table="nowhere"),
        SqlStore(lambda: sqlite3.connect(tmp_path / "empty.db"), table="nowhere"),
    ):
        with pytest.raises(TableMissing, match=r"table nowhere does not exist; call create_table\(\)"):
            OnceInTransaction(store, "s").handler(lambda m, s: None)(message("a"))


def test_a_wrong_paramstyle_is_named(
    postgres: PostgresServer, tables: FreshTables, sqlite_path: Path
) -> None:
    lite = SqlStore(lambda: sqlite3.connect(sqlite_path), paramstyle="format")
    lite.create_table()
    for store in (lite, SqlStore(postgres.connect, table=tables.keys, paramstyle="qmark")):
        with pytest.raises(StatementRefused, match=r"is paramstyle='(format|qmark)' the driver's own"):
            OnceInTransaction(store, "s").handler(lambda m, s: None)(message("a"))
    with pytest.raises(WrongUse, match="'dollar' is none of"):
        SqlStore(postgres.connect, paramstyle="dollar")


def test_autocommit_is_refused(tables: FreshTables) -> None:
    store = SqlStore(lambda: tables.server.connect(autocommit=True), table=tables.keys)
    with pytest.raises(WrongUse, match="commits by itself"):
        OnceInTransaction(store, "s").handler(lambda m, s: None)(message("a"))
    good = on_postgres(tables)
    good.handler(lambda m, s: None)(message("a"))
    assert good.counts.snapshot() == Counted(effects=1)


def test_a_server_that_is_away_is_said_so(tmp_path: Path) -> None:
    def connect() -> Any:
        return psycopg.connect(f"host={tmp_path} dbname=postgres")

    once = OnceInTransaction(SqlStore(connect), "s")
    with pytest.raises(StoreAway, match="could not be used"):
        once.handler(lambda m, s: pytest.fail("called"))(message("a"))
    assert once.counts.snapshot() == Counted(store_failures=1)


def test_a_kept_connection_that_broke_is_replaced(tables: FreshTables) -> None:
    once = on_postgres(tables, keep_connections=True)
    pids: list[int] = []
    handle = once.handler(lambda m, s: pids.append(s.info.backend_pid))
    handle(message("a"))
    handle(message("b"))
    with tables.server.connect() as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (pids[0],))
    handle(message("c"))
    assert pids[0] == pids[1] != pids[2]
    once.store.close()


def test_pools_hand_out_context_managers(tables: FreshTables) -> None:
    log: list[str] = []
    connection = tables.server.connect()

    @contextmanager
    def pooled() -> Any:
        log.append("taken")
        yield connection
        connection.commit()  # as psycopg's pool does
        log.append("back")

    once = OnceInTransaction(SqlStore(pooled, table=tables.keys), "s")

    @once.handler
    def charge(message: Any, session: Any) -> None:
        session.execute(f"INSERT INTO {tables.effects} VALUES ('one')")
        if len(log) == 1:
            raise ValueError("first")

    with pytest.raises(ValueError, match="first"):
        charge(message("a"))
    assert tables.names() == []
    charge(message("a"))
    assert (tables.names(), log) == (["one"], ["taken", "back", "taken", "back"])
    connection.close()


async def test_asynchronous_pools_do_so_too(tables: FreshTables) -> None:
    from contextlib import asynccontextmanager

    connection = await psycopg.AsyncConnection.connect(tables.server.conninfo)

    @asynccontextmanager
    async def pooled() -> Any:
        yield connection

    once = OnceInTransaction(AsyncSqlStore(pooled, table=tables.keys), "s")

    async def charge(message: Any, session: Any) -> None:
        await session.execute(f"INSERT INTO {tables.effects} VALUES ('one')")

    for _ in range(2):
        await once.handler(charge)(message("a"))
    await connection.close()
    assert once.counts.snapshot() == Counted(effects=1, duplicates=1)
    assert tables.names() == ["one"]


def test_old_keys_are_purged_and_young_ones_kept(sqlite_path: Path) -> None:
    now = [1_000_000_000_000]
    store = SqlStore(lambda: sqlite3.connect(sqlite_path), now_ms=lambda: now[0])
    store.create_table()
    store.create_table()
    handle = OnceInTransaction(store, "s").handler(lambda m, s: None)
    handle(message("old"))
    now[0] += 8 * 86_400_000
    handle(message("young"))
    assert store.purge() == 1
    assert sqlite_keys(sqlite_path) == ["young"]


def sqlite_keys(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    try:
        return [row[0] for row in connection.execute("SELECT message_key FROM mqframe_idempotence")]
    finally:
        connection.close()


def test_orm_objects_are_part_of_the_transaction(sqlite_path: Path) -> None:
    from sqlalchemy import Column, Integer, String, create_engine
    from sqlalchemy.orm import Session, declarative_base, sessionmaker

    base = declarative_base()

    class Payment(base):  # type: ignore[misc,valid-type]
        __tablename__ = "payments"
        id = Column(Integer, primary_key=True)
        name = Column(String)

    engine = create_engine(f"sqlite:///{sqlite_path}")
    base.metadata.create_all(engine)
    store = SqlAlchemyStore(sessionmaker(engine))
    store.create_table()
    handle = OnceInTransaction[Session](store, "s").handler(lambda m, s: s.add(Payment(name=m.message_id)))
    for name in ("a", "a", "b"):
        handle(message(name))
    with Session(engine) as session:
        assert [payment.name for payment in session.query(Payment).order_by(Payment.id)] == ["a", "b"]
    engine.dispose()


def test_a_waiting_time_is_positive() -> None:
    with pytest.raises(WrongUse, match="lock_seconds=0"):
        SqlStore(lambda: None, lock_seconds=0)
