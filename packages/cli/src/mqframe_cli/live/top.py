"""`mqframe top`: what brokers, topics and groups are doing."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer
from mqframe_admin.bodies import broker_load
from mqframe_admin.rules.lag import lag_of

from mqframe.core.messages.names import is_system_group
from mqframe_cli.access import admin_client
from mqframe_cli.live.lag import group_offsets, topic_offsets
from mqframe_cli.live.rates import GroupProgress, Look, group_rates, topic_rates
from mqframe_cli.live.watch import Interval, View, show_view, watch
from mqframe_cli.names.known import listed_topics
from mqframe_cli.output import Json, NameServer, on_terminal

if TYPE_CHECKING:
    from mqframe import Admin


def top(
    once: Annotated[bool, typer.Option("--once", help="Look twice, show the rates, and end.")] = False,
    interval: Interval = 2.0,
    limit: Annotated[int, typer.Option(min=1, help="Topics and groups that are shown; JSON has all.")] = 15,
    all_: Annotated[bool, typer.Option("--all", help="Topics and groups of the system too.")] = False,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Show rates of brokers, topics and groups (messages a second), until Ctrl-C; in a pipe once."""
    with admin_client(nameserver) as admin:
        rates = Rates(admin, every=all_, limit=None if json else limit)
        if once or json or not on_terminal():
            time.sleep(interval)
            show_view(rates.look(), as_json=json)
        else:
            watch(rates.look, interval=interval)


class Rates:
    """What changed since the look before; the first one is at once."""

    def __init__(self, admin: Admin, *, every: bool, limit: int | None) -> None:
        self._admin = admin
        self._every = every
        self._limit = limit
        self._before = look(admin, every=every)

    def look(self) -> View:
        """Tables of brokers, topics and groups."""
        before, now = self._before, look(self._admin, every=self._every)
        self._before = now
        return {
            "brokers": now.brokers,
            "topics": topic_rates(before, now)[: self._limit],
            "groups": group_rates(before, now)[: self._limit],
        }


def look(admin: Admin, *, every: bool) -> Look:
    """What there is at this moment; `every`: also what is of the system."""

    topics = topic_offsets(admin, listed_topics(admin, every=every))
    return Look(
        time.monotonic(),
        {topic: sum(each.max_offset for each in held) for topic, held in topics.items()},
        {topic: sum(each.max_offset - each.min_offset for each in held) for topic, held in topics.items()},
        _progress(admin, every=every),
        tuple(_broker(admin, name, address) for name, address in admin.cluster.masters().items()),
    )


def _progress(admin: Admin, *, every: bool) -> dict[tuple[str, str], GroupProgress]:
    found: dict[tuple[str, str], GroupProgress] = {}
    for group, offsets in group_offsets(admin).items():
        for queue, each in offsets.items() if every or not is_system_group(group) else ():
            key = group, queue.topic
            so_far = found.get(key, GroupProgress(0, 0, 0))
            found[key] = GroupProgress(
                so_far.consumed + each.consumer_offset,
                so_far.end + each.broker_offset,
                so_far.lag + lag_of(each),
            )
    return found


def _broker(admin: Admin, name: str, address: str) -> dict[str, Any]:
    runtime = admin.brokers.runtime(address)
    load = broker_load(runtime)
    return {
        "broker": name,
        "address": address,
        "in_per_s": load.in_per_second,
        "out_per_s": load.out_per_second,
        "today": int(runtime.get("msgPutTotalTodayNow") or 0)
        - int(runtime.get("msgPutTotalTodayMorning") or 0),
        "disk_percent": load.disk_percent,
    }
