"""The command is found by its entry point, and says what it needs."""

from __future__ import annotations

import pytest
from mqframe_quotas.commands import register_commands

from mqframe.core.errors import PluginError
from mqframe.hooks.manager import PluginManager


def test_the_command_line_finds_it() -> None:
    assert "quota" in PluginManager().names("command")
    assert list(register_commands()) == ["quota"]


def test_without_typer_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mqframe_quotas.commands.find_spec", lambda name: None)
    with pytest.raises(PluginError, match=r"pip install \"mqframe\[standard\]\""):
        register_commands()
