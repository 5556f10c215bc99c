"""How servers are monitored: which exporters show what they measure."""

from __future__ import annotations

from typing import Final

from mqframe.core.config.settings import setting, settings

USUAL_EXPORTERS: Final = ("prometheus",)


@settings("monitoring")
class MonitoringSettings:
    """What shows others how the servers of a process are."""

    exporters: tuple[str, ...] = setting(
        USUAL_EXPORTERS,
        doc="exporters of what servers measure, by name; the usual one is left out where it is not installed",
        plugin="exporter",
    )
