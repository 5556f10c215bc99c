"""The command is found by its entry point."""

from __future__ import annotations

from mqframe_mirror.commands import COMMAND_HELP, register_commands

from mqframe.hooks.manager import PluginManager


def test_the_command_line_finds_it() -> None:
    assert set(COMMAND_HELP) == set(register_commands()) <= set(PluginManager().names("command"))
