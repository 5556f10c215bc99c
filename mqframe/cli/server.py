"""`mqframe server`, `nameserver` and `broker`: the processes that serve."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import attrs
import typer

from mqframe.cli.commands import plugin_manager
from mqframe.cli.logs import LogJson, LogLevel, check_level, show_logs

if TYPE_CHECKING:
    from mqframe.cli.serving import Service
    from mqframe.core.config.configuration import Resolved
    from mqframe.hooks.manager import PluginManager
    from mqframe.net.access.access import Access
    from mqframe.net.clock import SystemClock

_LOOPBACK: Final = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}

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
    chosen: dict[str, dict[str, Any]] = {
        "--host": {"nameserver.host": host, "broker.host": host},
        "--nameserver-port": {"nameserver.port": nameserver_port},
        "--broker-port": {"broker.port": broker_port},
        "--advertise": {"broker.advertise": advertise},
        "--data": {
            "store.directory": _below(data, "store"),
            "nameserver.directory": _below(data, "nameserver"),
        },
    }
    _serve("server", chosen, config, set_, log_level, log_json)


def nameserver(
    host: Host = None,
    port: Annotated[int | None, typer.Option(help="0: any free port.  [default: 9876]")] = None,
    data: Data = None,
    config: ConfigFile = None,
    set_: Settings = None,
    log_level: LogLevel = "warning",
    log_json: LogJson = False,
) -> None:
    """Run a name server. Prints `ready` once its port answers."""
    chosen: dict[str, dict[str, Any]] = {
        "--host": {"nameserver.host": host},
        "--port": {"nameserver.port": port},
        "--data": {"nameserver.directory": _below(data, "nameserver")},
    }
    _serve("nameserver", chosen, config, set_, log_level, log_json)


def broker(
    host: Host = None,
    port: Annotated[int | None, typer.Option(help="0: any free port.  [default: 10911]")] = None,
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
    chosen: dict[str, dict[str, Any]] = {
        "--host": {"broker.host": host},
        "--port": {"broker.port": port},
        "--nameserver": {"broker.nameservers": nameserver},
        "--name": {"broker.name": name},
        "--advertise": {"broker.advertise": advertise},
        "--data": {"store.directory": _below(data, "store")},
    }
    _serve("broker", chosen, config, set_, log_level, log_json)


def _below(data: Path | None, name: str) -> Path | None:
    return None if data is None else data / name


def _serve(
    program: str,
    options: Mapping[str, Mapping[str, Any]],
    config: Path | None,
    items: Sequence[str] | None,
    log_level: str,
    log_json: bool,
) -> None:
    from mqframe.cli.configuration import load
    from mqframe.cli.serving import serve

    check_level(log_level)
    resolved = load(program, options, config, items or ())
    for warning in resolved.warnings:
        sys.stderr.write(f"mqframe: {warning}\n")
    show_logs(log_level, as_json=log_json)
    _keep_private(program, resolved)
    serve(_services(program, resolved))


def _keep_private(program: str, resolved: Resolved) -> None:
    """Let what plugins write be as hidden from other users as the store."""
    import os

    from mqframe.nameserver.settings import NameServerSettings
    from mqframe.store.files.modes import umask, use_mode
    from mqframe.store.settings import StoreSettings

    if program == "nameserver":
        use_mode(resolved.section(NameServerSettings).file_mode)
    else:
        use_mode(resolved.section(StoreSettings).file_mode)
    os.umask(umask())


def _services(program: str, resolved: Resolved) -> Mapping[str, Callable[[], Service]]:
    """The parts of `program` by the name that they have in the `ready` line, in the order of their start."""
    from mqframe.net.clock import SystemClock
    from mqframe.net.settings import NetSettings

    plugins = plugin_manager().configured(resolved.plugins())
    clock, net = SystemClock(), resolved.section(NetSettings)
    nameservers: list[Service] = []
    access = _access(program, resolved, clock, plugins)

    def make_nameserver() -> Service:
        from mqframe.nameserver.server import NameServer
        from mqframe.nameserver.settings import NameServerSettings

        server = NameServer(resolved.section(NameServerSettings), clock, net)
        if access is not None:
            server.enforce(access)
        nameservers.append(server)
        return server

    def make_broker() -> Service:
        from mqframe.broker.broker import Broker
        from mqframe.broker.settings import BrokerSettings
        from mqframe.store.settings import StoreSettings

        settings: Any = resolved.section(BrokerSettings)
        own = tuple(_reachable(each.address) for each in nameservers)
        settings = attrs.evolve(settings, nameservers=own + settings.nameservers)
        stored = resolved.section(StoreSettings)
        broker = Broker(settings, stored, clock, net, plugins)
        if access is not None:
            broker.enforce(access)
        return broker

    parts = {"nameserver": make_nameserver, "broker": make_broker}
    return {name: make for name, make in parts.items() if program in ("server", name)}


def _access(program: str, resolved: Resolved, clock: SystemClock, plugins: PluginManager) -> Access | None:
    """Access control of all servers of the program; `None` where everybody is served."""
    from mqframe.net.access.settings import AccessSettings

    settings = resolved.section(AccessSettings)
    if not settings.authentication:
        return None
    from mqframe.broker.settings import BrokerSettings
    from mqframe.nameserver.settings import NameServerSettings
    from mqframe.net.access.access import Access, kept_below
    from mqframe.store.files.config_file import ConfigFile as KeptFile
    from mqframe.store.files.layout import Layout
    from mqframe.store.settings import StoreSettings

    logging.getLogger("mqframe.audit").setLevel(logging.INFO)
    if program == "nameserver":
        cluster, directory = "", resolved.section(NameServerSettings).directory
    else:
        cluster = resolved.section(BrokerSettings).cluster
        directory = Layout(resolved.section(StoreSettings).directory).config
    return Access(settings, clock, plugins, cluster=cluster, keep=kept_below(directory, KeptFile))


def _reachable(address: str) -> str:
    """`address` as this machine itself reaches it: a server on all interfaces is also on loopback."""
    host, _, port = address.rpartition(":")
    return f"{_LOOPBACK.get(host, host)}:{port}"
