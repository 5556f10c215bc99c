"""`mqframe topic`: make, look at and delete topics."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from mqframe.cli.access import access
from mqframe.cli.commands import new_app
from mqframe.cli.output import Json, NameServer, show, show_one, time_text
from mqframe.core.errors import FixError
from mqframe.core.order_config import TYPE_ATTRIBUTE

DRAIN_LOOK_SECONDS = 1.0

app = new_app(help="Make, look at and delete topics.")
Topic = Annotated[str, typer.Argument(help="Name of the topic.")]
Cluster = Annotated[str | None, typer.Option("--cluster", help="Only the brokers of this cluster.")]


@app.command("list")
def list_topics(
    nameserver: NameServer = "",
    all_: Annotated[bool, typer.Option("--all", help="Topics of the system too.")] = False,
    json: Json = False,
) -> None:
    """List topics."""
    from mqframe import Admin
    from mqframe.core.topics import is_system_topic

    with Admin(nameserver=nameserver, **access()) as admin:
        names = admin.list_topics()
        info = admin.cluster_info()
    # Brokers and clusters are topics too, for clients that ask for their routes.
    hidden = {*info.broker_addr_table, *info.cluster_addr_table}
    rows = [{"topic": name} for name in names if all_ or not (is_system_topic(name) or name in hidden)]
    show(rows, as_json=json, empty="there is no topic yet")


@app.command()
def create(
    topic: Topic,
    queues: Annotated[int, typer.Option(help="Queues on each broker.")] = 8,
    perm: Annotated[int, typer.Option(help="4 read, 2 write, 6 both.")] = 6,
    order: Annotated[bool, typer.Option(help="Mark the topic as ordered.")] = False,
    type_: Annotated[
        str | None, typer.Option("--type", help="NORMAL, FIFO (fixed queue list), DELAY or TRANSACTION.")
    ] = None,
    cluster: Cluster = None,
    broker: Annotated[str | None, typer.Option(help="Only this broker.")] = None,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Create a topic, or change it."""
    from mqframe import Admin

    with Admin(nameserver=nameserver, **access()) as admin:
        attributes = {TYPE_ATTRIBUTE: type_.upper()} if type_ is not None else None
        admin.create_topic(
            topic,
            queues=queues,
            perm=perm,
            order=order,
            attributes=attributes,
            cluster=cluster,
            broker=broker,
        )
    show_one({"topic": topic, "queues": queues, "perm": perm, "order": order}, as_json=json)


@app.command()
def grow(
    topic: Topic,
    queues: Annotated[int, typer.Option(help="Queues on each broker, old and new ones together.")],
    group: Annotated[
        list[str] | None, typer.Option(help="Groups that must have drained the old queues; all of the topic.")
    ] = None,
    settle: Annotated[float, typer.Option(help="Wait until producers know the new queues, s.")] = 40.0,
    timeout: Annotated[
        float, typer.Option(help="Wait for the old queues to drain at most so long, s.")
    ] = 3600.0,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Give an ordered topic more queues: producers first, consumers once the old queues have drained.

    May be broken off and called again at any time.
    """
    from mqframe import Admin

    with Admin(nameserver=nameserver, **access()) as admin:
        growth = admin.begin_growth(topic, queues)
        if growth.growing:
            time.sleep(settle)
            growth = admin.mark_growth(growth)
            end = time.monotonic() + timeout
            while any((left := admin.growth_left(growth, group)).values()):
                if time.monotonic() >= end:
                    raise FixError(
                        f"old queues of topic {topic} have not drained within {timeout:g} s; "
                        f"messages left: {left}; call it again"
                    )
                time.sleep(DRAIN_LOOK_SECONDS)
            admin.finish_growth(growth, group)
    show_one({"topic": topic, "queues": queues, "grown": growth.growing}, as_json=json)


@app.command()
def delete(topic: Topic, cluster: Cluster = None, nameserver: NameServer = "", json: Json = False) -> None:
    """Delete a topic with its messages."""
    from mqframe import Admin

    with Admin(nameserver=nameserver, **access()) as admin:
        admin.delete_topic(topic, cluster=cluster)
    show_one({"topic": topic, "deleted": True}, as_json=json)


@app.command("show")
def show_topic(topic: Topic, nameserver: NameServer = "", json: Json = False) -> None:
    """Show where a topic lives and how it is configured, broker by broker."""
    from mqframe import Admin

    with Admin(nameserver=nameserver, **access()) as admin:
        route = admin.topic_route(topic)
        configs = admin.topic_config(topic)
    addresses = {broker.broker_name: broker.broker_addrs for broker in route.broker_datas}
    rows = [
        {
            "broker": queues.broker_name,
            "addresses": {str(number): text for number, text in addresses[queues.broker_name].items()},
            "read_queues": queues.read_queue_nums,
            "write_queues": queues.write_queue_nums,
            "perm": queues.perm,
            "order": queues.broker_name in configs and configs[queues.broker_name].order,
        }
        for queues in route.queue_datas
    ]
    show(rows, as_json=json)


@app.command()
def stats(topic: Topic, nameserver: NameServer = "", json: Json = False) -> None:
    """Show what each queue of a topic holds."""
    from mqframe import Admin

    with Admin(nameserver=nameserver, **access()) as admin:
        found = admin.topic_stats(topic)
    rows = [
        {
            "broker": queue.broker_name,
            "queue": queue.queue_id,
            "min_offset": each.min_offset,
            "max_offset": each.max_offset,
            "messages": each.max_offset - each.min_offset,
            "last": time_text(each.last_update_timestamp),
        }
        for queue, each in found.items()
    ]
    show(rows, as_json=json)


@app.command()
def groups(topic: Topic, nameserver: NameServer = "", json: Json = False) -> None:
    """List the consumer groups of a topic."""
    from mqframe import Admin

    with Admin(nameserver=nameserver, **access()) as admin:
        names = admin.groups_of_topic(topic)
    show([{"group": name} for name in names], as_json=json, empty="nobody consumes it")
