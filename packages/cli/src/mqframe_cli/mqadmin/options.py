"""Options of `mqadmin`, as its scripts write them (source: the classes below tools/command)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from mqframe.core.errors import SettingError
from mqframe_cli.access import admin_command
from mqframe_cli.contexts.chosen import name_servers
from mqframe_cli.later import typed_ms

if TYPE_CHECKING:
    from mqframe import Admin

NameServers = Annotated[
    str,
    typer.Option(
        "-n",
        "--namesrvAddr",
        envvar="NAMESRV_ADDR",
        callback=name_servers,
        help="Name servers, host:port;host:port; else those of mqframe.toml here, or of the context.",
    ),
]
Topic = Annotated[str, typer.Option("-t", "--topic", help="Name of the topic.")]
SomeTopic = Annotated[str | None, typer.Option("-t", "--topic", help="Name of the topic.")]
Group = Annotated[str, typer.Option("-g", "--groupName", "--group", help="Name of the group.")]
SomeGroup = Annotated[str | None, typer.Option("-g", "--groupName", "--group", help="Name of the group.")]
Cluster = Annotated[str | None, typer.Option("-c", "--clusterName", help="Only the brokers of this cluster.")]
BrokerAddress = Annotated[
    str | None, typer.Option("-b", "--brokerAddr", help="Only the broker at this address.")
]
Time = Annotated[str | None, typer.Option(help="ms since 1970, or yyyy-MM-dd#HH:mm:ss:SSS.")]
YES: Final = "true"


def alias(app: typer.Typer, name: str, **more: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: as `admin_command`, with the name servers behind `-n`."""
    return admin_command(app, name, nameserver=NameServers, **more)


def flag(option: str, value: str) -> bool:
    """What "true" or "false" behind `option` says. Raises `SettingError`."""
    if value.lower() not in (YES, "false"):
        raise SettingError(f"{option} {value}: must be true or false")
    return value.lower() == YES


def time_ms(option: str, text: str) -> int:
    """A time as `mqadmin` takes it, ms since 1970; -1 for "now". Raises `SettingError`."""
    if text in ("now", "-1"):
        return -1
    if text.isascii() and text.isdecimal():
        return 0 if text == "0" else typed_ms(option, text)
    day, _, rest = text.partition("#")
    hour, _, fraction = rest.rpartition(":") if rest.count(":") == 3 else (rest, "", "0")
    try:
        return typed_ms(option, f"{day}T{hour or '00:00'}") + int(fraction)
    except (SettingError, ValueError):
        raise SettingError(
            f"{option} {text}: write now, ms since 1970, or a time as 2026-01-31#12:00:00:000"
        ) from None


def broker_named(admin: Admin, address: str | None) -> str | None:
    """The name of the broker at `address`; a name is taken as it is. Raises `SettingError`."""
    if address is None:
        return None
    table = admin.cluster.info().broker_addr_table
    for name, data in table.items():
        if address == name or address in data.broker_addrs.values():
            return name
    known = ", ".join(each for data in table.values() for each in data.broker_addrs.values()) or "none"
    raise SettingError(f"-b {address}: no broker of that address is registered; known: {known}")


def masters_of(admin: Admin, address: str | None, cluster: str | None) -> dict[str, str]:
    """Addresses of masters by broker name: of `-b`, or of the cluster of `-c`. Raises `SettingError`."""
    if address is None and cluster is None:
        raise SettingError("say which brokers: -b host:port, or -c CLUSTER")
    return admin.cluster.masters(cluster=cluster, broker=broker_named(admin, address))
