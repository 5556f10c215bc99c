"""`mqframe server`, `nameserver` and `broker`: the processes that serve."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from mqframe.cli.serving import Service

Host = Annotated[str | None, typer.Option("--host", help="Address to bind.  [default: 127.0.0.1]")]
NameServerPort = Annotated[
    int | None, typer.Option("--nameserver-port", help="0: any free port.  [default: 9876]")
]
BrokerPort = Annotated[int | None, typer.Option("--broker-port", help="0: any free port.  [default: 10911]")]
Data = Annotated[Path | None, typer.Option("--data", help="Directory for everything that is kept.")]
Advertise = Annotated[
    str | None, typer.Option("--advertise", help="Host by which clients on other machines reach the broker.")
]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", "-c", help="TOML file, or a RocketMQ broker.conf.", exists=False)
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="section.key=value, for example store.flush=SYNC_FLUSH.")
]
LogLevel = Annotated[str, typer.Option("--log-level", help="debug, info, warning or error.")]
LogJson = Annotated[bool, typer.Option("--log-json", help="Log one JSON object a line.")]


def server(
    host: Host = None,
    nameserver_port: NameServerPort = None,
    broker_port: BrokerPort = None,
    data: Data = None,
    advertise: Advertise = None,
    config: ConfigFile = None,
    set_: Settings = None,
    log_level: LogLevel = "warning",
    log_json: LogJson = False,
) -> None:
    """Run a name server and a broker in one process. Prints `ready` once both ports answer."""
    chosen = {
        "nameserver": {"host": host, "port": nameserver_port},
        "broker": {"host": host, "port": broker_port, "advertise": advertise},
        "store": {"directory": _store(data)},
    }
    _run(("nameserver", "broker"), chosen, config, set_, log_level, log_json)


def nameserver(
    host: Host = None,
    port: NameServerPort = None,
    data: Data = None,
    config: ConfigFile = None,
    set_: Settings = None,
    log_level: LogLevel = "warning",
    log_json: LogJson = False,
) -> None:
    """Run a name server. Prints `ready` once its port answers."""
    chosen = {"nameserver": {"host": host, "port": port}}
    _run(("nameserver",), chosen, config, set_, log_level, log_json)


def broker(
    host: Host = None,
    port: BrokerPort = None,
    nameserver: Annotated[
        str | None, typer.Option("--nameserver", envvar="NAMESRV_ADDR", help="host:port;host:port")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Broker name.  [default: broker-a]")] = None,
    data: Data = None,
    advertise: Advertise = None,
    config: ConfigFile = None,
    set_: Settings = None,
    log_level: LogLevel = "warning",
    log_json: LogJson = False,
) -> None:
    """Run a broker that registers with the given name servers. Prints `ready` once its port answers."""
    chosen = {
        "broker": {
            "host": host,
            "port": port,
            "nameservers": nameserver,
            "name": name,
            "advertise": advertise,
        },
        "store": {"directory": _store(data)},
    }
    _run(("broker",), chosen, config, set_, log_level, log_json)


def _store(data: Path | None) -> Path | None:
    return None if data is None else data / "store"
