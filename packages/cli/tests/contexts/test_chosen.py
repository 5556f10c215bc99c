"""Commands at the cluster of a context."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_runs import read, run
from mqframe_cli.access import client_settings
from mqframe_cli.contexts.chosen import ChosenCluster, chosen_cluster


@pytest.fixture(autouse=True)
def nothing_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQFRAME_CONTEXTS", str(tmp_path / "contexts.json"))
    for name in ("MQFRAME_NET_TLS", "MQFRAME_PLUGINS_ACL__ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_every_command_finds_the_cluster(at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NAMESRV_ADDR")
    run("context", "add", "here", at, "--use")
    run("context", "add", "nowhere", "127.0.0.1:1")
    run("topic", "create", "cli-context", "--queues", "1")
    run("message", "send", "cli-context", "x", "--context", "here")
    words = ("consume", "cli-context", "--group", "cli-context", "--from", "first", "--count", "1")
    assert run(*words, "--seconds", "30") == "0@0\t\tx\n"
    assert {"topic": "cli-context"} in read("mqadmin", "topicList", "--context", "here")
    run("topic", "list", "--context", "nowhere", code=3)
    run("--context", "nowhere", "topic", "list", code=3)
    run("topic", "list", "--context", "nowhere", "--nameserver", at, code=2)
    assert {"topic": "cli-context"} in read("topic", "list", "--nameserver", at)


def test_settings_of_a_context_count_where_the_environment_says_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = {"net.tls": "true", "plugins.acl.access_key": "ops", "plugins.acl.secret_key": "hidden"}
    cluster = ChosenCluster("a:1", "context prod", "prod", settings)
    found = client_settings(cluster)
    options = found["plugins"].check("rpc_hook", "acl")
    assert found["net"].tls is True
    assert (found["rpc_hooks"], options.access_key, options.secret_key) == (["acl"], "ops", "hidden")
    monkeypatch.setenv("MQFRAME_NET_TLS", "false")
    monkeypatch.setenv("MQFRAME_PLUGINS_ACL__ACCESS_KEY", "me")
    found = client_settings(cluster)
    assert found["net"].tls is False
    assert found["plugins"].check("rpc_hook", "acl").access_key == "me"
    assert set(client_settings(ChosenCluster())) > {"plugins"}


def test_outside_of_a_command_no_cluster_is_meant() -> None:
    assert chosen_cluster() == ChosenCluster("", "nowhere")
