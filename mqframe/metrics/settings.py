"""Settings of the metrics port."""

from __future__ import annotations

from mqframe.core.config.settings import at_least, setting, settings, within


@settings("metrics")
class MetricsSettings:
    """Where metrics, health and readiness are served, and how much of them."""

    host: str = setting("127.0.0.1", doc="address to listen on", conf="metricsPromExporterHost")
    port: int | None = setting(
        None,
        doc="port of /metrics, /healthz and /readyz; 0: any free one; without it nothing is served",
        check=lambda value: None if value is None else within(0, 65535)(value),
        conf="metricsPromExporterPort",
    )
    series_max: int = setting(
        10_000,
        doc="most series of one metric; what is beyond comes as one series, otel_metric_overflow",
        check=at_least(1),
        conf="metricsOtelCardinalityLimit",
    )
    scrape_seconds: float = setting(
        10.0, doc="longest time that one scrape may take before it is given up, s", check=at_least(0.1)
    )
    overload_ms: int = setting(
        200,
        doc="a server whose loop comes to new work only after so long is called overloaded, ms",
        check=at_least(1),
    )
