"""Topics: made, changed and deleted."""

from __future__ import annotations

from typing import Final

from mqframe.core.cluster.order_config import TYPE_ATTRIBUTE
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe_dashboard.changes.confirming import FIELD, check_confirmed, confirmation
from mqframe_dashboard.changes.errand import Change, Errand
from mqframe_dashboard.changes.posted import Values
from mqframe_dashboard.form_parts import ChangeForm, ChoiceField, Input
from mqframe_dashboard.query import BadQuery
from mqframe_dashboard.view import Links, Note, Page, TableView, link

QUEUES: Final = 8
QUEUES_MAX: Final = 65_535
PERMISSIONS: Final = {
    "6": "read and write",
    "4": "read only: producers leave it",
    "2": "write only: consumers leave it",
}
TYPES: Final = {
    "": "of the broker's default",
    "NORMAL": "normal",
    "FIFO": "in order, with a fixed list of queues",
    "DELAY": "delayed messages",
    "TRANSACTION": "transactional messages",
}


async def create_page(errand: Errand) -> Page:
    """The form for a new topic."""
    fields: list[Input | ChoiceField] = [
        Input("name", "Name"),
        Input("queues", "Queues on each broker", str(QUEUES), kind="number"),
        ChoiceField("perm", "Permission", PERMISSIONS, "6"),
        ChoiceField("type", "Type", TYPES),
    ]
    return Page("Create a topic", [ChangeForm("topic-create", "Create", fields)])


async def create(errand: Errand) -> Page:
    """Make a topic on all masters. Raises `BadQuery` for one that exists."""
    asking, session, values = errand.asking, errand.session, errand.values
    name, kind = values.needed("name"), values.text("type")
    if kind not in TYPES:
        raise BadQuery(f"type: {kind!r} is none of {', '.join(filter(None, TYPES))}")
    if name in await asking.ask(asking.admin.topics.list):
        raise BadQuery(f"name: there is a topic {name}; open its page to change it")
    queues, perm = values.number("queues", 1, QUEUES_MAX), _permission(values)
    attributes = {TYPE_ATTRIBUTE: kind} if kind else None
    await session.do(session.admin.topics.create, name, queues=queues, perm=perm, attributes=attributes)
    said = f"{queues} queues on each broker, {PERMISSIONS[str(perm)]}"
    return Page(f"Topic {name} was created", [Note(said), _back(name)])


async def change_page(errand: Errand) -> Page:
    """How a topic is configured on each broker, and the form that changes it."""
    name = errand.values.needed("name")
    configs = await _configs(errand, name)
    rows = [
        {
            "broker": broker,
            "read_queues": each.read_queue_nums,
            "write_queues": each.write_queue_nums,
            "permission": PERMISSIONS.get(str(each.perm), str(each.perm)),
            "ordered": "yes" if each.order else "no",
        }
        for broker, each in sorted(configs.items())
    ]
    first = configs[min(configs)]
    every = {"": "all of these", **{broker: broker for broker in sorted(configs)}}
    fields: list[Input | ChoiceField] = [
        ChoiceField("broker", "Brokers", every),
        Input("read_queues", "Queues that consumers see", str(first.read_queue_nums), kind="number"),
        Input("write_queues", "Queues that producers see", str(first.write_queue_nums), kind="number"),
        ChoiceField("perm", "Permission", PERMISSIONS, str(first.perm)),
    ]
    form = ChangeForm("topic-change", "Change", fields, {"name": name})
    note = Note(
        "Fewer queues: let consumers drain them first, by fewer queues that producers see. "
        "Of an ordered topic more queues break the order of keys; mqframe topic grow does not."
    )
    return Page(f"Change topic {name}", [TableView("Brokers", rows), note, form])


async def change(errand: Errand) -> Page:
    """Change queues and permission on the chosen brokers; all else stays."""
    session, values = errand.session, errand.values
    name, broker = values.needed("name"), values.text("broker")
    read, write = values.number("read_queues", 1, QUEUES_MAX), values.number("write_queues", 1, QUEUES_MAX)
    perm = _permission(values)
    configs = await _configs(errand, name)
    if broker and broker not in configs:
        raise BadQuery(f"broker: {broker!r} does not hold topic {name}")
    chosen = [broker] if broker else sorted(configs)
    for each in chosen:
        await session.do(
            session.admin.topics.create,
            name,
            queues=write,
            read_queues=read,
            write_queues=write,
            perm=perm,
            order=configs[each].order,
            broker=each,
        )
    said = f"{', '.join(chosen)}: {read} queues to read, {write} to write, {PERMISSIONS[str(perm)]}"
    return Page(f"Topic {name} was changed", [Note(said), _back(name)])


async def delete_page(errand: Errand) -> Page:
    """What goes with a topic, and the form that deletes it."""
    name = errand.values.needed("name")
    form = ChangeForm("topic-delete", "Delete", [confirmation("topic")], {"name": name})
    return Page(f"Delete topic {name}", [Note(await _contents(errand, name), wrong=True), form])


async def delete(errand: Errand) -> Page:
    """Delete a topic with its messages."""
    session, name = errand.session, errand.values.needed("name")
    check_confirmed(errand.values, name)
    contents = await _contents(errand, name)
    await session.do(session.admin.topics.delete, name)
    return Page(f"Topic {name} was deleted", [Note(contents), Links([link("topics", "Topics")])])


CHANGES: Final = (
    Change("/topic-create", create_page, create, ("name", "queues", "perm", "type")),
    Change("/topic-change", change_page, change, ("name", "broker", "read_queues", "write_queues", "perm")),
    Change("/topic-delete", delete_page, delete, ("name", FIELD)),
)


async def _contents(errand: Errand, name: str) -> str:
    asking = errand.asking
    await asking.check_topic(name)
    stats = await asking.ask(asking.admin.topics.stats, name)
    groups = await asking.ask(asking.admin.topics.groups, name)
    messages = sum(each.max_offset - each.min_offset for each in stats.values())
    readers = f"read by {', '.join(groups)}" if groups else "read by no group"
    return f"{messages:,} messages in {len(stats)} queues, {readers}."


async def _configs(errand: Errand, name: str) -> dict[str, TopicConfig]:
    await errand.asking.check_topic(name)
    return await errand.asking.ask(errand.asking.admin.topics.config, name)


def _permission(values: Values) -> int:
    perm = values.text("perm")
    if perm not in PERMISSIONS:
        raise BadQuery(f"perm: {perm!r} is none of {', '.join(PERMISSIONS)}")
    return int(perm)


def _back(name: str) -> Links:
    return Links([link("topic", f"Topic {name}", name=name)])
