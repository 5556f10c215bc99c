"""The cluster and its brokers: addresses, versions, rates, disks; and one broker's counters and settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mqframe_admin.bodies import broker_load

from mqframe.core.cluster.route_bodies import ClusterInfo
from mqframe.core.config.configuration import DEFAULT
from mqframe.core.config.suggestions import did_you_mean
from mqframe.core.errors import MqframeError
from mqframe_dashboard.asking import Asking, NotFound
from mqframe_dashboard.curves import NO_DATA, Chart, Curve
from mqframe_dashboard.masking import masked
from mqframe_dashboard.query import Query
from mqframe_dashboard.sampling import BrokerSeries, Samples
from mqframe_dashboard.view import Facts, Links, Note, Page, Part, TableView, link, time_text

_TROUBLES: Final = ("storeTrouble", "replicationTrouble", "roleTrouble")
"""Counters in which brokers say what is wrong, in words."""


async def cluster_page(asking: Asking, samples: Samples, query: Query) -> Page:
    """All brokers; those that do not answer are told as such."""
    info = await asking.ask(asking.admin.cluster.info)
    members = _members(info)
    runtimes = await asking.ask_each(asking.admin.brokers.runtime, [address for _, _, _, address in members])
    rows = [
        {
            "cluster": cluster,
            "broker": link("broker", name, name=name, id=str(number)),
            "role": _role(number, runtimes[address]),
            "address": address,
            "in_last_hour": _curve(samples, name) if number == 0 else "",
            **_state(runtimes[address]),
        }
        for cluster, name, number, address in members
    ]
    return Page(
        "Cluster",
        [
            TableView("Brokers", rows, "no broker is registered"),
            *_charts(samples.cluster, samples),
            Links([link("alarms", "All alarms")]),
        ],
        live=True,
    )


def _curve(samples: Samples, broker: str) -> Curve | str:
    kept = samples.brokers.get(broker)
    rates = [] if kept is None else samples.rates_of(kept.puts)
    return Curve(rates, samples.span) if rates else NO_DATA


def _charts(counts: BrokerSeries, samples: Samples) -> list[Part]:
    return [
        Chart("In over the last hour", samples.rates_of(counts.puts), samples.span, "Messages in"),
        Chart("Out over the last hour", samples.rates_of(counts.gets), samples.span, "Messages out"),
    ]


async def broker_page(asking: Asking, samples: Samples, query: Query) -> Page:
    """Counters of one broker: its runtime facts."""
    name, number, address = await chosen_broker(asking, query)
    runtime = await asking.ask(asking.admin.brokers.runtime, address)
    settings = link("configuration", "Configuration", name=name, id=str(number))
    kept = samples.brokers.get(name, BrokerSeries()) if number == 0 else None
    charts = [] if kept is None else _charts(kept, samples)
    facts = Facts(f"Runtime of {address}", masked(runtime))
    return Page(f"Broker {name}", [Links([settings]), *charts, facts], live=True)


async def configuration_page(asking: Asking, samples: Samples, query: Query) -> Page:
    """Settings of one broker, or a list of brokers to choose from."""
    if not query.text("name"):
        rows = [
            {
                "broker": link("configuration", name, name=name, id=str(number)),
                "id": number,
                "address": address,
            }
            for _, name, number, address in _members(await asking.ask(asking.admin.cluster.info))
        ]
        return Page("Configuration", [TableView("Brokers", rows, "no broker is registered")])
    name, _, address = await chosen_broker(asking, query)
    settings = await asking.ask(asking.admin.brokers.config, address)
    origins = await asking.ask(asking.admin.brokers.config_origins, address)
    if origins is None:
        note = Note(
            "What the broker tells of its settings; secrets are masked. It does not tell where a value comes "
            "from."
        )
        return Page(f"Configuration of {name}", [note, Facts(address, masked(settings))])
    note = Note("What the broker tells of its settings, and where it has them from; secrets are masked.")
    rows = [
        {"setting": key, "value": value, "origin": origins.get(key, DEFAULT)}
        for key, value in masked(settings).items()
    ]
    return Page(f"Configuration of {name}", [note, TableView(address, rows)])


def _members(info: ClusterInfo) -> list[tuple[str, str, int, str]]:
    """Cluster, broker name, id and address of each."""
    return [
        (data.cluster, name, number, address)
        for name, data in sorted(info.broker_addr_table.items())
        for number, address in sorted(data.broker_addrs.items())
    ]


async def chosen_broker(asking: Asking, query: Query) -> tuple[str, int, str]:
    """Name, id and address of the broker that `query` names. Raises `NotFound`, `BadQuery`."""
    name, wanted = query.needed("name"), query.text("id") or "0"
    members = _members(await asking.ask(asking.admin.cluster.info))
    for _, each, number, address in members:
        if (each, str(number)) == (name, wanted):
            return each, number, address
    near = did_you_mean(name, {each for _, each, _, _ in members})
    raise NotFound(f"there is no broker {name} with id {wanted}; {near}".rstrip("; "))


def _role(number: int, runtime: Mapping[str, str] | MqframeError) -> str:
    """Elected groups, which tell their epoch, have a leader and followers; others a master and slaves."""
    is_elected = not isinstance(runtime, MqframeError) and "replicationEpoch" in runtime
    if number == 0:
        return "leader" if is_elected else "master"
    return f"follower {number}" if is_elected else f"slave {number}"


def _state(runtime: Mapping[str, str] | MqframeError) -> dict[str, Any]:
    if isinstance(runtime, MqframeError):
        return {
            "version": "",
            "in_per_s": "",
            "out_per_s": "",
            "disk": "",
            "started": "",
            "problem": str(runtime),
        }
    load = broker_load(runtime)
    return {
        "version": load.version,
        "in_per_s": load.in_per_second,
        "out_per_s": load.out_per_second,
        "disk": f"{load.disk_percent}%" if runtime.get("commitLogDiskRatio") else "",
        "started": time_text(_number(runtime.get("bootTimestamp"))),
        "problem": "; ".join(runtime[each] for each in _TROUBLES if runtime.get(each)),
    }


def _number(text: str | None) -> float:
    """0 for what is no number: brokers of others are free in what they tell."""
    try:
        return float(text or 0)
    except ValueError:
        return 0.0
