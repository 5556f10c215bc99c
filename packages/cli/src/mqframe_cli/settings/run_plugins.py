"""The plugins of the command that runs."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mqframe.hooks.manager import PluginManager

PLUGINS_OF_RUN: Final[ContextVar[PluginManager]] = ContextVar("plugins of this run")


def plugin_manager() -> PluginManager:
    """The one manager of the command that runs; outside of one a new manager."""
    from mqframe.hooks.manager import PluginManager

    return PLUGINS_OF_RUN.get(None) or PluginManager()
