"""Settings of a running broker, changed one at a time."""

from __future__ import annotations

from typing import Final

from mqframe_dashboard.changes.errand import Change, Errand
from mqframe_dashboard.changes.posted import Values
from mqframe_dashboard.form_parts import ChangeForm, Input
from mqframe_dashboard.masking import MASK, masked
from mqframe_dashboard.pages.brokers import chosen_broker
from mqframe_dashboard.query import BadQuery
from mqframe_dashboard.view import Facts, Links, Note, Page, TableView, link


async def setting_page(errand: Errand) -> Page:
    """The settings to choose from, or one with its value in a form."""
    asking, values = errand.asking, errand.values
    name, number, address = await chosen_broker(asking, values)
    settings = masked(await asking.ask(asking.admin.brokers.config, address))
    key = values.text("key")
    where = {"name": name, "id": str(number)}
    if not key:
        rows = [
            {"setting": link("setting", each, key=each, **where), "value": value}
            for each, value in settings.items()
        ]
        return Page(f"Change a setting of {name}", [_note(), TableView("Settings", rows)])
    if key not in settings:
        raise BadQuery(f"key: broker {name} tells of no setting {key!r}")
    value = settings[key]
    field = Input("value", key, "" if value == MASK else value, kind="password" if value == MASK else "text")
    form = ChangeForm("setting", "Change", [field], {"key": key, **where})
    return Page(f"Change {key} of {name}", [_note(), Facts("Now", {key: value}), form])


async def change(errand: Errand) -> Page:
    """Change one setting. The broker refuses, by name, what it does not know or only a restart changes."""
    asking, session, values = errand.asking, errand.session, errand.values
    key, value = values.needed("key"), values.text("value")
    if len(f"{key}={value}".splitlines()) != 1:
        raise BadQuery("value: must be one line")
    name, number, address = await chosen_broker(asking, values)
    await session.do(session.admin.brokers.update_config, address, {key: value})
    settings = masked(await asking.ask(asking.admin.brokers.config, address))
    back = Links([link("configuration", f"Configuration of {name}", name=name, id=str(number))])
    return Page(f"{key} of {name} was changed", [Facts("Now", {key: settings.get(key, "")}), back])


def secrets(values: Values) -> list[str]:
    """The value of a setting whose name, or whose value, says that it is one."""
    key, value = values.text("key"), values.text("value")
    return [value] if value and masked({key: value})[key] == MASK else []


CHANGES: Final = (Change("/setting", setting_page, change, ("name", "id", "key"), secrets),)


def _note() -> Note:
    return Note(
        "Changes count at once and are kept; a broker refuses what only a restart changes. "
        "Secrets are masked."
    )
