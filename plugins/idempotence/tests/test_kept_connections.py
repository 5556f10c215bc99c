import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mqframe_idempotence import OnceInTransaction, SqlStore, StoreAway
from mqframe_idempotence.kept_connections import KeptConnections
from stores_to_try import message, sqlite_names


class Opened(list[sqlite3.Connection]):
    """Opens connections, and knows them."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def open(self) -> sqlite3.Connection:
        self.append(sqlite3.connect(self._path, check_same_thread=False))
        return self[-1]


@pytest.fixture
def opened(sqlite_path: Path) -> Iterator[Opened]:
    made = Opened(sqlite_path)
    yield made
    for connection in made:
        connection.close()


@pytest.fixture
def kept(opened: Opened) -> KeptConnections:
    return KeptConnections(opened.open, None, None)


def effects(kept: KeptConnections) -> Any:
    handle = kept.handle()
    try:
        return handle.execute("SELECT name FROM effects", (), True)
    finally:
        handle.close()


def test_a_thread_has_one_connection(kept: KeptConnections, opened: Opened) -> None:
    effects(kept)
    effects(kept)
    assert len(opened) == 1
    thread = threading.Thread(target=effects, args=(kept,))
    thread.start()
    thread.join()
    assert len(opened) == 2
    first = kept.handle()
    second = kept.handle()  # one within the other
    assert [each.session for each in (first, second)] == [opened[0], opened[2]]
    first.close()
    second.close()
    kept.close()
    kept.close()


def test_what_failed_is_not_kept(kept: KeptConnections, opened: Opened) -> None:
    handle = kept.handle()
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        handle.execute("SELECT * FROM nowhere", (), True)
    handle.close()
    effects(kept)
    assert len(opened) == 2


def test_one_that_broke_while_it_was_kept_is_replaced(kept: KeptConnections, opened: Opened) -> None:
    effects(kept)
    opened[0].close()
    assert effects(kept) == []
    assert len(opened) == 2
    effects(kept)
    assert len(opened) == 2


@pytest.mark.parametrize("statement", ["SELECT * FROM nowhere", "SELECT FROM effects"])
def test_other_errors_of_a_first_statement_are_raised(
    kept: KeptConnections, opened: Opened, statement: str
) -> None:
    effects(kept)
    handle = kept.handle()
    with pytest.raises(sqlite3.OperationalError):
        handle.execute(statement, (), True)
    handle.close()
    assert len(opened) == 1


def test_one_that_breaks_later_is_not(kept: KeptConnections, opened: Opened) -> None:
    effects(kept)
    handle = kept.handle()
    handle.execute("INSERT INTO effects VALUES ('one')", (), False)
    opened[0].close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        handle.execute("SELECT * FROM effects", (), True)
    handle.close()
    assert len(opened) == 1


def test_nor_under_a_listener_whose_message_has_no_key(opened: Opened, sqlite_path: Path) -> None:
    """The store itself has carried out nothing before; what the listener did would be lost unnoticed."""
    store = SqlStore(opened.open, keep_connections=True)
    store.create_table()
    once = OnceInTransaction[sqlite3.Connection](store, "s", key="keys", missing="process")

    @once.handler
    def charge(message: Any, session: sqlite3.Connection) -> None:
        session.execute("INSERT INTO effects VALUES ('one')")
        if len(opened) == 1:
            session.close()

    with pytest.raises(StoreAway, match="closed"):
        charge(message("a"))
    charge(message("a"))
    assert len(opened) == 2
    assert sqlite_names(sqlite_path) == ["one"]


def test_the_listener_gets_the_connection_that_took_the_other_s_place(
    opened: Opened, sqlite_path: Path
) -> None:
    store = SqlStore(opened.open, keep_connections=True)
    store.create_table()
    opened[0].close()
    once = OnceInTransaction[sqlite3.Connection](store, "s")
    insert = "INSERT INTO effects VALUES ('one')"
    for _ in range(2):
        once.handler(lambda m, session: session.execute(insert))(message("a"))
    assert len(opened) == 2
    assert sqlite_names(sqlite_path) == ["one"]
