import sqlite3
from typing import Any

import psycopg
import pymysql
import pytest
from mqframe_idempotence.drivers import DIALECTS, dialect_named, dialect_of, modules_of


class ShopConnection(sqlite3.Connection):
    """As an application may derive one."""


@pytest.mark.parametrize(
    ("thing", "dialect"),
    [
        (sqlite3.connect(":memory:"), "sqlite"),
        (ShopConnection(":memory:"), "sqlite"),
        (psycopg.OperationalError("x"), "postgresql"),
        (psycopg.errors.UniqueViolation("x"), "postgresql"),
        (pymysql.Connection(defer_connect=True), "mysql"),
        (pymysql.OperationalError(2013, "lost"), "mysql"),
        (ValueError("x"), "builtins"),
    ],
)
def test_what_a_driver_is_for(thing: Any, dialect: str) -> None:
    assert dialect_of(thing) == dialect
    if hasattr(thing, "rollback"):
        thing.close()


def test_mariadb_is_mysql_s() -> None:
    assert [dialect_named(name) for name in ("mariadb", "mysql", "db2")] == ["mysql", "mysql", "db2"]
    assert set(DIALECTS) == {"mysql", "postgresql", "sqlite"}


def test_all_classes_are_looked_at() -> None:
    connection = ShopConnection(":memory:")
    assert list(modules_of(connection)) == [__name__, "sqlite3", "builtins"]
    connection.close()
