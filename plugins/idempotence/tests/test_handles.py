import sqlite3
from typing import Any

import psycopg
import pymysql
import pymysql.cursors
import pytest
from database_servers import FreshTables, MariaServer, PostgresServer
from mqframe_idempotence.handles import AlchemyHandle, DbapiHandle, driver_paramstyle


def test_the_driver_s_own_style_is_used(postgres: PostgresServer) -> None:
    with postgres.connect() as connection:
        handle = DbapiHandle(connection, connection.close, None)
        assert (handle.paramstyle, handle.dialect) == (psycopg.paramstyle, "postgresql")
        assert handle.execute("SELECT %(v1)s::int", {"v1": 7}, True) == [(7,)]
        assert DbapiHandle(connection, connection.close, "format").paramstyle == "format"
    lite = sqlite3.connect(":memory:")
    handle = DbapiHandle(lite, lite.close, None)
    assert (handle.paramstyle, handle.dialect) == ("qmark", "sqlite")
    handle.close()


def test_a_driver_that_does_not_tell_takes_question_marks() -> None:
    assert driver_paramstyle(object(), "db2") == "qmark"
    assert driver_paramstyle(object(), "mysql") == "format", "as all of MySQL's take"


def test_a_class_that_is_derived_from_a_driver_s_has_its_style() -> None:
    class Derived(pymysql.Connection):  # type: ignore[type-arg]
        """As an application may make one."""

    connection = Derived(defer_connect=True)
    handle = DbapiHandle(connection, connection.close, None)
    assert (handle.paramstyle, handle.dialect) == (pymysql.paramstyle, "mysql")
    handle = DbapiHandle(object(), connection.close, None, "mysql")
    assert (handle.paramstyle, handle.dialect) == ("format", "mysql")


@pytest.mark.parametrize("options", [{}, {"cursorclass": pymysql.cursors.DictCursor}])
def test_rows_are_tuples_whatever_cursors_give(mariadb: MariaServer, options: Any) -> None:
    with mariadb.connect(**options) as connection:
        handle = DbapiHandle(connection, connection.close, None)
        assert handle.execute("SELECT %(v1)s AS a, 'x' AS b", {"v1": 7}, True) == [(7, "x")]


@pytest.mark.parametrize("autocommit", [False, True])
def test_mysql_tells_whether_it_commits_by_itself(mariadb: MariaServer, autocommit: bool) -> None:
    tables = FreshTables(mariadb)
    with mariadb.connect(autocommit=autocommit) as connection:
        handle = DbapiHandle(connection, connection.close, None)
        handle.execute(f"INSERT INTO {tables.effects} VALUES ('one')", {}, False)
        assert handle.commits_by_itself() is autocommit


@pytest.mark.parametrize("autocommit", [False, True])
def test_a_driver_that_has_a_function_for_it_is_asked(autocommit: bool) -> None:
    class Telling:
        def get_autocommit(self) -> bool:
            return autocommit

    assert DbapiHandle(Telling(), lambda: None, None).commits_by_itself() is autocommit


@pytest.mark.parametrize("url", ["mysql+pymysql://localhost", "mariadb+pymysql://localhost"])
def test_sqlalchemy_s_names_of_mariadb_are_one(url: str) -> None:
    from sqlalchemy import create_engine
    from sqlalchemy.orm import Session

    with Session(create_engine(url)) as session:
        assert AlchemyHandle(session).dialect == "mysql"


@pytest.mark.parametrize(("isolation_level", "expected"), [("", False), (None, True)])
def test_sqlite_tells_whether_it_commits_by_itself(isolation_level: Any, expected: bool) -> None:
    connection = sqlite3.connect(":memory:", isolation_level=isolation_level)
    handle = DbapiHandle(connection, connection.close, None)
    handle.execute("CREATE TABLE t (a)", (), False)
    assert handle.execute("INSERT INTO t VALUES (?)", (1,), False) == 1
    assert handle.commits_by_itself() is expected
    handle.close()


@pytest.mark.parametrize("autocommit", [False, True])
def test_postgresql_tells_it_too(postgres: PostgresServer, autocommit: bool) -> None:
    with postgres.connect(autocommit=autocommit) as connection:
        handle = DbapiHandle(connection, connection.close, None)
        handle.execute("SELECT 1", {}, True)
        assert handle.commits_by_itself() is autocommit


@pytest.mark.parametrize("autocommit", [False, True])
def test_sqlalchemy_tells_it_too(autocommit: bool) -> None:
    from sqlalchemy import create_engine

    options: dict[str, Any] = {"isolation_level": "AUTOCOMMIT"} if autocommit else {}
    engine = create_engine("sqlite://", **options)
    handle = AlchemyHandle(engine.connect())
    handle.execute("CREATE TABLE t (a)", {}, False)
    handle.execute("INSERT INTO t VALUES (:v1)", {"v1": 1}, False)
    assert handle.commits_by_itself() is autocommit
    handle.close()
    engine.dispose()
