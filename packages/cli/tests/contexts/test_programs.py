"""Commands in the folder of programs that make their clients from mqframe.toml."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_runs import read, run
from mqframe_cli.access import client_settings
from mqframe_cli.app import app
from mqframe_cli.contexts.chosen import ChosenCluster
from mqframe_cli.contexts.programs import cluster_of_programs
from typer.testing import CliRunner

from mqframe import Producer

FILE = """
[client]
nameserver = "{nameserver}"
request_timeout_seconds = 7
instance_name = "the-app"

[net]
tls = true

[replication]
role = "SLAVE"

[producer]
group = "shop"

[consumer.billing]
group = "billing"

[plugins.acl]
access_key = "app"
secret_key = "hidden"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MQFRAME_CONTEXTS", str(tmp_path / "contexts.json"))
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    return tmp_path


def written(folder: Path, nameserver: str = "10.0.0.1:9876") -> Path:
    path = folder / "mqframe.toml"
    path.write_text(FILE.format(nameserver=nameserver))
    return path


def said_by(*words: str) -> Any:
    shown = read("context", "show", *words)
    return shown["nameserver"], shown["said_by"]


def test_a_command_and_a_program_mean_the_same_cluster(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cluster_of_programs() is None
    run("context", "add", "prod", "10.0.0.9:9876", "--use")
    assert said_by() == ("10.0.0.9:9876", "context prod")
    written(folder)
    assert said_by() == ("10.0.0.1:9876", "mqframe.toml [client]")
    assert said_by("--context", "prod") == ("10.0.0.9:9876", "--context prod")
    assert said_by("--nameserver", "10.0.0.2:9876") == ("10.0.0.2:9876", "--nameserver")
    for name, address in (("NAMESRV_ADDR", "10.0.0.3:9876"), ("MQFRAME_CLIENT_NAMESERVER", "10.0.0.4:9876")):
        monkeypatch.setenv(name, address)
        assert said_by() == (address, f"variable {name}")
        rows = {row["setting"]: row for row in read("config", "show", "--for", "client")}
        assert rows["client.nameserver"]["value"] == address
        assert rows["client.nameserver"]["origin"] == f"variable {name}"


def test_what_the_file_says_of_connections_counts_for_commands(folder: Path) -> None:
    written(folder)
    found = client_settings(ChosenCluster("a:1", "--nameserver"))
    assert found["net"].tls is True
    assert found["client"].request_timeout_seconds == 7
    assert (found["client"].nameserver, found["client"].instance_name) == ("", "")
    assert found["rpc_hooks"] == ["acl"]
    assert found["plugins"].check("rpc_hook", "acl").access_key == "app"


def test_a_context_has_settings_of_its_own(folder: Path) -> None:
    written(folder)
    found = client_settings(ChosenCluster("a:1", "context prod", "prod", {"net.busy_poll_microseconds": "3"}))
    assert found["net"].tls is False
    assert "rpc_hooks" not in found


def test_rpc_hooks_that_the_file_names_are_used_once(folder: Path) -> None:
    (folder / "mqframe.toml").write_text(
        '[client]\nrpc_hooks = ["acl"]\n[plugins.acl]\naccess_key = "a"\nsecret_key = "b"\n'
    )
    assert client_settings(ChosenCluster("a:1", "--nameserver"))["rpc_hooks"] == ["acl"]


def test_a_command_reaches_the_cluster_of_the_file(at: str, folder: Path) -> None:
    (folder / "mqframe.toml").write_text(f'[client]\nnameserver = "{at}"\n')
    run("topic", "create", "of-the-file", "--queues", "1")
    assert {"topic": "of-the-file"} in read("topic", "list")


def test_profiles_of_the_file_are_known_to_config_show(folder: Path) -> None:
    written(folder)
    rows = json.loads(run("config", "show", "--for", "client", "--profile", "billing", "--json"))
    found = {row["setting"]: (row["value"], row["origin"]) for row in rows}
    assert found["consumer.group"] == ("billing", "mqframe.toml [consumer.billing]")
    assert found["client.nameserver"] == ("10.0.0.1:9876", "mqframe.toml [client]")


def test_a_file_that_servers_share_makes_clients_as_well(folder: Path) -> None:
    file = written(folder)
    assert Producer.from_config(file, rpc_hooks=[]).group == "shop"


def test_a_command_without_a_cluster_says_what_to_type() -> None:
    for words in (["topic", "list"], ["message", "send", "t", "x"], ["consume", "t", "--group", "g"]):
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 2
        assert "add --nameserver HOST:PORT, set NAMESRV_ADDR (as 127.0.0.1:9876)" in result.output
        assert "nameserver=" not in result.output
