"""`mqframe spark`: pipelines and ready-made jobs from the command line."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Final

from mqframe.core.errors import PluginError
from mqframe.hooks.specs import hookimpl

COMMAND_HELP: Final = {
    "spark": "Topics and Spark: pipelines on streams, and ready-made jobs.",
}
"""What lists say of them without importing them."""


@hookimpl
def register_commands() -> Mapping[str, Any]:
    """The Typer application `spark`.

    Raises `PluginError` where the command line's own dependencies are not installed: who has none of them has
    no command line to call this.
    """
    if find_spec("typer") is None:
        raise PluginError('the command line needs typer; install it with: pip install "mqframe[standard]"')
    from mqframe_spark.command_line.app import app

    return {"spark": app}
