"""Topics: what they hold and their rates over time; and the queues of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from mqframe_admin.rules.internal_topics import internal_topics

from mqframe.core.messages.names import DLQ_PREFIX, RETRY_PREFIX, is_system_topic
from mqframe_dashboard.asking import Asking
from mqframe_dashboard.curves import NO_DATA, Chart, Curve
from mqframe_dashboard.listing import Listing
from mqframe_dashboard.query import Query
from mqframe_dashboard.sampling import CURVES_MAX, Samples
from mqframe_dashboard.schemas import schema_parts
from mqframe_dashboard.totals import ASKED_MAX, HeldTotals
from mqframe_dashboard.view import Facts, Field, Links, Note, Page, Part, TableView, link, time_text

COLUMNS: Final = ("topic", "queues", "messages", "in_per_s")
"""What the list may be sorted by."""


async def topics_page(asking: Asking, samples: Samples, query: Query) -> Page:
    """All topics, a page at a time; with `own=1` those of groups, with `all=1` those of the system, too."""
    wanted = Listing("topics", query, COLUMNS, more=("own", "all"))
    await samples.fresh()
    info = await asking.ask(asking.admin.cluster.info)
    hidden = internal_topics(info.broker_addr_table, info.cluster_addr_table)
    system, own = query.text("all") == "1", query.text("own") == "1"
    names = [
        name
        for name in await asking.ask(asking.admin.topics.list)
        if (own or not is_of_group(name)) and (system or not (is_system_topic(name) or name in hidden))
    ]
    listed = wanted.listed(names, str, _keys(samples).get(wanted.column))
    boxes = [
        Field("own", "retries and dead letters of groups, too", "1" if own else "", kind="checkbox"),
        Field("all", "those of the system, too", "1" if system else "", kind="checkbox"),
    ]
    nothing = "there is no topic yet; mqframe topic create NAME makes one"
    if wanted.find:
        nothing = "no topic has this in its name"
    rows = topic_rows(samples, listed.rows)
    parts: list[Part] = [
        wanted.form(*boxes),
        TableView("Topics", rows, nothing, wanted.sorts()),
        *wanted.around(listed, "topics"),
        *_notes(samples.totals),
    ]
    return Page("Topics", parts, live=True)


def is_of_group(topic: str) -> bool:
    """Whether retries or dead letters of a group are in `topic`: the page of the group shows it."""
    return topic.startswith((RETRY_PREFIX, DLQ_PREFIX))


def topic_rows(samples: Samples, names: Iterable[str]) -> list[dict[str, Any]]:
    """What lists show of topics; of what is not known nothing."""
    rows = []
    for name in names:
        total, rate, rates = samples.totals.topics.get(name), samples.rate(name), samples.rates(name)
        rows.append(
            {
                "topic": link("topic", name, name=name),
                "queues": "" if total is None else total.queues,
                "messages": "" if total is None else total.held,
                "in_per_s": "" if rate is None else round(rate, 1),
                "last_hour": Curve(rates, samples.span) if rates else NO_DATA,
            }
        )
    return rows


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
            Links([link("messages", "Messages", topic=name), *_owner(name)]),
            Facts("Totals", facts),
            _chart(samples, name),
            TableView("Queues", rows, "no queue holds anything"),
            TableView(
                "Groups", [{"group": link("group", each, name=each)} for each in groups], "no group reads it"
            ),
            *await schema_parts(asking, name),
        ],
        live=True,
    )


def _owner(topic: str) -> list[Any]:
    """A link to the group that `topic` is of."""
    if topic.startswith(DLQ_PREFIX):
        group = topic.removeprefix(DLQ_PREFIX)
        return [link("letters", f"Dead letters of {group}", group=group)]
    if topic.startswith(RETRY_PREFIX):
        group = topic.removeprefix(RETRY_PREFIX)
        return [link("group", f"Group {group}", name=group)]
    return []


def _chart(samples: Samples, topic: str) -> Part:
    rates = samples.rates(topic)
    if rates is None and len(samples.totals.topics) > CURVES_MAX:
        return Note(f"Its rate is not kept over time: only those of the {CURVES_MAX} busiest topics are.")
    return Chart("Rate over the last hour", rates or (), samples.span)


def _keys(samples: Samples) -> dict[str, Callable[[str], float | None]]:
    """By column what of a topic the list is sorted by; names sort themselves."""
    totals = samples.totals.topics
    return {
        "queues": lambda name: totals[name].queues if name in totals else None,
        "messages": lambda name: totals[name].held if name in totals else None,
        "in_per_s": samples.rate,
    }


def _notes(totals: HeldTotals) -> list[Part]:
    notes: list[Part] = [
        Note(f"{broker} did not tell what its topics hold: {why}", wrong=True)
        for broker, why in sorted(totals.silent.items())
    ]
    if totals.one_by_one:
        notes.append(
            Note(
                "Some broker does not tell what all its topics hold at once, as those of Apache RocketMQ: "
                f"only the first {ASKED_MAX} topics by name are asked, others are shown without numbers."
            )
        )
    return notes
