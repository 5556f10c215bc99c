"""The metrics port of one process: /metrics, /healthz, /readyz."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import TimeoutError as TookTooLong
from http import HTTPStatus
from typing import Final

from msgspec import json

from mqframe.core.errors import SettingError
from mqframe.core.os_errors import told
from mqframe.hooks.interfaces import Exporter, MonitoredBroker, MonitoredNameServer, MonitoredProxy
from mqframe.log import get_logger
from mqframe_metrics.broker.source import BrokerSource
from mqframe_metrics.nameserver import NameServerSource
from mqframe_metrics.proxy import ProxySource
from mqframe_metrics.serving.gathering import Gatherer
from mqframe_metrics.serving.health import Health, Part, Readiness
from mqframe_metrics.serving.http_server import HttpServer, Page
from mqframe_metrics.serving.text import CONTENT_TYPE
from mqframe_metrics.settings import MetricsSettings
from mqframe_metrics.source import Measured

log = get_logger("metrics")

PROBE_SECONDS: Final = 1.0
"""How long the loop is waited for, to learn how busy it is."""
PORT_MAX: Final = 65535
MISSING = "--metrics-port needs prometheus-client: pip install 'mqframe[metrics]'"


class MetricsServer(Exporter):
    """Serves the metrics of the servers that it was told of, and whether all of `expected` have started.

    Everything that takes long is done in threads or in short turns of the loop; a loop that has no time is
    told of, and holds up metrics only. Raises `SettingError` without prometheus-client.
    """

    def __init__(self, settings: MetricsSettings, expected: tuple[str, ...]) -> None:
        try:
            import prometheus_client  # noqa: F401, asked for at the start rather than at the first scrape
        except ImportError:
            raise SettingError(MISSING) from None
        self._settings = settings
        self._gatherer = Gatherer(settings.series_max)
        self._readiness = Readiness(expected)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._http: HttpServer | None = None

    @property
    def addresses(self) -> Mapping[str, str]:
        """Where it listens, "host:port"; known once started."""
        return {"metrics": self.address}

    @property
    def address(self) -> str:
        """Where it listens, "host:port"; known once started."""
        port = self._settings.port if self._http is None else self._http.port
        host = self._settings.host
        return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"

    def settings_beside(self, number: int) -> Mapping[str, object]:
        """The port behind this one and those of the brokers before. Raises `SettingError` for the last."""
        port = self._settings.port
        if not port:
            return {"metrics.port": port}
        if port + 1 + number > PORT_MAX:
            raise SettingError(f"with metrics from port {port} on: the last is {PORT_MAX}")
        return {"metrics.port": port + 1 + number}

    def nameserver_started(self, name: str, server: MonitoredNameServer) -> None:
        """Show the metrics of the name server `name` from now on."""
        self.watch(name, NameServerSource(server))

    def broker_started(self, name: str, broker: MonitoredBroker) -> None:
        """Show the metrics of the broker `name` from now on; it is ready when name servers know it."""
        self.watch(name, BrokerSource(broker), broker)

    def proxy_started(self, name: str, proxy: MonitoredProxy) -> None:
        """Show the metrics of the proxy `name` from now on; it is ready when it has found a name server."""
        self.watch(name, ProxySource(proxy), proxy)

    def watch(self, name: str, source: Measured, part: Part | None = None) -> None:
        """The server `name` serves now; `source`: its metrics, `part`: whether it is ready."""
        self._gatherer.sources.append(source)
        self._readiness.started(name, part)

    def starting(self, name: str, doing: Callable[[], str]) -> None:
        """The server `name` is to start; `doing`: returns what it does meanwhile, for readiness."""
        self._readiness.starting(name, doing)

    async def start(self) -> None:
        """Listen. Raises `SettingError` when the address cannot be used."""
        self._loop = asyncio.get_running_loop()
        pages = {"/metrics": self._metrics, "/healthz": self._healthz, "/readyz": self._readyz}
        try:
            self._http = HttpServer(self._settings.host, self._settings.port or 0, pages)
        except OSError as problem:
            raise SettingError(f"metrics cannot start: {told(problem)}") from problem
        self._http.start()

    async def stop(self) -> None:
        """Listen no more."""
        http, self._http = self._http, None
        if http is not None:
            await asyncio.to_thread(http.stop)

    # In threads

    def _metrics(self) -> Page:
        from prometheus_client import REGISTRY, generate_latest

        assert self._loop is not None
        work = asyncio.run_coroutine_threadsafe(self._gatherer.text(), self._loop)
        try:
            parts = work.result(self._settings.scrape_seconds)
            # The process itself, and what plugins count with prometheus-client.
            return Page(HTTPStatus.OK, CONTENT_TYPE, [*parts, generate_latest(REGISTRY)])
        except TookTooLong:
            work.cancel()
            text = f"not done within {self._settings.scrape_seconds:g} s (metrics.scrape_seconds)\n"
            return Page(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", [text.encode()])
        except Exception:  # isolation boundary: a scrape's error is not the broker's
            log.exception("scrape failed")
            return Page(HTTPStatus.INTERNAL_SERVER_ERROR, "text/plain", [b"failed: see the log\n"])

    def _healthz(self) -> Page:
        return _page(HTTPStatus.OK, self._health())

    def _readyz(self) -> Page:
        health = self._health()
        return _page(HTTPStatus.OK if health.ready else HTTPStatus.SERVICE_UNAVAILABLE, health)

    def _health(self) -> Health:
        delay_ms = 0 if self._loop is None else _delay_ms(self._loop)
        return self._readiness.health(delay_ms, self._settings.overload_ms)


def _delay_ms(loop: asyncio.AbstractEventLoop) -> int:
    """After how long `loop` comes to new work, or `PROBE_SECONDS` where it takes longer."""
    turned, began = threading.Event(), time.monotonic()
    try:
        loop.call_soon_threadsafe(turned.set)
    except RuntimeError:  # it is closed
        return 0
    turned.wait(PROBE_SECONDS)
    return int((time.monotonic() - began) * 1000)


def _page(status: HTTPStatus, health: Health) -> Page:
    return Page(status, "application/json", [json.encode(health), b"\n"])
