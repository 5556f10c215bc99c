"""The commands that come with the command line itself."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from importlib.metadata import distribution, entry_points
from typing import Any

import pytest
import typer
from mqframe_cli.app import app
from mqframe_cli.built_in import COMMANDS, register_commands
from typer.core import TyperCommand


def app_command(name: str) -> Any:
    """The command, imported."""
    group = typer.main.get_command(app)
    return group.get_command(group.make_context("mqframe", [name]), name)


def test_every_command_leads_to_something_that_can_be_run() -> None:
    for name, place in register_commands().items():
        module, _, attribute = place.partition(":")
        found = getattr(import_module(module), attribute)
        assert callable(found), name


def test_the_names_are_those_that_the_distribution_announces() -> None:
    offered = {entry.name for entry in distribution("mqframe-cli").entry_points.select(group="mqframe")}
    assert offered == {f"command.{name}" for name in COMMANDS}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("width", [20, 40, 62, 100, 200])
def test_lists_say_of_a_command_what_it_says_of_itself(name: str, width: int) -> None:
    own = app_command(name).get_short_help_str(width)
    assert TyperCommand(name, help=COMMANDS[name].help).get_short_help_str(width) == own


OF_PLUGINS = {
    entry.name.partition(".")[2]: entry.load()
    for entry in entry_points(group="mqframe")
    if entry.name.startswith("command.") and not entry.value.startswith("mqframe_cli.")
}


@pytest.mark.parametrize("name", OF_PLUGINS)
@pytest.mark.parametrize("width", [20, 62, 200])
def test_lists_say_of_a_plugin_s_command_what_it_says_of_itself(name: str, width: int) -> None:
    told = OF_PLUGINS[name].COMMAND_HELP[name]
    own = app_command(name).get_short_help_str(width)
    assert TyperCommand(name, help=told).get_short_help_str(width) == own


def test_a_list_of_commands_imports_none_of_them() -> None:
    code = (
        "import sys\nfrom mqframe import PluginManager\nfrom mqframe_cli.app import app\n"
        "plugins = PluginManager()\n"
        "try:\n    app(['--help'], obj=plugins)\nexcept SystemExit:\n    pass\n"
        "found = ('mqframe.client', 'mqframe.broker', 'mqframe_cli.topic', 'mqframe_cli.server')\n"
        "own = ('.command_line', '.commands.command')\n"
        "print([m for m in sys.modules if m in found or m.endswith(own)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "  topic " in done.stdout
    assert "  store           The files of a broker: what was damaged" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"
