"""The command is found by its entry point; what serves is imported when it runs."""

from __future__ import annotations

from mqframe_grpc.commands import register_commands

from mqframe.hooks.manager import PluginManager


def test_the_command_line_finds_it() -> None:
    assert list(register_commands()) == ["proxy"]
    made = PluginManager().create("command", "proxy")
    assert (made.__module__, made.__name__) == ("mqframe_grpc.command_line", "proxy")
