"""`mqframe cluster`: which brokers there are and how they do."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Annotated, Any

import typer
from mqframe_admin.bodies import broker_load

from mqframe.core.config.configuration import DEFAULT
from mqframe.core.errors import FixError, MqframeError, SettingError
from mqframe_cli.access import admin_client
from mqframe_cli.live.lag import ASKED_AT_ONCE
from mqframe_cli.output import Json, NameServer, show, show_one

if TYPE_CHECKING:
    from mqframe import Admin
    from mqframe.core.cluster.route_bodies import ClusterInfo


def cluster(
    runtime: Annotated[str, typer.Option(help="Counters and rates of this broker (name).")] = "",
    settings: Annotated[str, typer.Option(help="Settings of this broker (name).")] = "",
    origins: Annotated[
        bool, typer.Option("--origins", help="With --settings: where each value comes from.")
    ] = False,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """List brokers with their versions, rates (messages a second) and disks, or show the counters or the
    settings of one."""
    if origins and not settings:
        raise SettingError("--origins says more of --settings, which is not given; add --settings NAME")
    with admin_client(nameserver) as admin:
        if runtime or settings:
            address = admin.cluster.masters(broker=runtime or settings)[runtime or settings]
            if origins:
                show(_with_origins(admin, address), as_json=json)
                return
            ask = admin.brokers.runtime if runtime else admin.brokers.config
            show_one(dict(sorted(ask(address).items())), as_json=json)
            return
        rows = broker_rows(admin.cluster.info())
        with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
            loads = list(pool.map(lambda row: _load(admin, row["address"]), rows))
    shown = [row | load for row, load in zip(rows, loads, strict=True)]
    show(shown, as_json=json, empty="no broker is registered")


def _load(admin: Admin, address: str) -> dict[str, Any]:
    """What the broker at `address` does; nothing but why, of one that does not say."""
    try:
        counters = admin.brokers.runtime(address)
    except MqframeError as problem:
        return dict.fromkeys(("version", "in_per_s", "out_per_s", "disk_percent")) | {"problem": str(problem)}
    load = broker_load(counters)
    return {
        "version": load.version,
        "in_per_s": load.in_per_second,
        "out_per_s": load.out_per_second,
        "disk_percent": load.disk_percent,
        "problem": counters.get("storeTrouble", ""),
    }


def _with_origins(admin: Admin, address: str) -> list[dict[str, str]]:
    told = admin.brokers.config_origins(address)
    if told is None:
        raise FixError(
            f"the broker at {address} does not tell where its settings come from, as brokers of "
            "mqframe do; leave out --origins"
        )
    return [
        {"setting": key, "value": value, "origin": told.get(key, DEFAULT)}
        for key, value in sorted(admin.brokers.config(address).items())
    ]


def broker_rows(info: ClusterInfo) -> list[dict[str, Any]]:
    """A row for each broker, slaves too."""
    return [
        {
            "cluster": data.cluster,
            "broker": name,
            "id": int(number),
            "role": "master" if number == 0 else "slave",
            "address": address,
        }
        for name, data in sorted(info.broker_addr_table.items())
        for number, address in sorted(data.broker_addrs.items())
    ]
