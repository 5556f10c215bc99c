"""Real servers for the tests: PostgreSQL and Redis, one of each for all tests, and stores of every kind."""

from __future__ import annotations

import os
import pwd
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from instances import PostgresServer, RedisServer, StoreKind, kinds


def missing(reason: str) -> None:
    """Skip for `reason`; in CI that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def postgres_folder() -> Path | None:
    """Where the newest PostgreSQL's programs are."""
    found = shutil.which("initdb")
    if found:
        return Path(found).parent
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parts[-3]))
    return places[-1].parent if places else None


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL of its own, on a Unix socket in a temporary folder."""
    programs = postgres_folder()
    if programs is None:
        missing("not installed: PostgreSQL (initdb)")
    assert programs is not None
    user = None
    if os.geteuid() == 0:  # it refuses to run as root
        try:
            user = pwd.getpwnam("postgres")
        except KeyError:
            user = pwd.getpwnam("nobody")
    folder = Path(tempfile.mkdtemp(prefix="mqframe-postgres-"))
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
    server = PostgresServer(programs, folder, user)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A Redis of its own on a free port, which keeps nothing on disk."""
    program = shutil.which("redis-server")
    if program is None:
        missing("not installed: redis-server")
    assert program is not None
    folder = Path(tempfile.mkdtemp(prefix="mqframe-redis-"))
    server = RedisServer(program, folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


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
