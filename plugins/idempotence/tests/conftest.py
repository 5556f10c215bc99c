"""Real servers for the tests, one of PostgreSQL, MariaDB and Redis for all tests; stores of every kind."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from database_servers import (
    MariaServer,
    PostgresServer,
    maria_program,
    postgres_folder,
)
from redis_server import RedisServer, running_redis
from stores_to_try import StoreKind, kinds


def missing(reason: str) -> NoReturn:
    """Skip for `reason`; in CI that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def served(prefix: str, make: Callable[[Path], Any]) -> Iterator[Any]:
    """A server that runs in a temporary folder."""
    folder = Path(tempfile.mkdtemp(prefix=f"mqframe-{prefix}-"))
    server = make(folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL of its own, on a Unix socket in a temporary folder."""
    programs = postgres_folder() or missing("not installed: PostgreSQL (initdb)")
    yield from served("postgres", lambda folder: PostgresServer(programs, folder))


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaServer]:
    """A MariaDB of its own, on a Unix socket in a temporary folder."""
    program = maria_program() or missing("not installed: MariaDB (mariadbd, mariadb-install-db)")
    yield from served("mariadb", lambda folder: MariaServer(program, folder))


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A Redis of its own for all tests."""
    with running_redis() as server:
        yield server


@pytest.fixture
def sqlite_path(tmp_path: Path) -> Path:
    """A database with a table for effects."""
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE effects (name VARCHAR(100))")
    connection.close()
    return path


@pytest.fixture(params=sorted(kinds()))
def kind(request: pytest.FixtureRequest) -> Iterator[StoreKind]:
    """A store of each kind in turn, empty, with what counts its effects."""
    made = kinds()[request.param](request)
    yield made
    made.close()
