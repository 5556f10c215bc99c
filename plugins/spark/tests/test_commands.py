import pytest
from mqframe_spark import commands

from mqframe import PluginManager
from mqframe.core.errors import PluginError


def test_the_command_spark_is_offered() -> None:
    found = commands.register_commands()
    assert PluginManager().create("command", "spark") is found["spark"]
    assert list(found) == ["spark"]
    names = {command.name or command.callback.__name__ for command in found["spark"].registered_commands}
    assert names >= {"run", "drain", "republish-dlq"}


def test_without_a_command_line_the_way_to_one_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "find_spec", lambda name: None)
    with pytest.raises(PluginError, match=r'needs typer; install it with: pip install "mqframe\[standard\]"'):
        commands.register_commands()
