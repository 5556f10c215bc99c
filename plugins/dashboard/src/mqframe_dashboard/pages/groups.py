"""Consumer groups: how far each is behind; and one with its queues, owners, members and subscriptions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from mqframe_admin.bodies import ConsumerConnection
from mqframe_admin.rules.lag import lag_of, queue_owners

from mqframe.core.config.suggestions import did_you_mean
from mqframe.core.consuming.bodies import OffsetWrapper
from mqframe.core.consuming.running_info import ConsumerRunningInfo
from mqframe.core.errors import MqframeError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import DLQ_PREFIX, RETRY_PREFIX, is_system_group
from mqframe.core.versions import version_text
from mqframe_dashboard.asking import Asking, NotFound
from mqframe_dashboard.listing import Listing
from mqframe_dashboard.pages.topics import topic_rows
from mqframe_dashboard.query import Query
from mqframe_dashboard.sampling import Samples
from mqframe_dashboard.view import Facts, Field, Links, Note, Page, Part, TableView, link, time_text

COLUMNS: Final = ("group", "lag", "topics", "queues")
"""What the list may be sorted by."""
UNKNOWN = "?"
"""The owner of a queue that nobody names, while a member does not answer."""

READING = {"CONSUME_PASSIVELY": "push", "CONSUME_ACTIVELY": "pull", "CONSUME_POP": "pop"}
"""How members read, by the names of the wire."""


async def groups_page(asking: Asking, samples: Samples, query: Query) -> Page:
    """All groups, the furthest behind first; those of the system with `all=1`."""
    wanted = Listing("groups", query, COLUMNS, default="-lag", more=("all",))
    every = query.text("all") == "1"
    progress: dict[str, dict[MessageQueue, OffsetWrapper]] = {
        group: {} for group in await asking.ask(asking.admin.groups.list)
    }
    parts: list[Part] = []
    masters = await asking.ask(asking.admin.cluster.masters)
    for address, found in (await asking.ask_each(asking.admin.brokers.progress, masters.values())).items():
        if isinstance(found, MqframeError):
            parts.append(Note(f"{address} did not tell how far its groups are: {found}", wrong=True))
            continue
        for table in found.consume_stats_list:
            for group, stats in table.items():
                for each in stats:
                    progress.setdefault(group, {}).update(each.offset_table)
    behind = {
        group: sum(map(lag_of, offsets.values()))
        for group, offsets in progress.items()
        if every or not is_system_group(group)
    }
    topics = {group: len({queue.topic for queue in progress[group]}) for group in behind}
    keys: dict[str, Callable[[str], int]] = {
        "lag": behind.__getitem__,
        "topics": topics.__getitem__,
        "queues": lambda group: len(progress[group]),
    }
    listed = wanted.listed(behind, str, keys.get(wanted.column))
    rows = [
        {
            "group": link("group", group, name=group),
            "lag": behind[group],
            "topics": topics[group],
            "queues": len(progress[group]),
        }
        for group in listed.rows
    ]
    nothing = "there is no group yet; one is made when its first consumer comes"
    if wanted.find:
        nothing = "no group has this in its name"
    box = Field("all", "those of the system, too", "1" if every else "", kind="checkbox")
    shown = TableView("Groups", rows, nothing, wanted.sorts())
    parts += [wanted.form(box), shown, *wanted.around(listed, "groups")]
    return Page("Groups", parts, live=True)


async def group_page(asking: Asking, samples: Samples, query: Query) -> Page:
    """One group: its lag queue by queue with who owns it, members and subscriptions."""
    name = query.needed("name")
    members = await asking.ask(asking.admin.members.consumers, name)
    stats = await asking.ask(asking.admin.groups.stats, name)
    if not (stats or members.connection_set):
        await check_group(asking, name)
    topics = frozenset(await asking.ask(asking.admin.topics.list))
    own = own_topics(topics, name, await asking.ask(asking.admin.groups.list))
    infos, silent = await _infos(asking, name, members)
    owners = queue_owners(infos)
    lags = [
        {
            "topic": link("topic", queue.topic, name=queue.topic),
            "broker": queue.broker_name,
            "queue": queue.queue_id,
            "lag": lag_of(each),
            "consumed": each.consumer_offset,
            "end": each.broker_offset,
            "owner": ", ".join(owners.get(queue, ())) or (UNKNOWN if silent else ""),
            "last_consumed": time_text(each.last_timestamp),
        }
        for queue, each in stats.items()
    ]
    begin = members.consume_from_where or ""
    facts = {
        "lag": sum(map(lag_of, stats.values())),
        "members": len(members.connection_set),
        "reads by": READING.get(members.consume_type or "", members.consume_type or ""),
        "model": (members.message_model or "").lower(),
        "begins at": begin.removeprefix("CONSUME_FROM_").lower().replace("_", " "),
    }
    parts: list[Part] = [Links([link("letters", "Dead letters", group=name)]), Facts("Totals", facts)]
    parts += [
        Note(f"{client} does not tell what it holds: {why}", wrong=True) for client, why in silent.items()
    ]
    parts += [Note(text, wrong=True) for text in differences(infos)]
    parts += [
        TableView("Lag", lags, "it has consumed nothing yet"),
        TableView("Retries and dead letters", _own_rows(samples, own), "it has no topic for them"),
        TableView("Members", member_rows(members), "nobody is online"),
        TableView("Subscriptions", subscription_rows(members), "nobody is online"),
    ]
    return Page(f"Group {name}", parts, live=True)


def own_topics(topics: Collection[str], group: str, groups: Collection[str]) -> list[str]:
    """Those of `topics` in which there are retries or dead letters of `group`, one of all `groups`.

    Pops have a topic for each that is popped. Its name may be that of another group's retries.
    """
    retries = RETRY_PREFIX + group
    found = [name for name in (retries, DLQ_PREFIX + group) if name in topics]
    for joint in "_+":
        head = retries + joint
        popped = (name for name in topics if name.startswith(head) and name.removeprefix(head) in topics)
        found += [name for name in popped if name.removeprefix(RETRY_PREFIX) not in groups]
    return sorted(found)


def _own_rows(samples: Samples, own: Iterable[str]) -> list[dict[str, object]]:
    kinds = {True: "dead letters", False: "retries"}
    return [
        {"kind": kinds[row["topic"].text.startswith(DLQ_PREFIX)], **row} for row in topic_rows(samples, own)
    ]


async def check_group(asking: Asking, name: str) -> None:
    """Raise `NotFound` unless there is such a group, or there are retries or dead letters of it."""
    groups = await asking.ask(asking.admin.groups.list)
    if name in groups:
        return
    topics = await asking.ask(asking.admin.topics.list)
    if not {RETRY_PREFIX + name, DLQ_PREFIX + name}.intersection(topics):
        near = did_you_mean(name, [each for each in groups if not is_system_group(each)])
        raise NotFound(f"there is no group {name}; {near}".rstrip("; "))


async def _infos(
    asking: Asking, group: str, members: ConsumerConnection
) -> tuple[dict[str, ConsumerRunningInfo], dict[str, MqframeError]]:
    """What the members tell, by client id, and those that do not, with why."""

    async def ask(client: str) -> ConsumerRunningInfo:
        return await asking.admin.members.running_info(group, client)

    answers = await asking.ask_each(ask, [each.client_id for each in members.connection_set])
    told = {client: info for client, info in answers.items() if isinstance(info, ConsumerRunningInfo)}
    silent = {client: why for client, why in sorted(answers.items()) if isinstance(why, MqframeError)}
    return told, silent


def differences(infos: Mapping[str, ConsumerRunningInfo]) -> list[str]:
    """A line for each topic to which members subscribe in different ways; `infos`: by client id.

    A broker keeps one subscription of a group to a topic, the one that it was told last.
    """
    told = {
        client: {each.topic: each.sub_string or "*" for each in info.subscription_set}
        for client, info in sorted(infos.items())
    }
    found = []
    for topic in sorted({topic for expressions in told.values() for topic in expressions}):
        ways: dict[str, list[str]] = {}
        for client, expressions in told.items():
            ways.setdefault(expressions.get(topic, "nothing"), []).append(client)
        if len(ways) > 1:
            said = "; ".join(f"{expression} by {', '.join(clients)}" for expression, clients in ways.items())
            found.append(f"Members subscribe to {topic} in different ways and may miss messages: {said}")
    return found


def member_rows(members: ConsumerConnection) -> list[dict[str, object]]:
    """A row for each connected member."""
    return [
        {
            "client": each.client_id,
            "address": each.client_addr,
            "language": each.language or "",
            "version": version_text(each.version),
        }
        for each in sorted(members.connection_set, key=lambda each: each.client_id)
    ]


def subscription_rows(members: ConsumerConnection) -> list[dict[str, object]]:
    """A row for each topic that the group subscribes."""
    return [
        {
            "topic": link("topic", topic, name=topic),
            "kind": each.expression_type or "",
            "expression": each.sub_string or "",
        }
        for topic, each in sorted(members.subscription_table.items())
    ]
