"""What the command line finds of `mqframe schema`."""

from __future__ import annotations

import importlib.util

import pytest
from mqframe_schemas import commands
from mqframe_schemas.command_line import app

from mqframe.core.errors import PluginError


def test_the_command_is_offered() -> None:
    assert commands.register_commands() == {"schema": app}
    assert set(commands.COMMAND_HELP) == {"schema"}


def test_without_typer_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "find_spec", lambda name: None)
    with pytest.raises(PluginError, match=r'pip install "mqframe\[standard\]"'):
        commands.register_commands()
    assert importlib.util.find_spec("typer") is not None
