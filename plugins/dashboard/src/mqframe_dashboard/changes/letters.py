"""Dead letters: chosen ones sent again, and all of a group made readable or closed."""

from __future__ import annotations

from typing import Final

from mqframe_admin.rules.dead_letters import DeadLetter, ResendTo, dead_letter, resend_to

from mqframe.core.errors import FixError
from mqframe.core.messages.names import dead_letter_topic
from mqframe_dashboard.asking import Asking, NotFound
from mqframe_dashboard.changes.errand import Change, Errand
from mqframe_dashboard.changes.posted import Values
from mqframe_dashboard.form_parts import ChangeForm, ChoiceField, Input, Ticks
from mqframe_dashboard.pages.groups import check_group
from mqframe_dashboard.pages.letters import FILTER, closed_brokers, letter_filter, letter_row
from mqframe_dashboard.pages.messages import SHOWN_MAX
from mqframe_dashboard.query import BadQuery
from mqframe_dashboard.view import Links, Note, Page, Part, TableView, link

PICKED: Final = "picked"
FOUND: Final = "found"


async def resend_page(errand: Errand) -> Page:
    """The dead letters that a filter finds, to be ticked, and where copies of them may go."""
    asking, values = errand.asking, errand.values
    group = values.needed("group")
    await check_group(asking, group)
    title = f"Send dead letters of {group} again"
    closed = await closed_brokers(asking, group)
    if closed:
        said = f"The dead letters may not be read on {', '.join(closed)}. Open them first."
        return Page(title, [Note(said, wrong=True), _open_form(group)])
    letters = await _found(asking, group, values)
    if not letters:
        return Page(title, [Note(f"group {group} has no such dead letters")])
    form = ChangeForm(
        "resend",
        "Send again",
        [
            ChoiceField(
                "which",
                "Which",
                {PICKED: "those that are ticked", FOUND: f"all {len(letters)} of this page"},
                PICKED,
            ),
            ChoiceField(
                "to",
                "To",
                {
                    "group": f"only the group {group}, through its retry topic",
                    "topic": "their original topic: ALL groups that subscribe it get them again",
                },
                "group",
            ),
            Input("again", "also those that were sent again before", kind="checkbox"),
        ],
        {"group": group, **{name: values.text(name) for name in FILTER}},
        Ticks("id", {each.id: letter_row(each) for each in letters}),
    )
    parts: list[Part] = [Note("Copies are sent; the dead letters stay where they are."), form]
    if len(letters) == values.count("limit", SHOWN_MAX, SHOWN_MAX):
        parts.append(Note(f"There may be more than these {len(letters)}."))
    return Page(title, parts)


async def resend(errand: Errand) -> Page:
    """Send copies of the chosen ones."""
    asking, session, values = errand.asking, errand.session, errand.values
    group, to = values.needed("group"), _target(values)
    await check_group(asking, group)
    if values.text("which") == FOUND:
        letters = await _found(asking, group, values)
    else:
        letters = [await _one(asking, group, each) for each in _picked(values)]
    if not letters:
        raise BadQuery("id: no dead letter is chosen; tick some, or choose all")
    done = await session.do(session.admin.dead_letters.resend, letters, to=to, again=values.ticked("again"))
    rows = [
        {
            "message": link("letter", each.letter.unique_key, group=group, id=each.letter.id),
            "to": each.topic,
            "outcome": "sent" if each.result is not None else "left out: it was sent again before",
            "copy": each.result.offset_message_id if each.result is not None else "",
        }
        for each in done
    ]
    sent = sum(each.result is not None for each in done)
    back = Links([link("letters", f"Dead letters of {group}", group=group)])
    return Page(f"{sent} of {len(done)} dead letters were sent again", [TableView("Sent", rows), back])


async def open_page(errand: Errand) -> Page:
    """Whether the dead letters of a group may be read, and the form that changes it."""
    group = errand.values.needed("group")
    await check_group(errand.asking, group)
    closed = await closed_brokers(errand.asking, group)
    state = f"closed on {', '.join(closed)}" if closed else "open: they may be read"
    return Page(f"Dead letters of {group}", [Note(f"They are {state}."), _open_form(group, closed)])


async def open_letters(errand: Errand) -> Page:
    """Let dead letters be read, or only written again."""
    session, group = errand.session, errand.values.needed("group")
    await check_group(errand.asking, group)
    to_open = errand.values.needed("readable") == "yes"
    call = session.admin.dead_letters.open if to_open else session.admin.dead_letters.close
    changed = await session.do(call, group)
    said = f"changed on {', '.join(changed)}" if changed else "they were so before"
    back = Links([link("letters", f"Dead letters of {group}", group=group)])
    title = f"Dead letters of {group} are {'open' if to_open else 'closed'}"
    return Page(title, [Note(said), back])


CHANGES: Final = (
    Change("/resend", resend_page, resend, ("group", "which", "id", "to", "again", *FILTER)),
    Change("/letters-open", open_page, open_letters, ("group", "readable")),
)


def _open_form(group: str, closed: object = True) -> ChangeForm:
    button, readable = ("Open", "yes") if closed else ("Close", "no")
    return ChangeForm("letters-open", button, (), {"group": group, "readable": readable})


def _target(values: Values) -> ResendTo:
    try:
        return resend_to(values.text("to") or ResendTo.GROUP)
    except FixError as problem:
        raise BadQuery(f"to: {problem}") from None


def _picked(values: Values) -> list[str]:
    ids = values.each("id")
    if len(ids) > SHOWN_MAX:
        raise BadQuery(f"id: {len(ids)} dead letters are too many; at most {SHOWN_MAX} are sent at once")
    return ids


async def _found(asking: Asking, group: str, values: Values) -> list[DeadLetter]:
    limit = values.count("limit", SHOWN_MAX, SHOWN_MAX)
    return await asking.ask(asking.admin.dead_letters.list, group, max_count=limit, **letter_filter(values))


async def _one(asking: Asking, group: str, wanted: str) -> DeadLetter:
    found = await asking.message(dead_letter_topic(group), wanted)
    if found is None:
        raise NotFound(f"group {group} has no dead letter {wanted}; nothing was sent")
    return dead_letter(group, found)
