"""`mqframe context`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_runs import read, run
from mqframe_cli.app import app
from typer.testing import CliRunner


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this test's contexts are."""
    path = tmp_path / "contexts.json"
    monkeypatch.setenv("MQFRAME_CONTEXTS", str(path))
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    return path


def test_contexts_are_added_used_listed_and_removed() -> None:
    assert "there is no context yet" in run("context", "list")
    added = read("context", "add", "prod", "10.0.0.1:9876", "10.0.0.2:9876")
    assert (added["nameserver"], added["in_use"]) == ("10.0.0.1:9876;10.0.0.2:9876", False)
    run("context", "add", "test", "127.0.0.1:9876", "--use")
    run("context", "add", "test", "127.0.0.1:1", code=2)
    assert read("context", "add", "test", "127.0.0.1:2", "--replace")["in_use"] is True
    assert [(row["context"], row["in_use"]) for row in read("context", "list")] == [
        ("prod", False),
        ("test", True),
    ]
    run("context", "use", "prod")
    assert read("context", "show")["context"] == "prod"
    run("context", "use", "prdo", code=2)
    run("context", "remove", "prod")
    shown = read("context", "show")
    assert (shown["context"], shown["nameserver"], shown["said_by"]) == ("", "", "nowhere")
    run("context", "remove", "prod", code=2)


def test_secrets_are_kept_and_never_shown(file: Path) -> None:
    words = ["context", "add", "prod", "10.0.0.1:9876", "--set", "plugins.acl.access_key=ops"]
    words += ["--set", "net.tls=true", "--secret", "plugins.acl.secret_key", "--use"]
    assert "hidden" not in run(*words, data=b"hidden-1\n")
    kept = json.loads(file.read_text())["contexts"]["prod"]["settings"]
    assert kept["plugins.acl.secret_key"] == "hidden-1"
    for command in (("show",), ("list",), ("show", "--json"), ("list", "--json")):
        text = run("context", *command)
        assert "(secret)" in text
        assert "ops" in text
        assert "hidden" not in text


@pytest.mark.parametrize(
    "words",
    [
        ("10.0.0.1",),
        ("10.0.0.1:port",),
        ("10.0.0.1:٩٨٧٦",),
        (";",),
        ("a:1", "--set", "net.tls"),
        ("a:1", "--set", "net.tsl=true"),
        ("a:1", "--set", "net.tls=perhaps"),
        ("a:1", "--set", "broker.port=1"),
        ("a:1", "--set", "plugins.acl.secret_key=visible"),
        ("a:1", "--secret", "plugins.acl.secret_key"),
    ],
)
def test_a_context_that_cannot_work_is_not_kept(file: Path, words: tuple[str, ...]) -> None:
    run("context", "add", "prod", *words, code=2)
    assert not file.exists()


def test_who_says_which_cluster_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    run("context", "add", "prod", "10.0.0.1:1", "--use")
    run("context", "add", "test", "10.0.0.2:2")

    def meant(*words: str) -> tuple[str, str]:
        shown = read(*words)
        return shown["nameserver"], shown["said_by"]

    assert meant("context", "show") == ("10.0.0.1:1", "context prod")
    monkeypatch.setenv("NAMESRV_ADDR", "10.0.0.3:3")
    assert meant("context", "show") == ("10.0.0.3:3", "variable NAMESRV_ADDR")
    assert meant("context", "show", "--context", "test") == ("10.0.0.2:2", "--context test")
    assert meant("--context", "test", "context", "show") == ("10.0.0.2:2", "--context test")
    assert meant("context", "show", "--nameserver", "10.0.0.4:4") == ("10.0.0.4:4", "--nameserver")
    result = CliRunner().invoke(app, ["context", "show", "--nameserver", "a:1", "--context", "test"])
    assert result.exit_code == 2
    assert "leave one out" in result.stderr
