"""The commands are found by their entry points."""

from __future__ import annotations

from mqframe_definitions.commands import COMMAND_HELP, register_commands

from mqframe.hooks.manager import PluginManager


def test_the_command_line_finds_them() -> None:
    assert set(COMMAND_HELP) == set(register_commands()) <= set(PluginManager().names("command"))
