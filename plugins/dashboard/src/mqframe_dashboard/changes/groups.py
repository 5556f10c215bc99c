"""Consumer groups: made, changed and deleted."""

from __future__ import annotations

from typing import Final

from mqframe_admin.rules.lag import lag_of
from msgspec.structs import replace

from mqframe.core.config.suggestions import did_you_mean
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.retry.policy import RETRIES_MAX
from mqframe_dashboard.asking import NotFound
from mqframe_dashboard.changes.confirming import FIELD, check_confirmed, confirmation
from mqframe_dashboard.changes.errand import Change, Errand
from mqframe_dashboard.changes.posted import Values
from mqframe_dashboard.form_parts import ChangeForm, ChoiceField, Input
from mqframe_dashboard.pages.groups import check_group
from mqframe_dashboard.query import BadQuery
from mqframe_dashboard.view import Links, Note, Page, link

RETRIES_SHOWN_MAX: Final = 1_000_000
SETTINGS: Final = ("enabled", "broadcast", "ordered", "retries")


async def create_page(errand: Errand) -> Page:
    """The form for a new group."""
    fields = [Input("name", "Name"), *_fields(SubscriptionGroupConfig("", retry_max_times=RETRIES_MAX))]
    return Page("Create a consumer group", [ChangeForm("group-create", "Create", fields)])


async def create(errand: Errand) -> Page:
    """Make a group on all masters. Raises `BadQuery` for one that exists."""
    asking, session, values = errand.asking, errand.session, errand.values
    name = values.needed("name")
    if name in await asking.ask(asking.admin.groups.list):
        raise BadQuery(f"name: there is a group {name}; open its page to change it")
    await session.do(session.admin.groups.create, _changed(SubscriptionGroupConfig(name), values))
    return Page(f"Group {name} was created", [_back(name)])


async def change_page(errand: Errand) -> Page:
    """The settings of a group in a form."""
    name = errand.values.needed("name")
    config = await _config(errand, name)
    form = ChangeForm("group-change", "Change", _fields(config), {"name": name})
    return Page(f"Change group {name}", [form])


async def change(errand: Errand) -> Page:
    """Change what the form has; all else stays."""
    session, name = errand.session, errand.values.needed("name")
    config = _changed(await _config(errand, name), errand.values)
    await session.do(session.admin.groups.create, config)
    return Page(f"Group {name} was changed", [_back(name)])


async def delete_page(errand: Errand) -> Page:
    """Who uses a group and how far it is behind, and the form that deletes it."""
    name = errand.values.needed("name")
    fields: list[Input | ChoiceField] = [
        Input("offsets", "forget its progress, too", kind="checkbox"),
        confirmation("group"),
    ]
    form = ChangeForm("group-delete", "Delete", fields, {"name": name})
    return Page(f"Delete group {name}", [Note(await _contents(errand, name), wrong=True), form])


async def delete(errand: Errand) -> Page:
    """Delete a group, and its progress where that is wanted."""
    session, values = errand.session, errand.values
    name, offsets = values.needed("name"), values.ticked("offsets")
    check_confirmed(values, name)
    contents = await _contents(errand, name)
    await session.do(session.admin.groups.delete, name, clean_offsets=offsets)
    progress = "Its progress went with it." if offsets else "Its progress stays."
    back = Links([link("groups", "Groups")])
    return Page(f"Group {name} was deleted", [Note(contents), Note(progress), back])


CHANGES: Final = (
    Change("/group-create", create_page, create, ("name", *SETTINGS)),
    Change("/group-change", change_page, change, ("name", *SETTINGS)),
    Change("/group-delete", delete_page, delete, ("name", "offsets", FIELD)),
)


async def _contents(errand: Errand, name: str) -> str:
    asking = errand.asking
    await check_group(asking, name)
    members = await asking.ask(asking.admin.members.consumers, name)
    stats = await asking.ask(asking.admin.groups.stats, name)
    lag = sum(map(lag_of, stats.values()))
    return f"{len(members.connection_set)} members online, {lag:,} messages to consume."


async def _config(errand: Errand, name: str) -> SubscriptionGroupConfig:
    configs = await errand.asking.ask(errand.asking.admin.groups.configs)
    if name not in configs:
        raise NotFound(f"there is no group {name}; {did_you_mean(name, configs)}".rstrip("; "))
    return configs[name]


def _fields(config: SubscriptionGroupConfig) -> list[Input | ChoiceField]:
    def box(name: str, label: str, state: bool) -> Input:
        return Input(name, label, "1" if state else "", kind="checkbox")

    return [
        box("enabled", "it may consume", config.consume_enable),
        box("broadcast", "it may consume by broadcast", config.consume_broadcast_enable),
        box("ordered", "it consumes in order", config.consume_message_orderly),
        Input("retries", "Retries before a dead letter", str(config.retry_max_times), kind="number"),
    ]


def _changed(config: SubscriptionGroupConfig, values: Values) -> SubscriptionGroupConfig:
    return replace(
        config,
        consume_enable=values.ticked("enabled"),
        consume_broadcast_enable=values.ticked("broadcast"),
        consume_message_orderly=values.ticked("ordered"),
        retry_max_times=values.number("retries", -1, RETRIES_SHOWN_MAX),
    )


def _back(name: str) -> Links:
    return Links([link("group", f"Group {name}", name=name)])
