"""The exporter that this distribution registers."""

from __future__ import annotations

from mqframe.hooks.interfaces import Exporter, ExporterPort
from mqframe.hooks.specs import Factories, hookimpl
from mqframe_metrics.settings import MetricsSettings


def prometheus(port: ExporterPort) -> Exporter:
    """The metrics port, where the settings name one. Raises `SettingError` without prometheus-client."""
    settings = port.settings(MetricsSettings)
    if not settings.served:
        return Exporter()
    # Nobody else waits for the import of an HTTP server.
    from mqframe_metrics.serving.server import MetricsServer

    return MetricsServer(settings, port.servers)


@hookimpl
def register_exporters() -> Factories:
    """The exporter of those who choose none."""
    return {"prometheus": prometheus}
