"""Clients: producers and consumers that are connected, and what consumers subscribe."""

from __future__ import annotations

from mqframe_admin.bodies import ConsumerConnection, ProducerInfo, ProducerTable
from mqframe_admin.requests import GetAllProducerInfo

from mqframe.core.errors import MqframeError
from mqframe.core.messages.names import is_system_group
from mqframe.core.versions import version_text
from mqframe.core.wire import loose_json
from mqframe_dashboard.asking import Asking
from mqframe_dashboard.pages.groups import member_rows, subscription_rows
from mqframe_dashboard.query import Query
from mqframe_dashboard.sampling import Samples
from mqframe_dashboard.view import Note, Page, Part, TableView, link, time_text

GROUPS_MAX = 300
"""Groups whose members are asked for, the first by name."""


async def clients_page(asking: Asking, samples: Samples, query: Query) -> Page:
    """All producers, members of all groups, and all subscriptions."""
    notes: list[Part] = []
    producers = await _producers(asking, notes)
    consumers, subscriptions = await _consumers(asking, notes)
    tables = [
        TableView("Producers", producers, "no producer is online"),
        TableView("Consumers", consumers, "no consumer is online"),
        TableView("Subscriptions", subscriptions, "no consumer is online"),
    ]
    about = Note(
        "A version is that of the protocol, by the release of Apache RocketMQ that has it. "
        "A group's own page says whether its members subscribe in different ways."
    )
    return Page("Clients", [about, *notes, *tables], live=True)


async def _producers(asking: Asking, notes: list[Part]) -> list[dict[str, object]]:
    async def ask(broker: str) -> ProducerTable:
        answer = await asking.admin.brokers.call(broker, GetAllProducerInfo())
        return loose_json.decode(bytes(answer.body), ProducerTable)

    found: dict[tuple[str, str], ProducerInfo] = {}
    masters = await asking.ask(asking.admin.cluster.masters)
    for broker, table in (await asking.ask_each(ask, masters)).items():
        if isinstance(table, MqframeError):
            notes.append(Note(f"{broker} does not tell its producers: {table}", wrong=True))
            continue
        # Each is connected to several brokers.
        found |= {(group, each.client_id): each for group, members in table.data.items() for each in members}
    return [
        {
            "group": group,
            "client": client,
            "address": each.remote_ip,
            "language": each.language,
            "version": version_text(each.version),
            "last_seen": time_text(each.last_update_timestamp),
        }
        for (group, client), each in sorted(found.items(), key=lambda item: item[0])
    ]


async def _consumers(
    asking: Asking, notes: list[Part]
) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    groups = [name for name in await asking.ask(asking.admin.groups.list) if not is_system_group(name)]
    if len(groups) > GROUPS_MAX:
        notes.append(Note(f"Only the first {GROUPS_MAX} of {len(groups)} groups are shown.", wrong=True))
    consumers, subscriptions = [], []
    found = await asking.ask_each(asking.admin.members.consumers, groups[:GROUPS_MAX])
    for group, members in found.items():
        if not isinstance(members, ConsumerConnection):
            notes.append(Note(f"members of {group}: {members}", wrong=True))
            continue
        name = {"group": link("group", group, name=group)}
        consumers += [{**name, **row} for row in member_rows(members)]
        subscriptions += [{**name, **row} for row in subscription_rows(members)]
    return consumers, subscriptions
