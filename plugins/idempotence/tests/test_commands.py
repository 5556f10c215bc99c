import importlib.util
from typing import Any

import pytest
from mqframe_idempotence.commands import register_commands

from mqframe.core.errors import PluginError


def test_the_command_line_finds_its_application() -> None:
    assert set(register_commands()) == {"idempotence"}


def test_without_typer_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str, *more: Any) -> None:
        assert name == "typer"

    monkeypatch.setattr("mqframe_idempotence.commands.find_spec", find)
    with pytest.raises(PluginError, match=r"mqframe\[standard\]"):
        register_commands()
    assert importlib.util.find_spec("typer") is not None
