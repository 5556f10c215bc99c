"""Commands against a server that takes TLS only, and against one that is told who asks."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import certificates
import pytest
from certificates import Pems
from mqframe_cli import extension
from mqframe_cli.access import access
from mqframe_cli.app import app
from mqframe_testing import Cluster
from typer.testing import CliRunner

from mqframe import Admin, AnswerError
from mqframe.core.errors import SettingError
from mqframe.net.settings import NetSettings


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "MQFRAME_NET_TLS",
        "MQFRAME_PLUGINS_ACL__ACCESS_KEY",
        "MQFRAME_CLIENT_OPERATOR_PORT",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def pems(tmp_path_factory: pytest.TempPathFactory) -> Pems:
    return certificates.make(tmp_path_factory.mktemp("pems"))


@pytest.fixture(scope="module")
def secured(
    start_for_module: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory, pems: Pems
) -> str:
    """Address of the name server of a system whose connections are all secured."""
    items = [
        "tls.server.mode=enforcing", f"tls.server.certPath={pems.cert}", f"tls.server.keyPath={pems.key}",
        "net.tls=true", f"net.tls_ca_file={pems.ca}", "store.disk_limits=false",
        "store.commit_log_file_bytes=16777216",
    ]  # fmt: skip
    data = tmp_path_factory.mktemp("secured")
    words = ["server", "--nameserver-port", "0", "--broker-port", "0", "--data", str(data)]
    running = start_for_module(*words, *(word for item in items for word in ("--set", item)))
    assert running.ready.startswith("ready ")
    return str(running.address("nameserver"))


def test_commands_use_what_the_environment_says(
    secured: str, pems: Pems, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MQFRAME_NET_TLS", "true")
    monkeypatch.setenv("MQFRAME_NET_TLS_CA_FILE", pems.ca)
    monkeypatch.setenv("NAMESRV_ADDR", secured)
    for words in (
        ["topic", "create", "secured", "--queues", "1"],
        ["message", "send", "secured", "hello", "--key", "k"],
        ["bench", "produce", "--topic", "secured", "--count", "10"],
    ):
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
    found = CliRunner().invoke(app, ["message", "query", "secured", "k", "--json"])
    assert [row["body"] for row in json.loads(found.stdout)] == ["hello"]


def test_a_plain_command_is_told_what_to_set(secured: str) -> None:
    result = CliRunner().invoke(app, ["topic", "list", "--nameserver", secured])
    assert result.exit_code == 3
    assert "as servers do that take TLS only; if it is one, set tls" in result.output


def test_a_certificate_of_an_unknown_authority(
    secured: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MQFRAME_NET_TLS", "true")
    monkeypatch.setenv("MQFRAME_NET_TLS_CA_FILE", certificates.make(tmp_path).ca)
    result = CliRunner().invoke(app, ["topic", "list", "--nameserver", secured])
    assert result.exit_code == 2
    assert f"no connection to {secured}: its certificate is refused: " in result.output


def test_servers_without_a_certificate_say_so(tmp_path: Path) -> None:
    words = ["nameserver", "--port", "0", "--data", str(tmp_path), "--set", "net.tls_server_mode=enforcing"]
    command = [sys.executable, "-m", "mqframe", *words]
    result = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert result.returncode == 2
    assert "net.tls_server_mode = 'enforcing' needs net.tls_server_cert_file, which is empty" in result.stderr


def test_keys_come_from_the_environment_and_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(access()) == {"plugins"}
    monkeypatch.setenv("MQFRAME_PLUGINS_ACL__ACCESS_KEY", "reader")
    monkeypatch.setenv("MQFRAME_PLUGINS_ACL__SECRET_KEY", "hidden")
    found = access()
    options = found.pop("plugins").check("rpc_hook", "acl")
    assert found == {"net": NetSettings(), "rpc_hooks": ["acl"]}
    assert (options.access_key, options.secret_key) == ("reader", "hidden")
    for more in ([], ["--json"]):
        shown = CliRunner().invoke(app, ["config", "show", "--for", "client", "--changed", *more])
        assert "reader" in shown.output
        assert "plugins.acl.secret_key" in shown.output
        assert "hidden" not in shown.output


def test_bad_variables_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQFRAME_NET_TLS", "perhaps")
    with pytest.raises(SettingError, match=r"net\.tls = 'perhaps' from variable MQFRAME_NET_TLS"):
        access()


def test_all_clients_of_commands_know_the_port_of_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQFRAME_CLIENT_OPERATOR_PORT", "10909")
    assert extension.access()["client"].operator_port == 10909
    monkeypatch.setenv("MQFRAME_CLIENT_OPERATOR_PORT", "70000")
    with pytest.raises(SettingError, match=r"client\.operator_port = 70000: must be within 0 and 65535"):
        extension.access()


def test_commands_say_names_as_brokers_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQFRAME_CLIENT_NAMESPACE", "shop")
    monkeypatch.setenv("MQFRAME_CLIENT_UNIT_NAME", "east")
    client = access()["client"]
    assert (client.namespace, client.unit_name) == ("", "east")


def test_a_command_of_a_plugin_uses_the_port_of_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    with Cluster(broker={"operator_port": 0}) as cluster:
        with Admin(nameserver=cluster.nameserver) as admin, pytest.raises(AnswerError, match="operator_port"):
            admin.topics.create("orders")
        port = cluster.broker.operator_address.rpartition(":")[2]
        monkeypatch.setenv("MQFRAME_CLIENT_OPERATOR_PORT", port)
        with Admin(nameserver=cluster.nameserver, **extension.access()) as admin:
            admin.topics.create("orders")
