"""`mqframe dashboard`: what the command line finds by entry point, and may import before Typer is there."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Final

from mqframe.core.errors import PluginError
from mqframe.hooks.specs import hookimpl

COMMAND_HELP: Final = {
    "dashboard": "Serve a web dashboard of the cluster until Ctrl-C; read-only, unless users may sign in.",
    "dashboard-user": "Write the line of a user for the file of `mqframe dashboard --sign-in file:PATH`.",
}
"""What lists say of them without importing them."""


@hookimpl
def register_commands() -> Mapping[str, Any]:
    """The commands `dashboard` and `dashboard-user`. Raises `PluginError` without the command line."""
    if find_spec("typer") is None:
        raise PluginError('the command line needs typer; install it with: pip install "mqframe[standard]"')
    from mqframe_dashboard.command_line import dashboard, dashboard_user

    return {"dashboard": dashboard, "dashboard-user": dashboard_user}
