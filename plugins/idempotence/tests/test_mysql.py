"""SQL stores on MariaDB: what is not as on PostgreSQL and SQLite, whose tests are in `test_sql.py`."""

from __future__ import annotations

import importlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pymysql
import pytest
from database_servers import FreshTables, MariaServer
from mqframe_idempotence import (
    AsyncSqlStore,
    Claim,
    OnceInTransaction,
    SqlAlchemyStore,
    SqlStore,
    StatementRefused,
    StoreAway,
    StoreBusy,
    TableMissing,
    TransactionLost,
    WrongUse,
    ddl,
)
from mqframe_idempotence.counts import Counted
from real_time import until
from stores_to_try import check_that_the_wait_has_an_end, message
from test_sql import killed

LEVELS = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]


@pytest.fixture
def tables(mariadb: MariaServer) -> FreshTables:
    made = FreshTables(mariadb)
    SqlStore(mariadb.connect, table=made.keys).create_table()
    return made


def on_mariadb(tables: FreshTables, level: str = "", connection: Any = None, **options: Any) -> Any:
    wanted = dict(connection or {})
    if level:
        wanted["init_command"] = f"SET SESSION TRANSACTION ISOLATION LEVEL {level}"
    store = SqlStore(lambda: tables.server.connect(**wanted), table=tables.keys, **options)
    return OnceInTransaction(store, "s")


def carried_out(session: Any, text: str) -> Any:
    with session.cursor() as cursor:
        cursor.execute(text)
        return cursor.fetchall()


def insert(tables: FreshTables) -> Any:
    """A listener with one effect."""
    return lambda m, session: carried_out(session, f"INSERT INTO {tables.effects} VALUES ('one')")


def waiting(tables: FreshTables) -> int:
    """How many transactions wait for a lock."""
    text = "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"
    return int(tables.run(text)[0][0])


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_around_the_commit_leaves_one_effect(tables: FreshTables, when: str) -> None:
    killed("mariadb", tables.server.socket, tables.keys, tables.effects, when)
    once = on_mariadb(tables)
    once.handler(insert(tables))(message("a"))
    assert tables.names() == ["one"]
    counted = once.counts.snapshot()
    assert (counted.effects, counted.duplicates) == ((1, 0) if when == "before" else (0, 1))


def test_waiting_for_the_first_delivery_has_an_end(tables: FreshTables) -> None:
    once, hasty = on_mariadb(tables), on_mariadb(tables, lock_seconds=0.05)  # a second, the least there is
    check_that_the_wait_has_an_end(once, hasty, "Lock wait timeout")


@pytest.mark.parametrize("level", LEVELS)
def test_a_snapshot_from_before_the_commit_of_the_first_does_no_harm(tables: FreshTables, level: str) -> None:
    first, second = on_mariadb(tables), on_mariadb(tables, level, lock_seconds=60)
    begun = second.store.open("s")
    carried_out(begun.session, f"SELECT * FROM {FreshTables(tables.server).effects}")  # of the whole database
    first.handler(insert(tables))(message("a"))
    assert begun.claim(["a", "b"]) == {"a": Claim.DONE, "b": Claim.NEW}
    # The listener sees what the first delivery did.
    assert carried_out(begun.session, f"SELECT * FROM {tables.effects}") == (("one",),)
    begun.finish(["b"])
    begun.close()
    second.handler(lambda m, s: pytest.fail("called"))(message("b"))


@pytest.mark.parametrize("level", LEVELS[:2])  # the third locks whatever it reads
def test_a_batch_with_known_keys_keeps_no_others_out(tables: FreshTables, level: str) -> None:
    """Locks that MySQL leaves on gaps where it refused would keep out what belongs there."""
    once = on_mariadb(tables, level, lock_seconds=1)
    for key in ("d", "h", "m"):
        once.handler(lambda m, s: None)(message(key))
    first, second = once.store.open("s"), once.store.open("s")
    claims = first.claim(["d", "f", "h", "m", "z"])
    assert [key for key, claim in claims.items() if claim is Claim.NEW] == ["f", "z"]
    assert set(second.claim(["c", "e", "g", "h", "i", "l", "n", "y"]).values()) == {Claim.NEW, Claim.DONE}
    second.finish(["c", "e", "g", "i", "l", "n", "y"])
    first.finish(["f"])
    first.close()
    second.close()
    rows = tables.run(f"SELECT message_key FROM {tables.keys} ORDER BY message_key")
    assert "".join(row[0] for row in rows) == "cdefghilmny"


@pytest.mark.parametrize("level", LEVELS)
def test_batches_with_the_same_keys_do_not_wait_for_each_other(tables: FreshTables, level: str) -> None:
    store = on_mariadb(tables, level, keep_connections=True).store
    keys = [f"k{number:04}" for number in range(1000)]  # four statements

    def work(order: list[str]) -> int:
        attempt = store.open("s")
        new = [key for key, claim in attempt.claim(order).items() if claim is Claim.NEW]
        attempt.finish(new)
        attempt.close()
        return len(new)

    with ThreadPoolExecutor(2) as pool:
        for _ in range(5):
            both = [pool.submit(work, keys), pool.submit(work, keys[::-1])]
            assert sum(done.result(60) for done in both) == len(keys)
            assert store.purge(-10) == len(keys)
    store.close()


def test_of_two_that_wait_for_one_that_fails_one_has_the_effect(tables: FreshTables) -> None:
    """Both have asked for the lock; InnoDB may find that they wait for each other then, and put one off."""
    once = on_mariadb(tables)
    handle = once.handler(insert(tables))

    def patient() -> None:
        try:
            handle(message("a"))
        except StoreBusy:
            handle(message("a"))

    with ThreadPoolExecutor(2) as pool:

        @once.handler
        def fails(m: Any, session: Any) -> None:
            others.extend(pool.submit(patient) for _ in range(2))
            until(lambda: waiting(tables) == 2)
            raise ZeroDivisionError

        others: list[Any] = []
        with pytest.raises(ZeroDivisionError):
            fails(message("a"))
        for other in others:
            other.result(60)
    assert tables.names() == ["one"]
    counted = once.counts.snapshot()
    assert (counted.effects, counted.duplicates, counted.failed) == (1, 1, 1)


def test_a_deadlock_that_the_listener_kept_to_itself_is_no_success(tables: FreshTables) -> None:
    """The database took the whole transaction back, the key as well."""
    for name in ("first", "second"):
        tables.run(f"INSERT INTO {tables.effects} VALUES ('{name}')")
    tables.run(f"ALTER TABLE {tables.effects} ADD PRIMARY KEY (name)")
    other = tables.server.connect()
    more = ", ".join(
        f"('more {number}')" for number in range(50)
    )  # of two, that with fewer changes gives way
    carried_out(other, f"INSERT INTO {tables.effects} VALUES {more}")
    lock = f"UPDATE {tables.effects} SET name = CONCAT(name, '!') WHERE name = "
    carried_out(other, f"{lock} 'second'")
    once = on_mariadb(tables)
    with ThreadPoolExecutor(1) as pool:

        @once.handler
        def charge(message: Any, session: Any) -> None:
            carried_out(session, f"{lock} 'first'")
            blocked.append(pool.submit(carried_out, other, f"{lock} 'first'"))
            with pytest.raises(pymysql.OperationalError, match="Deadlock"):
                carried_out(session, f"{lock} 'second'")
            blocked[0].result(60)
            other.rollback()

        blocked: list[Any] = []
        with pytest.raises(TransactionLost, match="with which the database did"):
            charge(message("a"))
    other.close()
    assert tables.names() == ["first", "second"]
    once.handler(lambda m, session: carried_out(session, f"{lock} 'first'"))(message("a"))
    assert tables.names() == ["first!", "second"]
    assert once.counts.snapshot() == Counted(effects=1, store_failures=1)


def test_a_statement_that_failed_alone_does_not_fail_the_transaction(tables: FreshTables) -> None:
    once = on_mariadb(tables)

    @once.handler
    def charge(message: Any, session: Any) -> None:
        with pytest.raises(pymysql.ProgrammingError):
            carried_out(session, "SELECT * FROM nowhere")
        insert(tables)(message, session)

    charge(message("a"))
    assert tables.names() == ["one"]


def test_a_table_that_takes_one_key_for_another_is_refused(tables: FreshTables) -> None:
    tables.run(f"DROP TABLE {tables.keys}")
    tables.run(ddl(tables.keys, "postgresql")[0])
    once = on_mariadb(tables)
    handle = once.handler(insert(tables))
    handle(message("Order"))
    handle(message("Order"))
    for key in ("order", "ORDER"):
        with pytest.raises(WrongUse, match=r"takes key 'Order' for another; .* utf8mb4_bin, as `mqframe"):
            handle(message(key))
    attempt = once.store.open("s")
    with pytest.raises(StoreBusy, match="utf8mb4_bin"):
        attempt.claim(["new", "New"])
    attempt.close()
    assert once.counts.snapshot() == Counted(effects=1, duplicates=1, store_failures=2)


def test_columns_of_bytes_hold_keys_too(tables: FreshTables) -> None:
    tables.run(f"ALTER TABLE {tables.keys} MODIFY message_key VARBINARY(800) NOT NULL")
    once = on_mariadb(tables)
    for key in ("ключ", "Ключ", "ключ"):
        once.handler(insert(tables))(message(key))
    assert once.counts.snapshot() == Counted(effects=2, duplicates=1)


@pytest.mark.parametrize("one", ["🔑" * 200, "e\u0301" * 100, "é" * 200, "ß" * 200, "ſ", "\u00c5"])
def test_long_keys_and_those_that_look_alike_are_told_apart(tables: FreshTables, one: str) -> None:
    others = {one[:-1] + "x", one.upper(), one.lower(), one.casefold(), one.replace("🔑", "🗝")} - {one}
    once = on_mariadb(tables)
    for key in [one, *sorted(others), one]:
        once.handler(insert(tables))(message(key))
    assert once.counts.snapshot() == Counted(effects=1 + len(others), duplicates=1)


def test_the_same_time_is_kept_whatever_the_zone_of_the_session(tables: FreshTables) -> None:
    now = 1_700_000_000_123
    for zone in ("+00:00", "-11:30"):
        options = {"init_command": f"SET time_zone = '{zone}'"}
        on_mariadb(tables, "", options, now_ms=lambda: now).handler(lambda m, s: None)(message(zone))
    assert tables.run(f"SELECT DISTINCT done_ms FROM {tables.keys}") == [(now,)]


def test_the_table_is_made_for_bytes_and_transactions(tables: FreshTables) -> None:
    SqlStore(tables.server.connect, table=tables.keys).create_table()
    text = "SELECT engine, table_collation, row_format FROM information_schema.tables WHERE table_name = "
    assert tables.run(f"{text} '{tables.keys}'") == [("InnoDB", "utf8mb4_bin", "Dynamic")]
    assert tables.run("SELECT @@character_set_server") == [("latin1",)]


def test_an_engine_without_transactions_is_refused(tables: FreshTables) -> None:
    tables.run(f"ALTER TABLE {tables.keys} ENGINE=Aria TRANSACTIONAL=0")
    with pytest.raises(WrongUse, match=r"commits by itself.*InnoDB"):
        on_mariadb(tables).handler(lambda m, s: pytest.fail("called"))(message("a"))
    assert tables.run(f"SELECT * FROM {tables.keys}") == []


def test_autocommit_is_refused(tables: FreshTables) -> None:
    once = on_mariadb(tables, "", {"autocommit": True})
    with pytest.raises(WrongUse, match="commits by itself"):
        once.handler(lambda m, s: pytest.fail("called"))(message("a"))
    attempt = once.store.open("s")
    on_mariadb(tables).handler(lambda m, s: None)(message("k0999"))
    with pytest.raises(WrongUse, match="commits by itself"):
        attempt.claim([f"k{number:04}" for number in range(1000)])
    attempt.close()
    assert tables.run(f"SELECT message_key FROM {tables.keys}") == [("k0999",)]


def test_a_missing_table_and_a_wrong_paramstyle_are_named(tables: FreshTables) -> None:
    connect = tables.server.connect
    for store, kind, text in (
        (SqlStore(connect, table="nowhere"), TableMissing, "--table nowhere --dialect mysql` prints"),
        (SqlStore(connect, table=tables.keys, paramstyle="qmark"), StatementRefused, "paramstyle='qmark'"),
        (SqlStore(connect, table=tables.keys, dialect="sqlite"), StatementRefused, "say dialect='mysql'"),
    ):
        with pytest.raises(kind, match=text):
            OnceInTransaction(store, "s").handler(lambda m, s: None)(message("a"))
    with pytest.raises(WrongUse, match="'oracle' is none of mysql, postgresql, sqlite"):
        SqlStore(connect, dialect="oracle")


class Wrapped:
    """A connection as pools wrap it, whose class tells nothing."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def test_where_something_wraps_the_connections_the_dialect_is_said(tables: FreshTables) -> None:
    store = SqlStore(lambda: Wrapped(tables.server.connect()), table=tables.keys, dialect="mariadb")
    store.create_table()
    once = OnceInTransaction[Any](store, "s")
    for _ in range(2):
        once.handler(insert(tables))(message("a"))
    assert (tables.names(), once.counts.snapshot()) == (["one"], Counted(effects=1, duplicates=1))


def test_a_server_that_is_away_is_said_so(tables: FreshTables) -> None:
    once = on_mariadb(tables, "", {"unix_socket": None, "host": "127.0.0.1", "port": 1})
    with pytest.raises(StoreAway, match=r"could not be used.*2003"):
        once.handler(lambda m, s: pytest.fail("called"))(message("a"))
    assert once.counts.snapshot() == Counted(store_failures=1)


def test_a_kept_connection_that_broke_is_replaced(tables: FreshTables) -> None:
    once = on_mariadb(tables, keep_connections=True)
    threads: list[int] = []
    handle = once.handler(lambda m, session: threads.append(session.thread_id()))
    handle(message("a"))
    handle(message("b"))
    tables.run(f"KILL {threads[0]}")
    handle(message("c"))
    assert threads[0] == threads[1] != threads[2]
    tables.run(f"KILL {threads[2]}")
    assert once.store.purge(-10) == 3
    once.store.close()


def test_a_purge_that_loses_its_connection_says_so(tables: FreshTables) -> None:
    def lost() -> Any:
        connection = tables.server.connect()
        tables.run(f"KILL {connection.thread_id()}")
        return connection

    with pytest.raises(StoreAway, match="could not be used"):
        SqlStore(lost, table=tables.keys).purge()


def test_a_connection_that_is_lost_under_the_listener_leaves_nothing(tables: FreshTables) -> None:
    once = on_mariadb(tables)

    @once.handler
    def charge(message: Any, session: Any) -> None:
        insert(tables)(message, session)
        tables.run(f"KILL {session.thread_id()}")

    with pytest.raises(StoreAway):
        charge(message("a"))
    with pytest.raises(StoreAway):
        charge(message("a"))
    once.handler(insert(tables))(message("a"))
    assert tables.names() == ["one"]
    assert once.counts.snapshot() == Counted(effects=1, store_failures=2)


def test_old_keys_are_purged_by_and_by(tables: FreshTables) -> None:
    now = [1_000_000_000_000]
    store = SqlStore(tables.server.connect, table=tables.keys, now_ms=lambda: now[0])
    attempt = store.open("s")
    keys = [f"k{number:04}" for number in range(2500)]
    attempt.claim(keys)
    attempt.finish(keys)
    attempt.close()
    now[0] += 8 * 86_400_000
    OnceInTransaction[Any](store, "s").handler(lambda m, s: None)(message("young"))
    assert store.purge() == 2500
    assert store.purge() == 0
    assert tables.run(f"SELECT message_key FROM {tables.keys}") == [("young",)]


@pytest.mark.parametrize("driver", ["aiomysql", "asyncmy"])
async def test_asynchronous_pools_get_their_connections_back(tables: FreshTables, driver: str) -> None:
    server: Any = tables.server
    create_pool = importlib.import_module(driver).create_pool
    pool = await create_pool(unix_socket=server.socket, user="root", db="shop", minsize=1, maxsize=1)
    store = AsyncSqlStore(pool.acquire, table=tables.keys)
    await store.create_table()
    once = OnceInTransaction[Any](store, "s")

    @once.handler
    async def charge(message: Any, session: Any) -> None:
        async with session.cursor() as cursor:
            await cursor.execute(f"INSERT INTO {tables.effects} VALUES (%s)", (message.message_id,))
        if message.queue_offset:
            raise ValueError("failed")

    for key in ("a", "a", "b"):
        await charge(message(key))
    with pytest.raises(ValueError, match="failed"):
        await charge(message("c", 1))
    await charge(message("c"))
    assert pool.freesize == pool.size <= 1
    pool.close()
    await pool.wait_closed()
    assert tables.names() == ["a", "b", "c"]
    assert once.counts.snapshot() == Counted(effects=3, duplicates=1, failed=1)


def test_orm_objects_are_part_of_the_transaction(tables: FreshTables) -> None:
    from sqlalchemy import Column, Integer, String, create_engine
    from sqlalchemy.orm import Session, declarative_base, sessionmaker

    base = declarative_base()

    class Payment(base):  # type: ignore[misc,valid-type]
        __tablename__ = f"payments_{tables.keys}"
        id = Column(Integer, primary_key=True)
        name = Column(String(100))

    server: Any = tables.server
    engine = create_engine(server.url("mysql+pymysql"))
    base.metadata.create_all(engine)
    store = SqlAlchemyStore(sessionmaker(engine), table=tables.keys)
    handle = OnceInTransaction[Session](store, "s").handler(lambda m, s: s.add(Payment(name=m.message_id)))
    for name in ("a", "a", "b"):
        handle(message(name))
    with Session(engine) as session:
        assert [payment.name for payment in session.query(Payment).order_by(Payment.id)] == ["a", "b"]
    engine.dispose()
