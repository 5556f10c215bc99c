"""Programs that `test_packaging` runs where the wheels were installed, apart from this checkout."""

EVERY_HELP = '''
import json

import typer
from typer.testing import CliRunner

from mqframe_cli.app import app


def paths(command, path):
    yield path
    for name, child in getattr(command, "commands", {}).items():
        yield from paths(child, (*path, name))


def wrong(path):
    """What is not as it should be about the help of a command."""
    result = CliRunner().invoke(app, [*path, "--help"], prog_name="mqframe")
    usage = " ".join(("Usage: mqframe", *path))
    return "" if result.exit_code == 0 and usage in result.output else f"{result.output}{result.exception!r}"


root = typer.main.get_command(app)
context = root.make_context("mqframe", [], resilient_parsing=True)
found = [()]
for name in root.list_commands(context):
    found += paths(root.get_command(context, name), (name,))
print(json.dumps({" ".join(path): wrong(path) for path in found}))
'''
"""Writes a JSON object: each command, and what is wrong with its help; "" for nothing."""

EVERY_PLUGIN = """
from mqframe.hooks.manager import PluginManager

for plugin in PluginManager().installed(options=True):
    if plugin.distribution != "mqframe":
        print(plugin.distribution, plugin.problem or "loads")
"""
"""Writes a line for each plugin of another distribution."""
