"""Topics by the names of `mqadmin`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mqframe.core.errors import FixError, SettingError
from mqframe_cli import topic as ours
from mqframe_cli.mqadmin.options import BrokerAddress, Cluster, Topic, alias, broker_named, flag
from mqframe_cli.output import Shown

if TYPE_CHECKING:
    from mqframe import Admin


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    alias(app, "topicList")(topic_list)
    alias(app, "topicRoute")(topic_route)
    alias(app, "topicStatus")(topic_status)
    alias(app, "updateTopic", known=())(update_topic)
    alias(app, "deleteTopic")(delete_topic)


def topic_list(
    admin: Admin,
    cluster_model: Annotated[
        bool, typer.Option("-c", "--clusterModel", help="With cluster and groups.")
    ] = False,
) -> Shown:
    """List all topics."""
    names = admin.topics.list()
    if not cluster_model:
        return [{"topic": name} for name in names]
    clusters = admin.cluster.info().cluster_addr_table
    rows = []
    for name in names:
        try:
            brokers = {each.broker_name for each in admin.topics.route(name).queue_datas}
        except FixError:
            continue  # it has just been deleted
        where = [cluster for cluster, members in clusters.items() if brokers.intersection(members)]
        rows.append({"cluster": sorted(where), "topic": name, "groups": admin.topics.groups(name)})
    return rows


def topic_route(admin: Admin, topic: Topic) -> Shown:
    """Show where a topic lives."""
    return ours.show_topic(admin, topic)


def topic_status(admin: Admin, topic: Topic) -> Shown:
    """Show what each queue of a topic holds."""
    return ours.stats(admin, topic)


def update_topic(
    admin: Admin,
    topic: Topic,
    broker: BrokerAddress = None,
    cluster: Cluster = None,
    read_queues: Annotated[int, typer.Option("-r", "--readQueueNums", help="Queues that are read.")] = 8,
    write_queues: Annotated[int, typer.Option("-w", "--writeQueueNums", help="Queues that are written.")] = 8,
    perm: Annotated[int, typer.Option("-p", "--perm", help="2 write, 4 read, 6 both.")] = 6,
    order: Annotated[str, typer.Option("-o", "--order", help="true or false.")] = "false",
    attributes: Annotated[
        str | None, typer.Option("-a", "--attributes", help="+key=value,+key=value")
    ] = None,
) -> Shown:
    """Create a topic, or change it."""
    if broker is None and cluster is None:
        raise SettingError("say which brokers: -b host:port, or -c CLUSTER")
    admin.topics.create(
        topic,
        queues=max(read_queues, write_queues),
        read_queues=read_queues,
        write_queues=write_queues,
        perm=perm,
        order=flag("-o", order),
        attributes=_attributes(attributes),
        cluster=cluster,
        broker=broker_named(admin, broker),
    )
    return {"topic": topic, "read_queues": read_queues, "write_queues": write_queues, "perm": perm}


def delete_topic(admin: Admin, topic: Topic, cluster: Cluster = None) -> Shown:
    """Delete a topic with its messages, without asking."""
    admin.topics.delete(topic, cluster=cluster)
    return {"topic": topic, "deleted": True}


def _attributes(text: str | None) -> dict[str, str] | None:
    """Raises `SettingError`."""
    if text is None:
        return None
    found = {}
    for item in text.split(","):
        key, equals, value = item.strip().removeprefix("+").partition("=")
        if not equals or not key or key.startswith("-"):
            raise SettingError(f"-a {item}: must be written +key=value")
        found[key] = value
    return found
