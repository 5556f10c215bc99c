"""Dead letters of a group: listed by filters, and shown one by one."""

from __future__ import annotations

from typing import Any, Final

from mqframe_admin.rules.dead_letters import DeadLetter, dead_letter

from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.codes import PERM_READ
from mqframe.core.messages.names import dead_letter_topic, is_system_group
from mqframe_dashboard.asking import Asking, NotFound
from mqframe_dashboard.pages.groups import check_group
from mqframe_dashboard.pages.messages import (
    LIMIT_HINT,
    SHOWN,
    SHOWN_MAX,
    TIME_HINT,
    message_columns,
    message_parts,
)
from mqframe_dashboard.query import MS_MAX, Query
from mqframe_dashboard.sampling import Samples
from mqframe_dashboard.view import Facts, Field, Form, Note, Page, Part, TableView, link, time_text

FILTER: Final = ("key", "tag", "topic", "since", "until")
"""The names of what dead letters are found by."""


async def letters_page(asking: Asking, samples: Samples, query: Query) -> Page:
    """Groups to choose from, or the dead letters of one, the oldest first."""
    group = query.text("group")
    if not group:
        names = await asking.ask(asking.admin.groups.list)
        rows = [{"group": link("letters", name, group=name)} for name in names if not is_system_group(name)]
        return Page("Dead letters", [TableView("Groups", rows, "there is no group yet")])
    limit = query.count("limit", SHOWN, SHOWN_MAX)
    which = letter_filter(query)
    await check_group(asking, group)
    parts: list[Part] = [_form(group, query)]
    if closed := await closed_brokers(asking, group):
        parts.append(
            Note(
                f"The dead letters may not be read on {', '.join(closed)}; this dashboard changes nothing. "
                f"Open them with: mqframe dlq open {group}",
                wrong=True,
            )
        )
    else:
        letters = await asking.ask(asking.admin.dead_letters.list, group, max_count=limit, **which)
        parts.append(
            TableView(
                "Found", [letter_row(each) for each in letters], f"group {group} has no such dead letters"
            )
        )
        if len(letters) == limit:
            parts.append(Note(f"There may be more than these {limit}."))
    return Page(f"Dead letters of {group}", parts)


async def letter_page(asking: Asking, samples: Samples, query: Query) -> Page:
    """One dead letter."""
    group, wanted = query.needed("group"), query.needed("id")
    await check_group(asking, group)
    topic = dead_letter_topic(group)
    known = topic in await asking.ask(asking.admin.topics.list)
    found = await asking.message(topic, wanted) if known else None
    if found is None:
        raise NotFound(f"group {group} has no dead letter {wanted}")
    letter = dead_letter(group, found)
    facts = {
        "group": link("group", group, name=group),
        "original topic": link("topic", letter.topic, name=letter.topic),
        "given up": time_text(found.store_timestamp),
        "attempts": found.reconsume_times,
        "reason": letter.reason,
    }
    return Page(f"Dead letter {letter.unique_key}", [Facts("Dead letter", facts), *message_parts(found)])


def letter_filter(query: Query) -> dict[str, Any]:
    """Which dead letters are meant, as arguments of `dead_letters` and `DeadLetterFilter`."""
    words: dict[str, Any] = {name: query.text(name) or None for name in ("key", "tag", "topic")}
    return words | {"begin_ms": query.moment("since", 0), "end_ms": query.moment("until", MS_MAX)}


async def closed_brokers(asking: Asking, group: str) -> list[str]:
    """Brokers on which the dead letters may only be written."""
    topic = dead_letter_topic(group)
    if topic not in await asking.ask(asking.admin.topics.list):
        return []
    configs: dict[str, TopicConfig] = await asking.ask(asking.admin.topics.config, topic)
    return sorted(broker for broker, config in configs.items() if not config.perm & PERM_READ)


def _form(group: str, query: Query) -> Form:
    return Form(
        "letters",
        [
            Field("group", "Group", group),
            Field("key", "Key or id", query.text("key")),
            Field("tag", "Tag", query.text("tag")),
            Field("topic", "Original topic", query.text("topic")),
            Field("since", "Given up since", query.moment_text("since"), TIME_HINT),
            Field("until", "Given up until", query.moment_text("until"), TIME_HINT),
            Field("limit", "At most", query.text("limit"), LIMIT_HINT),
        ],
    )


def letter_row(letter: DeadLetter) -> dict[str, object]:
    """What lists show of a dead letter."""
    return {
        "message": link("letter", letter.unique_key, group=letter.group, id=letter.id),
        "original_topic": letter.topic,
        "attempts": letter.message.reconsume_times,
        "reason": letter.reason,
        **message_columns(letter.message),
    }
