"""A row in the application's database decides, whatever happens to processes in between."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mqframe_testing.cluster import Cluster
from mqframe_transactions.client.blocking_producer import TransactionProducer
from mqframe_transactions.client.listener import HalfMessage
from mqframe_transactions.client.record import TABLE, DatabaseOutcome
from mqframe_transactions.settings import TransactionSettings
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from mqframe.core.errors import FixError
from mqframe.core.messages.message import Message, ReceivedMessage
from mqframe.core.sending.transaction_outcome import TransactionOutcome
from mqframe.core.storage.record import decode_records

COMMIT, ROLLBACK, UNKNOWN = TransactionOutcome.COMMIT, TransactionOutcome.ROLLBACK, TransactionOutcome.UNKNOWN
HOST = bytes((127, 0, 0, 1, 0, 0, 0, 1))


class Shop:
    """A database with one table of orders; `now_ms` is what its checks take for the time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.now_ms = 1_000_000
        self.outcome = DatabaseOutcome(self.connect, self.pay, now_ms=lambda: self.now_ms)
        self.outcome.create_table()
        with closing(self.connect()) as connection:
            connection.execute("CREATE TABLE orders (name TEXT PRIMARY KEY)")
            connection.commit()

    def connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=0.1)

    def pay(self, connection: sqlite3.Connection, message: HalfMessage, order: str) -> None:
        connection.execute("INSERT INTO orders VALUES (?)", (order,))

    def rows(self, query: str) -> list[Any]:
        with closing(self.connect()) as connection:
            return connection.execute(query).fetchall()

    @property
    def orders(self) -> list[str]:
        return [name for (name,) in self.rows("SELECT name FROM orders ORDER BY name")]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "shop.db")


def test_a_session_of_sqlalchemy_commits_the_row_with_its_own_work(shop: Shop) -> None:
    engine = create_engine(f"sqlite:///{shop.path}")
    with Session(engine) as session:
        session.execute(text("INSERT INTO orders VALUES ('o-1')"))
        shop.outcome.record(session, half("t-1"))
        session.commit()
        session.execute(text("INSERT INTO orders VALUES ('o-2')"))
        shop.outcome.record(session, half("t-2"))
        session.rollback()
    with engine.connect() as connection:
        shop.outcome.record(connection, half("t-3"))
        connection.commit()
    engine.dispose()
    assert shop.orders == ["o-1"]
    assert [name for (name,) in shop.rows(f"SELECT transaction_id FROM {TABLE}")] == ["t-1", "t-3"]


async def test_an_asynchronous_session_does_so_by_run_sync_and_is_refused_else(shop: Shop) -> None:
    engine = create_async_engine(f"sqlite+aiosqlite:///{shop.path}")
    async with AsyncSession(engine) as session:
        with pytest.raises(FixError, match=r"write `await session.run_sync\(outcome.record"):
            shop.outcome.record(session, half("t-1"))
        await session.execute(text("INSERT INTO orders VALUES ('o-1')"))
        await session.run_sync(shop.outcome.record, half("t-1"))
        await session.commit()
    await engine.dispose()
    assert shop.orders == ["o-1"]
    assert shop.rows(f"SELECT transaction_id, outcome FROM {TABLE}") == [("t-1", "commit")]


def test_what_is_no_connection_is_refused_before_anything_is_in_doubt(shop: Shop) -> None:
    with pytest.raises(FixError, match=r"a str is neither a connection with a cursor\(\) nor a session"):
        shop.outcome.record("shop.db", half("t-1"))


def half(name: str) -> HalfMessage:
    return HalfMessage("orders", b"x", transaction_id=name)


def asked(name: str, born_ms: int = 1_000_000) -> ReceivedMessage:
    text = f"UNIQ_KEY\x01{name}\x02".encode()
    return ReceivedMessage("orders", 0, 0, 0, 0, born_ms, 0, HOST, HOST, 0, 0, 0, 0, 0, b"x", text)


class TestRows:
    def test_business_and_row_are_committed_together(self, shop: Shop) -> None:
        assert shop.outcome.execute_local_transaction(half("T1"), "o1") is COMMIT
        assert shop.orders == ["o1"]
        assert shop.outcome.check_local_transaction(asked("T1")) is COMMIT
        with pytest.raises(sqlite3.IntegrityError):
            shop.outcome.execute_local_transaction(half("T2"), "o1")
        assert shop.rows("SELECT transaction_id, outcome FROM mqframe_transactions") == [("T1", "commit")]

    def test_no_row_is_unknown_until_the_limit_and_barred_after(self, shop: Shop) -> None:
        shop.now_ms += 60_000
        assert shop.outcome.check_local_transaction(asked("T1")) is UNKNOWN
        shop.now_ms += 1
        assert shop.outcome.check_local_transaction(asked("T1")) is ROLLBACK
        assert shop.outcome.check_local_transaction(asked("T1", shop.now_ms)) is ROLLBACK, "it is barred"
        with pytest.raises(sqlite3.IntegrityError):
            shop.outcome.execute_local_transaction(half("T1"), "o1")
        assert shop.orders == []

    def test_a_slow_transaction_that_commits_first_wins(self, shop: Shop) -> None:
        shop.now_ms += 100_000
        with closing(shop.connect()) as slow:
            shop.pay(slow, half("T1"), "o1")
            shop.outcome.record(slow, half("T1"))
            # The row is written, but not yet to be seen, and its key is locked.
            assert shop.outcome.check_local_transaction(asked("T1")) is UNKNOWN
            slow.commit()
        assert shop.outcome.check_local_transaction(asked("T1")) is COMMIT

    def test_a_row_that_comes_between_look_and_bar_counts(self, shop: Shop) -> None:
        shop.now_ms += 100_000
        first = [True]

        class Racing(sqlite3.Cursor):
            def fetchone(self) -> Any:
                row = super().fetchone()
                if first.pop() if first else False:
                    shop.outcome.execute_local_transaction(half("T1"), "o1")
                return row

        class Connection(sqlite3.Connection):
            def cursor(self, *arguments: Any) -> Any:
                return super().cursor(Racing)

        racing = DatabaseOutcome(
            lambda: sqlite3.connect(shop.path, factory=Connection), now_ms=lambda: shop.now_ms
        )
        assert racing.check_local_transaction(asked("T1")) is COMMIT
        assert shop.orders == ["o1"]

    def test_old_rows_are_forgotten(self, shop: Shop) -> None:
        shop.outcome.execute_local_transaction(half("T1"), "o1")
        shop.now_ms += 72 * 3_600_000
        shop.outcome.execute_local_transaction(half("T2"), "o2")
        assert shop.outcome.forget(3600) == 1
        assert shop.rows("SELECT transaction_id FROM mqframe_transactions") == [("T2",)]

    @pytest.mark.parametrize(
        ("style", "statement"),
        [
            ("qmark", "VALUES (?, ?, ?)"),
            ("format", "VALUES (%s, %s, %s)"),
            ("pyformat", "VALUES (%s, %s, %s)"),
            ("numeric", "VALUES (:1, :2, :3)"),
        ],
    )
    def test_statements_are_in_the_drivers_style(self, style: str, statement: str) -> None:
        said: list[str] = []

        class Spy:
            rowcount = 0

            def execute(self, text: str, parameters: Any = ()) -> None:
                said.append(text)

            def fetchone(self) -> None:
                return None

            def close(self) -> None:
                return None

        class Spied:
            def cursor(self) -> Spy:
                return Spy()

            def commit(self) -> None:
                return None

            rollback = close = commit

        DatabaseOutcome(Spied, paramstyle=style, table="app.ends").record(Spied(), half("T"))
        assert said == [f"INSERT INTO app.ends (transaction_id, outcome, written_ms) {statement}"]

    def test_bad_arguments(self, shop: Shop) -> None:
        with pytest.raises(FixError, match="table"):
            DatabaseOutcome(shop.connect, table="t; DROP TABLE orders")
        with pytest.raises(FixError, match="paramstyle"):
            DatabaseOutcome(shop.connect, paramstyle="named")
        with pytest.raises(FixError, match="business function"):
            DatabaseOutcome(shop.connect).execute_local_transaction(half("T"), None)


class AsyncTalk(DatabaseOutcome):
    """A listener that blocking producers cannot call."""

    async def check_local_transaction(self, message: ReceivedMessage) -> TransactionOutcome:  # type: ignore[override]
        return COMMIT


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    quick = TransactionSettings(timeout_ms=200, check_interval_ms=100)
    with Cluster(sections=[quick]) as running:
        running.create_topic("orders", 1)
        yield running


@pytest.fixture
def delivered(cluster: Cluster) -> Any:
    """Waits until so many messages more are in the topic; gives their bodies."""
    before = len(bodies(cluster))

    def wait(count: int) -> list[bytes]:
        for _ in range(12_000):
            if len(bodies(cluster)) >= before + count:
                break
            threading.Event().wait(0.01)
        return bodies(cluster)[before:]

    return wait


def bodies(cluster: Cluster) -> list[bytes]:
    async def read() -> list[bytes]:
        found = cluster.broker.store.reads.get("orders", 0, 0, 1000)
        return [message.body for part in found.parts for message in decode_records(part)]

    return cluster.run(read())


class TestBlockingProducer:
    def test_the_listener_does_the_business(self, cluster: Cluster, shop: Shop, delivered: Any) -> None:
        with TransactionProducer("shop1", shop.outcome, nameserver=cluster.nameserver) as producer:
            result = producer.send_in_transaction(Message("orders", b"o1"), "o1")
            assert (result.outcome, result.error) == (COMMIT, None)
            failed = producer.send_in_transaction(Message("orders", b"double"), "o1")
            assert (failed.outcome, type(failed.error)) == (UNKNOWN, sqlite3.IntegrityError)
            assert delivered(1) == [b"o1"]
        assert shop.orders == ["o1"]
        names = shop.rows("SELECT transaction_id FROM mqframe_transactions WHERE outcome = 'commit'")
        assert names == [(result.transaction_id,)]

    def test_a_block_with_a_row(self, cluster: Cluster, shop: Shop, delivered: Any) -> None:
        with TransactionProducer("shop2", shop.outcome, nameserver=cluster.nameserver) as producer:
            with closing(shop.connect()) as database:
                with producer.transaction(Message("orders", b"o1")) as transaction, database:
                    database.execute("INSERT INTO orders VALUES ('o1')")
                    shop.outcome.record(database, transaction)
                with (
                    pytest.raises(sqlite3.IntegrityError),
                    producer.transaction(Message("orders", b"never")) as transaction,
                    database,
                ):
                    database.execute("INSERT INTO orders VALUES ('o1')")
            assert delivered(1) == [b"o1"]
        assert shop.orders == ["o1"]

    def test_a_commit_whose_answer_got_lost_is_found_by_the_check(
        self, cluster: Cluster, shop: Shop, delivered: Any
    ) -> None:
        with TransactionProducer("shop3", shop.outcome, nameserver=cluster.nameserver) as producer:
            database = shop.connect()
            with (  # noqa: PT012 - the block is what is tested
                closing(database),
                pytest.raises(ConnectionResetError),
                producer.transaction(Message("orders", b"o1")) as transaction,
            ):
                shop.pay(database, transaction.message, "o1")
                shop.outcome.record(database, transaction)
                database.commit()
                raise ConnectionResetError("the answer of the database did not come")
            assert delivered(1) == [b"o1"]

    def test_another_process_answers_from_the_same_database(
        self, cluster: Cluster, shop: Shop, delivered: Any
    ) -> None:
        with (
            TransactionProducer("shop4", shop.outcome, nameserver=cluster.nameserver) as producer,
            producer.transaction(Message("orders", b"o1")) as transaction,
        ):
            shop.outcome.execute_local_transaction(transaction.message, "o1")
            transaction.unknown()
        survivor = DatabaseOutcome(shop.connect, now_ms=lambda: shop.now_ms)
        with TransactionProducer("shop4", survivor, nameserver=cluster.nameserver) as other:
            other.queues("orders")
            assert delivered(1) == [b"o1"]

    def test_async_listeners_are_for_the_other_face(self, shop: Shop) -> None:
        with pytest.raises(FixError, match=r"AsyncTalk.check_local_transaction is an async def"):
            TransactionProducer("shop", AsyncTalk(shop.connect), nameserver="127.0.0.1:1")

    def test_it_starts_and_stops_any_number_of_times(self, cluster: Cluster) -> None:
        producer = TransactionProducer("shop5", nameserver=cluster.nameserver)
        producer.start()
        producer.start()
        producer.stop()
        producer.stop()
        TransactionProducer("shop5", nameserver=cluster.nameserver).stop()
