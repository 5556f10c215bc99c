"""Brokers by the names of `mqadmin`."""

from __future__ import annotations

from fnmatch import fnmatch
from typing import TYPE_CHECKING, Annotated

import typer

from mqframe_cli.cluster import broker_rows
from mqframe_cli.mqadmin.options import BrokerAddress, Cluster, alias, masters_of
from mqframe_cli.output import Shown

if TYPE_CHECKING:
    from mqframe import Admin

BrokerName = Annotated[str, typer.Option("-b", "--brokerName", help="Name of the broker.")]


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    alias(app, "clusterList", empty="no broker is registered")(cluster_list)
    alias(app, "brokerStatus")(broker_status)
    alias(app, "getBrokerConfig")(get_broker_config)
    alias(app, "updateBrokerConfig")(update_broker_config)
    alias(app, "wipeWritePerm")(wipe_write_perm)
    alias(app, "addWritePerm")(add_write_perm)


def cluster_list(admin: Admin, cluster: Cluster = None) -> Shown:
    """List brokers."""
    return [row for row in broker_rows(admin.cluster.info()) if cluster in (None, row["cluster"])]


def broker_status(admin: Admin, broker: BrokerAddress = None, cluster: Cluster = None) -> Shown:
    """Show the counters and rates of brokers."""
    return [
        {"broker": name, "key": key, "value": value}
        for name, address in masters_of(admin, broker, cluster).items()
        for key, value in sorted(admin.brokers.runtime(address).items())
    ]


def get_broker_config(
    admin: Admin,
    broker: BrokerAddress = None,
    cluster: Cluster = None,
    key: Annotated[str, typer.Option("-k", "--keyPattern", help="Only keys like this: flush*.")] = "*",
) -> Shown:
    """Show the settings of brokers."""
    return [
        {"broker": name, "key": setting, "value": value}
        for name, address in masters_of(admin, broker, cluster).items()
        for setting, value in sorted(admin.brokers.config(address).items())
        if fnmatch(setting, key)
    ]


def update_broker_config(
    admin: Admin,
    key: Annotated[str, typer.Option("-k", "--key", help="Setting, by its RocketMQ name.")],
    value: Annotated[str, typer.Option("-v", "--value", help="Its value from now on.")],
    broker: BrokerAddress = None,
    cluster: Cluster = None,
) -> Shown:
    """Change a setting of running brokers."""
    masters = masters_of(admin, broker, cluster)
    for address in masters.values():
        admin.brokers.update_config(address, {key: value})
    return [{"broker": name, "key": key, "value": value} for name in masters]


def wipe_write_perm(admin: Admin, broker: BrokerName) -> Shown:
    """Have producers leave a broker."""
    admin.cluster.masters(broker=broker)
    return {"broker": broker, "topics": admin.brokers.wipe_write_permission(broker)}


def add_write_perm(admin: Admin, broker: BrokerName) -> Shown:
    """Let producers use a broker again."""
    admin.cluster.masters(broker=broker)
    return {"broker": broker, "topics": admin.brokers.add_write_permission(broker)}
