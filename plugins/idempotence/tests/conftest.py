"""Real servers for the tests, one of PostgreSQL, MariaDB and Redis for all tests; stores of every kind."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from database_servers import (
    MariaServer,
    PostgresServer,
    maria_program,
    postgres_folder,
)
from own_programs import missing, served
from redis_server import RedisServer, running_redis
from stores_to_try import StoreKind, kinds


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
