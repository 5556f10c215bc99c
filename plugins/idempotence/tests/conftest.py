"""Real servers for the tests: PostgreSQL and Redis, one of each for all tests, and stores of every kind."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from redis_server import RedisServer, running_redis
from stores_to_try import PostgresServer, StoreKind, kinds, postgres_folder


def missing(reason: str) -> None:
    """Skip for `reason`; in CI that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL of its own, on a Unix socket in a temporary folder."""
    programs = postgres_folder()
    if programs is None:
        missing("not installed: PostgreSQL (initdb)")
    assert programs is not None
    folder = Path(tempfile.mkdtemp(prefix="mqframe-postgres-"))
    server = PostgresServer(programs, folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


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
