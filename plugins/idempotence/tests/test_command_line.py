import sqlite3
from pathlib import Path

import pytest
from mqframe_idempotence import SqlStore, ddl
from mqframe_idempotence.command_line import app
from typer.testing import CliRunner

from mqframe.core.errors import FixError


def test_ddl_prints_statements_that_run() -> None:
    printed = CliRunner().invoke(app, ["ddl", "--table", "shop_keys"]).output
    assert printed == "".join(f"{text};\n" for text in ddl("shop_keys"))
    connection = sqlite3.connect(":memory:")
    connection.executescript(printed)
    assert connection.execute("SELECT scope, message_key, done_ms FROM shop_keys").fetchall() == []
    connection.close()


def test_ddl_is_printed_for_the_dialect_that_is_named() -> None:
    for dialect in ("mysql", "mariadb"):
        printed = CliRunner().invoke(app, ["ddl", "--table", "shop_keys", "--dialect", dialect]).output
        assert printed == "".join(f"{text};\n" for text in ddl("shop_keys", "mysql"))
    failed = CliRunner().invoke(app, ["ddl", "--dialect", "oracle"])
    assert isinstance(failed.exception, FixError)
    assert "'oracle' is none of mysql, postgresql, sqlite" in str(failed.exception)


def test_purge_deletes_old_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "shop.db"
    (tmp_path / "shop_connection.py").write_text(
        f"import sqlite3\n\ndef connect():\n    return sqlite3.connect({str(path)!r})\n\nnumber = 7\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    now = [0]
    store = SqlStore(lambda: sqlite3.connect(path), now_ms=lambda: now[0])
    store.create_table()
    for when in (0, 10**15):
        now[0] = when
        attempt = store.open("s")
        attempt.claim([str(when)])
        attempt.finish([str(when)])
        attempt.close()
    done = CliRunner().invoke(app, ["purge", "shop_connection:connect", "--days", "1"])
    assert (done.exit_code, done.output) == (0, "1 keys deleted\n")
    for words, says in {
        "shop_connection": "module:function",
        "shop_connection:missing": "cannot be imported",
        "no_such_module:connect": "cannot be imported",
        "shop_connection:number": "is a int, not a function",
    }.items():
        failed = CliRunner().invoke(app, ["purge", words])
        assert isinstance(failed.exception, FixError)
        assert says in str(failed.exception)
    failed = CliRunner().invoke(app, ["purge", "shop_connection:connect", "--days", "0"])
    assert isinstance(failed.exception, FixError)
