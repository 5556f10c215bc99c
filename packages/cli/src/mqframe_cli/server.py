"""`mqframe server`, `nameserver` and `broker`: the processes that serve."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from mqframe.core.config.programs import PARTS
from mqframe.core.errors import MqframeError
from mqframe_cli.commands import exit_code
from mqframe_cli.logs import LogJson, LogLevel, check_level, show_logs
from mqframe_cli.settings.configuration import data_option, host_option
from mqframe_cli.settings.run_plugins import plugin_manager

if TYPE_CHECKING:
    from mqframe.core.config.configuration import Resolved
    from mqframe.hooks.manager import PluginManager
    from mqframe.net.access.access import Access
    from mqframe.net.clock import SystemClock
    from mqframe.store.upkeep.opening_progress import OpeningProgress
    from mqframe_cli.processes.exporters import Exporters
    from mqframe_cli.processes.places import BrokerSite
    from mqframe_cli.processes.serving import Service, Services

BROKERS_MAX: Final = 26
"""As many as there are letters to name them."""
REPLICAS_MAX: Final = 3
_OF_ALL: Final = ("--host", "--advertise")
"""Options that several brokers are given as they stand."""
_LOOPBACK: Final = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}

Host = Annotated[str | None, typer.Option("--host", help="Address to bind.  [default: 127.0.0.1]")]
NameServerPort = Annotated[
    int | None, typer.Option("--nameserver-port", help="0: any free port.  [default: 9876]")
]
BrokerPort = Annotated[int | None, typer.Option("--broker-port", help="0: any free port.  [default: 10911]")]
Data = Annotated[Path | None, typer.Option("--data", help="Folder of all that is kept.  [default: ~/store]")]
Advertise = Annotated[
    str | None, typer.Option("--advertise", help="Host by which clients on other machines reach the broker.")
]
MetricsPort = Annotated[
    int | None,
    typer.Option("--metrics-port", help="Serve Prometheus metrics, health and readiness. 0: any free port."),
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
    brokers: Annotated[
        int, typer.Option("--brokers", min=1, max=BROKERS_MAX, help="More than one: a process for each.")
    ] = 1,
    replicas: Annotated[
        int,
        typer.Option("--replicas", min=1, max=REPLICAS_MAX, help="2 or 3: copies that elect a leader."),
    ] = 1,
    metrics_port: MetricsPort = None,
    config: ConfigFile = None,
    set_: Settings = None,
    log_level: LogLevel = "warning",
    log_json: LogJson = False,
) -> None:
    """Run a name server and brokers. Prints `ready` once all ports answer.

    One broker runs in the process of the name server. Several have processes of their own: the first with the
    name, port and store that a single one has, each further one with -b, -c … behind its name and store
    folder, and a port that is 10 higher. One that dies is started again.

    With `--replicas` they have one name and the same messages, and elect a leader; another one leads seconds
    after that died. On one machine this is for a look: no message outlives its disk.
    """
    chosen: dict[str, dict[str, Any]] = {
        "--host": host_option(host, "nameserver", "broker"),
        "--nameserver-port": {"nameserver.port": nameserver_port},
        "--broker-port": {"broker.port": broker_port},
        "--advertise": {"broker.advertise": advertise},
        "--metrics-port": {"metrics.port": metrics_port},
        "--data": data_option("server", data),
    }
    _serve("server", chosen, config, set_, log_level, log_json, brokers=brokers, replicas=replicas)


def nameserver(
    host: Host = None,
    port: Annotated[int | None, typer.Option(help="0: any free port.  [default: 9876]")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of what is kept.  [default: none is]")] = None,
    metrics_port: MetricsPort = None,
    config: ConfigFile = None,
    set_: Settings = None,
    log_level: LogLevel = "warning",
    log_json: LogJson = False,
) -> None:
    """Run a name server. Prints `ready` once its port answers."""
    chosen: dict[str, dict[str, Any]] = {
        "--host": host_option(host, "nameserver"),
        "--port": {"nameserver.port": port},
        "--metrics-port": {"metrics.port": metrics_port},
        "--data": data_option("nameserver", data),
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
    metrics_port: MetricsPort = None,
    config: ConfigFile = None,
    set_: Settings = None,
    log_level: LogLevel = "warning",
    log_json: LogJson = False,
    supervised: Annotated[bool, typer.Option("--supervised", hidden=True)] = False,
) -> None:
    """Run a broker that registers with the given name servers. Prints `ready` once its port answers."""
    chosen: dict[str, dict[str, Any]] = {
        "--host": host_option(host, "broker"),
        "--port": {"broker.port": port},
        "--nameserver": {"broker.nameservers": nameserver},
        "--name": {"broker.name": name},
        "--advertise": {"broker.advertise": advertise},
        "--metrics-port": {"metrics.port": metrics_port},
        "--data": data_option("broker", data),
    }
    if supervised:
        with _telling_supervisor() as ready:
            _serve("broker", chosen, config, set_, log_level, log_json, ready=ready)
    else:
        _serve("broker", chosen, config, set_, log_level, log_json)


def _serve(
    program: str,
    options: Mapping[str, Mapping[str, Any]],
    config: Path | None,
    items: Sequence[str] | None,
    log_level: str,
    log_json: bool,
    *,
    brokers: int = 1,
    replicas: int = 1,
    ready: Callable[[Mapping[str, str]], object] | None = None,
) -> None:
    """`ready`: who is told the addresses in place of standard output, and needs no warnings of settings."""
    from mqframe.store.upkeep.opening_progress import OpeningProgress
    from mqframe_cli.processes.exporters import Exporters
    from mqframe_cli.processes.serving import print_ready, serve
    from mqframe_cli.settings.configuration import load

    check_level(log_level)

    def settings_of(name: str) -> Resolved:
        return load(program, options, config, items or (), profile=name, processes=brokers, replicas=replicas)

    resolved = _of_the_name(program, settings_of)
    for warning in resolved.warnings if ready is None else ():
        sys.stderr.write(f"mqframe: {warning}\n")
    show_logs(log_level, as_json=log_json)
    _keep_private(program, resolved)
    several = program == "server" and max(brokers, replicas) > 1  # brokers have exporters of their own
    exporters = Exporters(resolved, ("nameserver",) if several else PARTS.get(program, (program,)))
    where = _places(brokers, replicas, settings_of, exporters) if program == "server" else ()
    progress = OpeningProgress(time.monotonic)
    if len(where) < 2:
        parts = _services(program, resolved, progress)
    else:
        given = {option: value for option in _OF_ALL for value in options[option].values()}
        given |= {"--config": config, "--log-level": log_level}
        words = [word for name, value in given.items() if value is not None for word in (name, str(value))]
        words += [word for item in items or () for word in ("--set", item)]
        parts = _several(settings_of(""), where, words + (["--log-json"] if log_json else []))
    exporters.starting("broker", lambda: progress.text)
    # They start first, to say that the others have not yet.
    serve({**exporters.services(), **parts}, ready or print_ready, exporters.started)


def _of_the_name(program: str, settings_of: Callable[[str], Resolved]) -> Resolved:
    """The settings of `program`; where that is a broker, with what is said for the one of its name."""
    from mqframe.broker.settings import BrokerSettings

    resolved = settings_of("")
    return resolved if program == "nameserver" else settings_of(resolved.section(BrokerSettings).name)


def _places(
    brokers: int, replicas: int, settings_of: Callable[[str], Resolved], exporters: Exporters
) -> Sequence[BrokerSite]:
    from mqframe_cli.processes.places import places, warn_of_unserved
    from mqframe_cli.processes.replicas import refuse_both, replica_places

    refuse_both(brokers, replicas)
    beside = exporters.settings_beside
    if replicas > 1:
        where = replica_places(replicas, settings_of, beside)
    else:
        where = places(brokers, settings_of, exporting=beside)
    warn_of_unserved(where, settings_of(""))
    return where


@contextlib.contextmanager
def _telling_supervisor() -> Iterator[Callable[[Mapping[str, str]], None]]:
    """Have the supervisor hear what standard output and error would show: the address, or a failure."""
    from mqframe_cli.processes.parent import FAILED, READY, end_with_supervisor, tell_supervisor

    end_with_supervisor()
    try:
        yield lambda addresses: tell_supervisor(
            f"{READY} {addresses['broker']} {addresses.get('metrics', '')}"
        )
    except MqframeError as problem:
        tell_supervisor(f"{FAILED} {problem}")
        raise typer.Exit(exit_code(problem)) from None


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


def _services(
    program: str, resolved: Resolved, progress: OpeningProgress
) -> Mapping[str, Callable[[], Service | Services]]:
    """The parts of `program` by the name that they have in the `ready` line, in the order of their start.

    `progress`: is told how far the opening of a broker's store is.
    """
    from mqframe.net.clock import SystemClock
    from mqframe.net.settings import NetSettings

    plugins = plugin_manager().configured(resolved.plugins())
    clock, net = SystemClock(), resolved.section(NetSettings)
    nameservers: list[Service] = []
    access = _access(program, resolved, clock, plugins)

    def make_nameserver() -> Service:
        from mqframe.nameserver.server import NameServer
        from mqframe.nameserver.settings import NameServerSettings

        server = NameServer(resolved.section(NameServerSettings), clock, net, plugins)
        if access is not None:
            server.enforce(access)
        nameservers.append(server)
        return server

    def make_broker() -> Service:
        from mqframe_cli.processes.broker_parts import BrokerParts, broker_of

        own = tuple(_reachable(each.address) for each in nameservers)
        return broker_of(resolved, own, BrokerParts(clock, plugins, access, progress))

    parts = {"nameserver": make_nameserver, "broker": make_broker}
    return {name: parts[name] for name in PARTS.get(program, (program,))}


def _several(
    resolved: Resolved, where: Sequence[BrokerSite], words: Sequence[str]
) -> Mapping[str, Callable[[], Service | Services]]:
    """A name server, and brokers in processes of their own, which are given `words`."""
    from mqframe.broker.settings import BrokerSettings
    from mqframe.nameserver.server import NameServer
    from mqframe.nameserver.settings import NameServerSettings
    from mqframe.net.clock import SystemClock
    from mqframe.net.settings import NetSettings
    from mqframe_cli.processes.brokers import Brokers, words_of
    from mqframe_cli.processes.replicas import ReplicaBrokers, away_seconds, election_words, own_words

    clock, net = SystemClock(), resolved.section(NetSettings)
    plugins = plugin_manager().configured(resolved.plugins())
    nameserver = NameServer(resolved.section(NameServerSettings), clock, net, plugins)
    # Brokers have users of their own, so this one is as any name server by itself.
    if (access := _access("nameserver", resolved, clock, plugins)) is not None:
        nameserver.enforce(access)
    settings = resolved.section(BrokerSettings)
    words = [*words, "--set", f"net.busy_poll_microseconds={net.busy_poll_microseconds}"]
    words += ["--set", f"broker.share_new_topics={str(settings.share_new_topics).lower()}"]

    are_replicas = where[0].number > 0
    if are_replicas:
        words = [*election_words(where, resolved), *words]

    def leader() -> str:
        return nameserver.registry.master(settings.name)

    def make_brokers() -> Services:
        nameservers = (_reachable(nameserver.address), *settings.nameservers)
        if not are_replicas:
            return Brokers({place: words_of(place, nameservers, words) for place in where}, clock)
        named = {each: words_of(each, nameservers, [*words, *own_words(each, resolved)]) for each in where}
        return ReplicaBrokers(named, clock, leader, away_seconds(resolved))

    return {"nameserver": lambda: nameserver, "brokers": make_brokers}


def _access(program: str, resolved: Resolved, clock: SystemClock, plugins: PluginManager) -> Access | None:
    """Access control of all servers of the program; `None` where everybody is served."""
    from mqframe.net.access.settings import AccessSettings

    settings = resolved.section(AccessSettings)
    if not settings.authentication_plugin:
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
