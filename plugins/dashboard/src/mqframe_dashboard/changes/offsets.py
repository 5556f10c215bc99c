"""Offsets of a consumer group: what a reset would change, queue by queue, and the reset."""

from __future__ import annotations

from typing import Final

from mqframe_admin.rules.offset_rules import reset_target

from mqframe.core.consuming.bodies import OffsetWrapper
from mqframe.core.messages.message import MessageQueue
from mqframe_dashboard.changes.errand import Change, Errand
from mqframe_dashboard.changes.posted import Values
from mqframe_dashboard.form_parts import ChangeForm, Input
from mqframe_dashboard.pages.groups import check_group
from mqframe_dashboard.pages.messages import TIME_HINT
from mqframe_dashboard.query import BadQuery
from mqframe_dashboard.view import Field, Form, Links, Note, Page, TableView, link, time_text

TO_THE_END: Final = -1
"""A time that stands for the end of each queue."""


async def reset_page(errand: Errand) -> Page:
    """The form that says where to, and once it does: what would change, and the button that does it."""
    values = errand.values
    group, topic = values.needed("group"), values.text("topic")
    await check_group(errand.asking, group)
    stats = await errand.asking.ask(errand.asking.admin.groups.stats, group)
    if not topic or not values.text("to"):
        topics = sorted({queue.topic for queue in stats})
        known = Note(f"It has offsets in {', '.join(topics) or 'no topic yet'}.")
        ask = Form(
            "offsets",
            [
                Field("group", "Group", group),
                Field("topic", "Topic", topic or (topics[0] if len(topics) == 1 else "")),
                Field("to", "To", values.text("to"), f"start, end, {TIME_HINT}"),
            ],
            button="Preview",
        )
        return Page(f"Reset offsets of {group}", [known, ask])
    moment = _moment(values)
    rows = [
        {
            "broker": queue.broker_name,
            "queue": queue.queue_id,
            "now": each.consumer_offset,
            "then": then,
            "change": _direction(each.consumer_offset, then),
        }
        for queue, each, then in await _targets(errand, group, topic, moment)
    ]
    form = ChangeForm(
        "offsets",
        "Reset",
        [Input("back_only", "move no queue forward", kind="checkbox")],
        {"group": group, "topic": topic, "to": str(moment)},
    )
    goal = "the end of each queue" if moment == TO_THE_END else time_text(moment) or "the start"
    note = Note(f"Group {group} would go on in topic {topic} at {goal}. Members that run go there at once.")
    return Page(f"Reset offsets of {group}", [note, TableView("What changes", rows), form])


async def reset(errand: Errand) -> Page:
    """Reset the offsets of a group in one topic."""
    session, values = errand.session, errand.values
    group, topic = values.needed("group"), values.needed("topic")
    moment = _moment(values)
    await check_group(errand.asking, group)
    await errand.asking.check_topic(topic)
    offsets = await session.do(
        session.admin.offsets.reset, group, topic, moment, force=not values.ticked("back_only")
    )
    rows = [
        {"broker": queue.broker_name, "queue": queue.queue_id, "offset": offset}
        for queue, offset in offsets.items()
    ]
    back = Links([link("group", f"Group {group}", name=group)])
    return Page(
        f"Offsets of {group} were reset", [TableView(f"Topic {topic}", rows, "nothing changed"), back]
    )


CHANGES: Final = (Change("/offsets", reset_page, reset, ("group", "topic", "to", "back_only")),)


def _moment(values: Values) -> int:
    text = values.needed("to")
    if text in ("start", "end", str(TO_THE_END)):
        return 0 if text == "start" else TO_THE_END
    return values.moment("to", 0)


async def _targets(
    errand: Errand, group: str, topic: str, moment: int
) -> list[tuple[MessageQueue, OffsetWrapper, int]]:
    """Each queue of `topic` in which `group` has an offset, that offset, and the new one."""
    asking = errand.asking
    await asking.check_topic(topic)
    stats = await asking.ask(asking.admin.groups.stats, group, topic)
    if not stats:
        raise BadQuery(f"topic: group {group} has no offsets in {topic}")
    found = []
    for queue, each in stats.items():
        then = each.broker_offset
        if moment != TO_THE_END:
            then = await asking.ask(asking.admin.offsets.search, queue, moment)
        found.append((queue, each, reset_target(each.consumer_offset, then, force=True)))
    return found


def _direction(now: int, then: int) -> str:
    if then == now:
        return "none"
    return f"{now - then:,} come again" if then < now else f"{then - now:,} are skipped"
