"""The commands that come with the kernel."""

from __future__ import annotations

from importlib import import_module

from mqframe.cli.built_in import COMMANDS, register_commands
from mqframe.hooks.built_in import entry_points


def test_every_command_leads_to_something_that_can_be_run() -> None:
    for name, place in register_commands().items():
        module, _, attribute = place.partition(":")
        found = getattr(import_module(module), attribute)
        assert callable(found), name


def test_the_names_are_those_that_the_kernel_announces() -> None:
    announced = {entry.name.removeprefix("command.") for entry in entry_points() if "command." in entry.name}
    assert announced == set(COMMANDS)
