"""`mqframe user` against a server that checks who asks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_runs import read, run
from mqframe_cli.app import app
from mqframe_testing.ports import lasting_port
from typer.testing import CliRunner

CONF = """
[access]
authentication = "acl2"
authorization = "acl2"
initial_user = "admin:secret78"
inner_credentials = "inner:secret78"

[store]
disk_limits = false
commit_log_file_bytes = 16777216
"""


@pytest.fixture(scope="module")
def asking(start_for_module: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> tuple[str, int]:
    """Address of a name server that checks who asks, and the broker's port for operators."""
    folder = tmp_path_factory.mktemp("asking")
    port = lasting_port()
    (folder / "server.toml").write_text(f"{CONF}\n[broker]\noperator_port = {port}\n")
    words = ["--nameserver-port", "0", "--broker-port", "0", "--data", str(folder / "data")]
    running = start_for_module("server", "--config", str(folder / "server.toml"), *words)
    return running.address("nameserver"), port


@pytest.fixture
def admin(asking: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAMESRV_ADDR", asking[0])
    monkeypatch.setenv("MQFRAME_CLIENT_OPERATOR_PORT", str(asking[1]))
    monkeypatch.setenv("MQFRAME_PLUGINS_ACL__ACCESS_KEY", "admin")
    monkeypatch.setenv("MQFRAME_PLUGINS_ACL__SECRET_KEY", "secret78")


def test_users_and_policies(admin: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("first-secret\n")
    run("topic", "create", "orders")
    run("user", "create", "shop", "--secret-file", str(tmp_path / "secret"))
    assert {"user": "shop", "type": "Normal", "status": "enable"} in read("user", "list")
    run("user", "disable", "shop")
    assert {"user": "shop", "type": "Normal", "status": "disable"} in read("user", "list")
    run("user", "enable", "shop")
    run("user", "allow", "shop", "Topic:orders", "--action", "Pub")
    run("user", "deny", "shop", "Group:*", "--from", "10.0.0.0/8")
    assert read("user", "policies", "shop") == [
        {"user": "shop", "resource": "Topic:orders", "decision": "Allow", "actions": "Pub", "from": "",
         "type": "Custom"},
        {"user": "shop", "resource": "Group:*", "decision": "Deny", "actions": "All", "from": "10.0.0.0/8",
         "type": "Custom"},
    ]  # fmt: skip
    with monkeypatch.context() as shop:
        shop.setenv("MQFRAME_PLUGINS_ACL__ACCESS_KEY", "shop")
        shop.setenv("MQFRAME_PLUGINS_ACL__SECRET_KEY", "first-secret")
        run("message", "send", "orders", "hello")
        assert "User:shop has no permission" in CliRunner().invoke(app, ["topic", "list"]).output
    run("user", "forget", "shop", "Group:*")
    assert len(read("user", "policies", "shop")) == 1
    answers = "second-secret\nsecond-secret\n"
    result = CliRunner().invoke(app, ["user", "secret", "shop"], input=answers)
    assert result.exit_code == 0, result.output
    assert "second-secret" not in result.output
    with monkeypatch.context() as shop:
        shop.setenv("MQFRAME_PLUGINS_ACL__ACCESS_KEY", "shop")
        shop.setenv("MQFRAME_PLUGINS_ACL__SECRET_KEY", "second-secret")
        run("message", "send", "orders", "hello")
    run("user", "delete", "shop")
    assert [row["user"] for row in read("user", "list")] == ["admin", "inner"]
    assert "there is no policy" in run("user", "policies")


def test_a_secret_that_cannot_be_read(admin: None, tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    for file, said in ((tmp_path / "none", "No such file"), (tmp_path / "binary", "it is no text")):
        result = CliRunner().invoke(app, ["user", "create", "other", "--secret-file", str(file)])
        assert result.exit_code == 2
        assert said in result.output
    piped = CliRunner().invoke(app, ["user", "create", "piped", "--secret-file", "-"], input="a secret\n")
    assert piped.exit_code == 0, piped.output
    run("user", "delete", "piped")


def test_a_port_that_is_none(admin: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQFRAME_CLIENT_OPERATOR_PORT", "many")
    result = CliRunner().invoke(app, ["topic", "list"])
    assert result.exit_code == 2
    assert "client.operator_port = 'many'" in result.output
