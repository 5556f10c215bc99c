"""How the tools read a log: as a broker here would at its start."""

from __future__ import annotations

from mqframe.core.config.programs import STANDARD_SERVICES
from mqframe.core.storage.log_reading import LogReading
from mqframe.hooks.manager import PluginManager


def installed_reading() -> type[LogReading]:
    """What one of a broker's own services, as far as they are installed, brings to read the log with.

    Raises `PluginError` for one that cannot be imported.
    """
    plugins = PluginManager()
    there = plugins.names("broker_service")
    found = plugins.brought([name for name in STANDARD_SERVICES if name in there], LogReading)
    return LogReading if found is None else found[1]
