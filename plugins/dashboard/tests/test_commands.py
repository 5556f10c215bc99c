"""What the command line finds by entry point."""

from __future__ import annotations

import pytest
from mqframe_dashboard import commands
from mqframe_dashboard.command_line import dashboard, dashboard_user

from mqframe.core.errors import PluginError
from mqframe.hooks.manager import PluginManager


def test_the_command_is_found_by_name():
    assert PluginManager().create("command", "dashboard") is dashboard
    assert PluginManager().create("command", "dashboard-user") is dashboard_user


def test_without_typer_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(commands, "find_spec", lambda name: None)
    with pytest.raises(PluginError, match=r"pip install \"mqframe\[standard\]\""):
        commands.register_commands()
