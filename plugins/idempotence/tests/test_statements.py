import sqlite3
from typing import Any

import pytest
from mqframe_idempotence import WrongUse, ddl
from mqframe_idempotence.statements import PARAMSTYLES, Statements, checked_dialect

EXPECTED = {
    "qmark": ("? AND message_key IN (?, ?)", ("s", "a", "b")),
    "format": ("%s AND message_key IN (%s, %s)", ("s", "a", "b")),
    "numeric": (":1 AND message_key IN (:2, :3)", ("s", "a", "b")),
    "named": (":v1 AND message_key IN (:v2, :v3)", {"v1": "s", "v2": "a", "v3": "b"}),
    "pyformat": ("%(v1)s AND message_key IN (%(v2)s, %(v3)s)", {"v1": "s", "v2": "a", "v3": "b"}),
}


@pytest.mark.parametrize("style", PARAMSTYLES)
def test_each_style_has_its_placeholders(style: str) -> None:
    text, parameters = Statements("keys", style).delete("s", ["a", "b"])
    assert (text.removeprefix("DELETE FROM keys WHERE scope = "), parameters) == EXPECTED[style]


def test_all_styles_of_pep_249_are_known() -> None:
    assert set(PARAMSTYLES) == set(EXPECTED)


@pytest.mark.parametrize("style", ["qmark", "named"])
def test_the_statements_do_what_they_say(style: str) -> None:
    statements = Statements("main.message_keys", style)
    with sqlite3.connect(":memory:") as connection:
        for text in ddl("message_keys"):
            connection.execute(text)

        def rows(statement: Any) -> list[Any]:
            return connection.execute(*statement).fetchall()

        assert connection.execute(*statements.insert("s", ["a"], 5, conflicts=True)).rowcount == 1
        assert connection.execute(*statements.insert("s", ["a"], 6, conflicts=True)).rowcount == 0
        assert rows(statements.insert("s", ["a", "b", "c"], 7, conflicts=True)) == [("b",), ("c",)]
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(*statements.insert("s", ["a"], 6, conflicts=False))
        assert rows(statements.known("s", ["z", "c", "a"])) == [("a",), ("c",)]
        assert rows(statements.count("s", "a")) == [(1,)]
        assert rows(statements.count("t", "a")) == [(0,)]
        assert connection.execute(*statements.purge(6)).rowcount == 1
        assert connection.execute(*statements.delete("s", ["b", "z"])).rowcount == 1
        assert rows(("SELECT scope, message_key, done_ms FROM message_keys", ())) == [("s", "c", 7)]
    connection.close()


def test_mysql_has_a_table_of_its_own() -> None:
    [text] = ddl("shop.keys", "mysql")
    assert text == ddl("shop.keys", "mariadb")[0]
    assert text.startswith("CREATE TABLE IF NOT EXISTS shop.keys (scope VARCHAR(50) NOT NULL, ")
    assert text.endswith("ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin")
    assert ddl("t") == ddl("t", "postgresql") == ddl("t", "sqlite")


def test_purges_of_mysql_have_a_limit() -> None:
    text, parameters = Statements("keys", "format").purge(7, 1000)
    assert text == "DELETE FROM keys WHERE done_ms < %s ORDER BY done_ms LIMIT 1000"
    assert parameters == (7,)


@pytest.mark.parametrize("dialect", ["", "MySQL", "oracle"])
def test_an_unknown_dialect_is_refused(dialect: str) -> None:
    with pytest.raises(WrongUse, match="is none of mysql, postgresql, sqlite; MariaDB's is 'mysql'"):
        ddl("keys", dialect)
    assert checked_dialect("mariadb") == "mysql"


@pytest.mark.parametrize("table", ["", "a b", "x;drop", "1a", "a.b.c", 'a"'])
def test_tables_have_plain_names(table: str) -> None:
    with pytest.raises(WrongUse, match="table"):
        ddl(table)


def test_an_unknown_style_is_refused() -> None:
    with pytest.raises(WrongUse, match="'percent' is none of qmark"):
        Statements("keys", "percent")
