"""Settings of the metrics port."""

from __future__ import annotations

from mqframe.core.config.settings import at_least, one_of, setting, settings, within


def _not_empty(value: str) -> str | None:
    return None if value else "must be an address; 0.0.0.0 stands for all"


@settings("metrics")
class MetricsSettings:
    """Where metrics, health and readiness are served, and how much of them.

    Files of RocketMQ name a port always, and say by the exporter whether it is used.
    """

    host: str = setting("127.0.0.1", doc="address to listen on", check=_not_empty)
    exporter: str = setting(
        "PROM",
        doc="PROM; others of RocketMQ's names (DISABLE, OTLP_GRPC, LOG): nothing is served, whatever port is "
        "named",
        check=one_of("PROM", "DISABLE", "OTLP_GRPC", "LOG"),
        conf="metricsExporterType",
    )
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

    @property
    def served(self) -> bool:
        """Whether there is to be such a port."""
        return self.port is not None and self.exporter == "PROM"
