"""Topics: what they hold and their rates over time; and the queues of one."""

from __future__ import annotations

from mqframe.core.messages.names import is_system_topic, reply_topic
from mqframe_dashboard.asking import Asking
from mqframe_dashboard.query import Query
from mqframe_dashboard.sampling import TOPICS_MAX, Samples
from mqframe_dashboard.schemas import schema_parts
from mqframe_dashboard.view import (
    Chart,
    Curve,
    Facts,
    Links,
    Note,
    Page,
    Part,
    TableView,
    link,
    system_link,
    time_text,
)


async def topics_page(asking: Asking, samples: Samples, query: Query) -> Page:
    """All topics; those of the system with `all=1`."""
    await samples.fresh()
    info = await asking.ask(asking.admin.cluster.info)
    # Brokers and clusters are topics too, for clients that ask for their routes.
    hidden = {*info.broker_addr_table, *info.cluster_addr_table, *map(reply_topic, info.cluster_addr_table)}
    every = query.text("all") == "1"
    rows = []
    for name in samples.topics():
        last = samples.last(name)
        if last is None or not (every or not (is_system_topic(name) or name in hidden)):
            continue
        rates = samples.rates(name)
        rows.append(
            {
                "topic": link("topic", name, name=name),
                "queues": last.queues,
                "messages": last.held,
                "in_per_s": rates[-1] if rates else "",
                "rate_over_time": Curve(rates),
            }
        )
    parts: list[Part] = [
        Links([system_link("topics", every)]),
        TableView("Topics", rows, "there is no topic yet; mqframe topic create NAME makes one"),
    ]
    if len(samples.topics()) >= TOPICS_MAX:
        parts.append(Note(f"Only the first {TOPICS_MAX} topics are sampled.", wrong=True))
    return Page("Topics", parts, live=True)


async def topic_page(asking: Asking, samples: Samples, query: Query) -> Page:
    """The queues of one topic, and who reads it."""
    name = query.needed("name")
    await asking.check_topic(name)
    stats = await asking.ask(asking.admin.topics.stats, name)
    groups = await asking.ask(asking.admin.topics.groups, name)
    rows = [
        {
            "broker": queue.broker_name,
            "queue": queue.queue_id,
            "min_offset": each.min_offset,
            "max_offset": each.max_offset,
            "messages": each.max_offset - each.min_offset,
            "last_stored": time_text(each.last_update_timestamp),
        }
        for queue, each in stats.items()
    ]
    facts = {
        "messages": sum(each.max_offset - each.min_offset for each in stats.values()),
        "queues": len(stats),
        "groups": len(groups),
    }
    return Page(
        f"Topic {name}",
        [
            Links([link("messages", "Messages", topic=name)]),
            Facts("Totals", facts),
            Chart("Rate over time", samples.rates(name), samples.span(name)),
            TableView("Queues", rows, "no queue holds anything"),
            TableView(
                "Groups", [{"group": link("group", each, name=each)} for each in groups], "no group reads it"
            ),
            *await schema_parts(asking, name),
        ],
        live=True,
    )
