"""The application itself: help, version, commands of plugins, missing parts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_runs import run
from mqframe_cli.app import app
from mqframe_cli.built_in import COMMANDS
from typer.testing import CliRunner

from mqframe import __version__, hookimpl
from mqframe.hooks.manager import PluginManager


def test_help_lists_every_command() -> None:
    text = run("--help")
    for name in COMMANDS:
        assert f"\n  {name} " in text


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str) -> None:
    assert "Usage: " in run(name, "--help")


def test_version() -> None:
    assert run("--version") == f"mqframe {__version__}\n"


def test_python_m_mqframe_is_the_same() -> None:
    command = [sys.executable, "-m", "mqframe", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"mqframe {__version__}\n"


def test_without_its_dependencies_it_gives_the_install_line() -> None:
    code = "import sys; sys.modules['typer'] = None; from mqframe_cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert 'pip install "mqframe[standard]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_commands_of_plugins_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def hello(name: str = "world") -> None:
        """Greet somebody."""
        print(f"hello, {name}")

    class Plugin:
        @hookimpl
        def register_commands(self) -> dict[str, object]:
            return {"hello": hello}

    plugins = PluginManager()
    plugins.register(Plugin())
    shown = CliRunner().invoke(app, ["--help"], obj=plugins)
    assert "hello" in shown.output
    assert CliRunner().invoke(app, ["hello", "--name", "anna"], obj=plugins).output == "hello, anna\n"
    assert CliRunner().invoke(app, ["hello"]).exit_code == 2


@pytest.mark.parametrize(
    ("module", "listed"),
    [
        ("COMMAND_HELP = {'hello': 'Greet from beside.'}", "Greet from beside."),
        ("COMMAND_HELP = {'other': 'Another.'}", "Greet by itself."),
        ("", "Greet by itself."),
    ],
)
def test_a_plugin_may_tell_lists_what_its_command_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: str, listed: str
) -> None:
    code = (
        "from mqframe import hookimpl\n{}\n\n"
        "def hello():\n    'Greet by itself.'\n    print('hello')\n\n"
        "@hookimpl\ndef register_commands():\n    return {{'hello': hello}}\n"
    )
    (tmp_path / "mqframe_hello_beside.py").write_text(code.format(module))
    info = tmp_path / "mqframe_hello_beside-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mqframe-hello-beside\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[mqframe]\ncommand.hello = mqframe_hello_beside\n")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    for words, shown in ((["--help"], f"  hello           {listed}\n"), (["hello"], "hello\n")):
        command = [sys.executable, "-m", "mqframe", *words]
        done = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
        )
        assert shown in done.stdout


def test_a_blocked_command_is_gone() -> None:
    plugins = PluginManager()
    plugins.block("command.bench")
    assert "bench" not in CliRunner().invoke(app, ["--help"], obj=plugins).output
    assert CliRunner().invoke(app, ["bench"], obj=plugins).exit_code == 2


@pytest.mark.parametrize(
    ("program", "said"), [("server", "~/store"), ("broker", "~/store"), ("nameserver", "none is")]
)
def test_the_help_of_a_server_says_where_it_keeps_things_without_data(program: str, said: str) -> None:
    words = " ".join(run(program, "--help").split())
    assert re.search(rf"--data \S+ [^\[]*\[default: {said}\]", words)
