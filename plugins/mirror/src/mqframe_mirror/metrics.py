"""What monitoring is shown of a mirror, by prometheus-client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from mqframe.core.errors import SettingError
from mqframe.core.os_errors import told
from mqframe_mirror.mirror import Mirror
from mqframe_mirror.tally import LaneTally

if TYPE_CHECKING:
    from prometheus_client import Metric

MISSING: Final = '--metrics-port needs prometheus-client: pip install "mqframe-plugin-mirror[metrics]"'
LABELS: Final = ("source", "target", "topic", "broker", "queue")
COUNTERS: Final[dict[str, tuple[str, Callable[[LaneTally], int]]]] = {
    "copied_messages": ("Messages that were copied.", attrgetter("copied")),
    "copied_bytes": ("Bytes of these, with their properties.", attrgetter("copied_bytes")),
    "looped_messages": ("Messages left out: they had been at the target.", attrgetter("looped")),
    "refused_messages": ("Messages left out: the target takes no such.", attrgetter("refused")),
    "missed_messages": ("Messages that were gone before they were copied.", attrgetter("missed")),
    "settled_requests": ("Requests without an answer whose end was looked for.", attrgetter("settled")),
}


class MirrorCollector:
    """Gives the metrics of `mirror` to a registry of prometheus-client."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror

    def collect(self) -> Iterator[Metric]:
        """All metrics, as they are now. Called in the thread of who scrapes."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        lanes = list(self._lanes())
        now = self._mirror.link.clock.now_ms()
        gauges: dict[str, tuple[str, Callable[[LaneTally], float]]] = {
            "lag_messages": ("Messages that are not copied yet.", attrgetter("lag")),
            "lag_seconds": (
                "How long the first of these has been stored.",
                lambda tally: tally.lag_seconds(now),
            ),
            "held_up": ("1 while something holds the queue up.", lambda tally: bool(tally.problem)),
        }
        for name, (meaning, value) in gauges.items():
            gauge = GaugeMetricFamily(f"mqframe_mirror_{name}", meaning, labels=LABELS)
            for labels, tally in lanes:
                gauge.add_metric(labels, value(tally))
            yield gauge
        for name, (meaning, count) in COUNTERS.items():
            counter = CounterMetricFamily(f"mqframe_mirror_{name}", meaning, labels=LABELS)
            for labels, tally in lanes:
                counter.add_metric(labels, count(tally))
            yield counter

    def _lanes(self) -> Iterator[tuple[list[str], LaneTally]]:
        source, target = self._mirror.source.name, self._mirror.target.name
        for topic in list(self._mirror.topics.values()):
            for queue, lane in list(topic.lanes.items()):
                labels = [source, target, topic.topic, queue.broker_name, str(queue.queue_id)]
                yield labels, lane.tally


def serve_metrics(mirror: Mirror, port: int, host: str = "127.0.0.1") -> Callable[[], object]:
    """Serve the metrics of `mirror`, and those of the process, at /metrics; returns what ends that.

    Raises `SettingError` without prometheus-client, and for a port that cannot be had.
    """
    try:
        from prometheus_client import (
            GC_COLLECTOR,
            PLATFORM_COLLECTOR,
            PROCESS_COLLECTOR,
            CollectorRegistry,
            start_http_server,
        )
    except ImportError:
        raise SettingError(MISSING) from None
    registry = CollectorRegistry()
    collectors: list[Any] = [MirrorCollector(mirror), GC_COLLECTOR, PLATFORM_COLLECTOR, PROCESS_COLLECTOR]
    for collector in collectors:
        registry.register(collector)
    try:
        server, _ = start_http_server(port, host, registry)
    except OSError as problem:
        raise SettingError(f"--metrics-port {port}: {told(problem)}") from problem

    def end() -> None:
        server.shutdown()
        server.server_close()

    return end
