import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mqframe_idempotence import Claim, StoreBusy, TransactionLost, WrongUse, ddl
from mqframe_idempotence.handles import DbapiHandle
from mqframe_idempotence.steps import run
from mqframe_idempotence.transaction import TableOptions, Transaction

TABLE = "keys"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "keys.db"
    connection = sqlite3.connect(made)
    for text in ddl(TABLE):
        connection.execute(text)
    connection.close()
    return made


@pytest.fixture
def transactions(path: Path) -> Iterator[Any]:
    opened: list[Transaction] = []

    def open_one(lock_seconds: float | None = None, **options: Any) -> Transaction:
        connection = sqlite3.connect(path, timeout=30, **options)
        handle = DbapiHandle(connection, connection.close, None)
        opened.append(Transaction(handle, "s", TableOptions(TABLE, True, lock_seconds, lambda: 1000)))
        return opened[-1]

    yield open_one
    for transaction in opened:
        run(transaction.close())


def known(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    try:
        return [row[0] for row in connection.execute("SELECT message_key FROM keys ORDER BY 1")]
    finally:
        connection.close()


def test_keys_that_were_not_finished_are_not_committed(path: Path, transactions: Any) -> None:
    one = transactions()
    assert run(one.claim(["b", "a", "c"])) == {"b": Claim.NEW, "a": Claim.NEW, "c": Claim.NEW}
    assert run(one.finish(["a", "c"])) == 0
    assert known(path) == ["a", "c"]
    assert run(transactions().claim(["a", "b"])) == {"a": Claim.DONE, "b": Claim.NEW}


def test_more_keys_than_one_statement_takes(path: Path, transactions: Any) -> None:
    keys = [f"k{number:04}" for number in range(1200)]
    one = transactions()
    assert set(run(one.claim(keys)).values()) == {Claim.NEW}
    run(one.finish(keys[:700]))
    assert known(path) == keys[:700]


def test_keys_are_inserted_in_one_order_everywhere(transactions: Any) -> None:
    """Two batches that insert the same keys in two orders would wait for each other."""
    one = transactions()
    statements: list[str] = []
    one.session.set_trace_callback(statements.append)
    run(one.claim(["b", "c", "a"]))
    [insert] = [text for text in statements if text.startswith("INSERT")]
    assert insert.index("'a'") < insert.index("'b'") < insert.index("'c'")


def test_closing_rolls_back(path: Path, transactions: Any) -> None:
    one = transactions()
    run(one.claim(["a"]))
    run(one.close())
    assert known(path) == []


def test_waiting_for_another_transaction_has_an_end(transactions: Any) -> None:
    run(transactions().claim(["a"]))
    with pytest.raises(StoreBusy, match="locked"):
        run(transactions(lock_seconds=0.01).claim(["b"]))


def test_a_connection_that_commits_by_itself_is_refused(path: Path, transactions: Any) -> None:
    with pytest.raises(WrongUse, match="commits by itself"):
        run(transactions(isolation_level=None).claim(["a"]))
    assert known(path) == []


def test_a_listener_that_rolls_back_and_says_success_has_failed(path: Path, transactions: Any) -> None:
    one = transactions()
    run(one.claim(["a"]))
    one.session.rollback()
    with pytest.raises(TransactionLost, match="rolled the transaction back"):
        run(one.finish(["a"]))
    assert known(path) == []


def test_purging_takes_what_is_older(path: Path, transactions: Any) -> None:
    one = transactions()
    run(one.claim(["a"]))
    run(one.finish(["a"]))
    assert run(transactions().purge(0)) == 0
    assert run(transactions().purge(-1)) == 1
    assert known(path) == []


def test_a_lock_time_out_of_an_unknown_database_is_refused() -> None:
    connection = sqlite3.connect(":memory:")
    handle = DbapiHandle(connection, connection.close, None)
    handle.dialect = "db2"
    one = Transaction(handle, "s", TableOptions(TABLE, True, 1.0, lambda: 1000))
    with pytest.raises(WrongUse, match="not for db2"):
        run(one.claim(["a"]))
    run(one.close())
