"""`mqframe quota`: what the command line finds by entry point, and may import before Typer is there."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Final

from mqframe.core.errors import PluginError
from mqframe.hooks.specs import hookimpl

COMMAND_HELP: Final = {
    "quota": "What users, addresses, topics and groups may have: set, list, show, delete quotas.",
}
"""What lists say of them without importing them."""


@hookimpl
def register_commands() -> Mapping[str, Any]:
    """The Typer application `quota`. Raises `PluginError` where the command line is not installed."""
    if find_spec("typer") is None:
        raise PluginError('the command line needs typer; install it with: pip install "mqframe[standard]"')
    from mqframe_quotas.command_line import app

    return {"quota": app}
