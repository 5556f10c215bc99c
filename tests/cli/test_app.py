"""What works without any server: help, version, plugins, settings, missing parts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mqframe import __version__, hookimpl
from mqframe.cli.app import app
from mqframe.cli.commands import BUILT_IN, exit_code
from mqframe.core.errors import CallTimeout, MessageError, PluginError, StoreError
from mqframe.hooks.manager import default_manager


def invoke(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == code, result.output
    return result.stdout


def test_help_lists_every_command() -> None:
    text = invoke("--help")
    for name in BUILT_IN:
        assert f"\n  {name} " in text


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_command_has_help(name: str) -> None:
    assert "Usage: " in invoke(name, "--help")


def test_version() -> None:
    assert invoke("--version") == f"mqframe {__version__}\n"


def test_python_m_mqframe_is_the_same() -> None:
    command = [sys.executable, "-m", "mqframe", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"mqframe {__version__}\n"


def test_without_its_dependencies_it_gives_the_install_line() -> None:
    code = "import sys; sys.modules['typer'] = None; from mqframe.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert 'pip install "mqframe[standard]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_plugins_are_listed_with_distribution_version_and_options() -> None:
    rows = {(row["kind"], row["name"]): row for row in json.loads(invoke("plugins", "--json"))}
    row = rows["allocation", "consistent_hash"]
    assert row["distribution"] == "mqframe-plugin-consistenthash"
    assert row["version"] == "0.1.0"
    assert row["options"][0]["name"] == "virtual_nodes"
    assert row["options"][0]["default"] == "10"
    only = json.loads(invoke("plugins", "--json", "--kind", "selector", "--no-options"))
    assert {row["name"] for row in only} == {"hash", "random", "machine_room", "monotonic"}
    invoke("plugins", "--kind", "nonsense", code=2)


def test_the_table_of_plugins_is_not_cut() -> None:
    text = invoke("plugins")
    assert "mqframe-plugin-averagelybycircle" in text
    assert "virtual_nodes: int = 10" in text


def test_config_show_tells_values_and_origins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "server.toml"
    file.write_text(
        '[store]\nkeep_hours = 24\nflush = "SYNC_FLUSH"\n[plugins.consistent_hash]\nvirtual_nodes = 5\n'
    )
    monkeypatch.setenv("MQFRAME_BROKER_NAME", "broker-c")
    words = ("config", "show", "--config", str(file), "--set", "store.keep_hours=12", "--changed", "--json")
    rows = {row["setting"]: (row["value"], row["origin"]) for row in json.loads(invoke(*words))}
    assert rows["store.keep_hours"] == (12, "command line --set store.keep_hours")
    assert rows["store.flush"] == ("SYNC_FLUSH", f"{file} [store]")
    assert rows["broker.name"] == ("broker-c", "variable MQFRAME_BROKER_NAME")
    assert rows["plugins.consistent_hash.virtual_nodes"][0] == 5
    assert set(rows) == {
        "store.keep_hours",
        "store.flush",
        "broker.name",
        "plugins.consistent_hash.virtual_nodes",
    }


def test_config_show_of_clients_knows_their_sections() -> None:
    rows = json.loads(invoke("config", "show", "--for", "client", "--json"))
    assert {row["setting"].partition(".")[0] for row in rows} == {"client", "producer", "consumer", "net"}
    assert {row["origin"] for row in rows} == {"default"}


def test_config_show_writes_settings_as_files_have_them() -> None:
    text = invoke("config", "show")
    (line,) = [line for line in text.splitlines() if "broker.auto_create_topics" in line]
    assert line.split()[1:3] == ["true", "default"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "store.fluhs=x"], "did you mean store.flush"),
        (["--set", "broker.port=70000"], "broker.port"),
        (["--for", "toaster"], "toaster"),
        (["--config", "missing.toml"], "missing.toml"),
    ],
)
def test_config_show_refuses_what_a_start_would_refuse(words: list[str], said: str) -> None:
    result = CliRunner().invoke(app, ["config", "show", *words])
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_broker_conf_means_the_broker(tmp_path: Path) -> None:
    file = tmp_path / "broker.conf"
    file.write_text("listenPort=20911\nbrokerRole=ASYNC_MASTER\n")
    result = CliRunner().invoke(app, ["config", "show", "--config", str(file), "--changed", "--json"])
    assert [(row["setting"], row["value"]) for row in json.loads(result.stdout)] == [("broker.port", 20911)]
    assert "brokerRole" in result.stderr


def test_commands_of_plugins_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def hello(name: str = "world") -> None:
        """Greet somebody."""
        print(f"hello, {name}")

    class Plugin:
        @hookimpl
        def register_commands(self) -> dict[str, object]:
            return {"hello": hello}

    default_manager.cache_clear()
    default_manager().register(Plugin())
    try:
        assert "hello" in invoke("--help")
        assert invoke("hello", "--name", "anna") == "hello, anna\n"
    finally:
        default_manager.cache_clear()


def test_exit_codes_tell_what_to_do() -> None:
    assert exit_code(CallTimeout("x")) == 3
    assert exit_code(MessageError("x")) == 2
    assert exit_code(PluginError("x")) == 2
    assert exit_code(StoreError("x")) == 1
