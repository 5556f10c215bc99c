"""`mqframe proxy`: the door for gRPC clients in a process of its own, before brokers of any kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from mqframe_cli.extension import settings_of
from mqframe_cli.logs import LogJson, LogLevel, check_level, show_logs
from mqframe_cli.server import Host, MetricsPort

if TYPE_CHECKING:
    from mqframe.core.config.configuration import Resolved
    from mqframe_grpc.proxy import Proxy

ANSWER_SECONDS: Final = 2.0
"""Brokers are waited for so long, unless settings say otherwise: clients wait for the door for 3 s."""

Port = Annotated[int | None, typer.Option("--port", help="0: any free port.  [default: 8081]")]
Servers = Annotated[
    str | None, typer.Option("--nameserver", envvar="NAMESRV_ADDR", help="host:port;host:port")
]
Advertised = Annotated[
    str | None,
    typer.Option("--advertised", help="host:port that clients are told.  [default: as each found it]"),
]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", "-c", help="TOML file: [plugins.grpc], [client], [access] …")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="section.key=value, for example plugins.grpc.tls=enforcing."),
]


def proxy(
    host: Host = None,
    port: Port = None,
    nameserver: Servers = None,
    advertised: Advertised = None,
    metrics_port: MetricsPort = None,
    config: ConfigFile = None,
    set_: Settings = None,
    log_level: LogLevel = "warning",
    log_json: LogJson = False,
) -> None:
    """Serve clients of RocketMQ's gRPC protocol before the brokers that name servers know.

    Brokers of mqframe and of Apache RocketMQ alike. Prints `ready` once its port answers. It keeps nothing:
    several may stand side by side. On SIGTERM it answers what it serves, and sends its clients elsewhere.
    """
    from mqframe_cli.processes.exporters import Exporters
    from mqframe_cli.processes.serving import serve

    check_level(log_level)
    options: dict[str, dict[str, Any]] = {
        "--host": {"plugins.grpc.host": host, **_of_metrics(host)},
        "--port": {"plugins.grpc.port": port},
        "--nameserver": {"client.nameserver": nameserver},
        "--advertised": {"plugins.grpc.advertised": advertised},
        "--metrics-port": {"metrics.port": metrics_port},
    }
    resolved = settings_of("proxy", options, config, set_)
    for warning in resolved.warnings:
        typer.echo(f"mqframe: {warning}", err=True)
    show_logs(log_level, as_json=log_json)
    exporters = Exporters(resolved, ("proxy",))
    serve({**exporters.services(), "proxy": _proxy(resolved)}, on_started=exporters.started)


def _of_metrics(host: str | None) -> dict[str, str | None]:
    """What `--host` sets besides, where something serves metrics."""
    from mqframe.hooks.sections import added_sections

    return {"metrics.host": host} if "metrics" in added_sections("proxy") else {}


def _proxy(resolved: Resolved) -> Callable[[], Proxy]:
    """Makes the proxy of these settings, in the loop that it is to run in."""
    import attrs
    from mqframe_cli.settings.configuration import given_origins
    from mqframe_cli.settings.run_plugins import plugin_manager

    from mqframe.client.configuration.sections import ClientSection
    from mqframe.net.access.settings import AccessSettings
    from mqframe.net.clock import SystemClock
    from mqframe.net.settings import NetSettings
    from mqframe_grpc.judging import ProxyAccess
    from mqframe_grpc.proxy import Proxy

    plugins = plugin_manager().configured(resolved.plugins())
    client: Any = resolved.section(ClientSection)
    net = resolved.section(NetSettings)
    if "client.request_timeout_seconds" not in given_origins(resolved):
        client = attrs.evolve(client, request_timeout_seconds=ANSWER_SECONDS)
    options = plugins.check("broker_service", "grpc")
    hooks = plugins.create_all("rpc_hook", client.rpc_hooks)
    clock = SystemClock()
    access = ProxyAccess(resolved.section(AccessSettings), plugins, clock, hooks)
    return lambda: Proxy(client, net, options, clock, access)
