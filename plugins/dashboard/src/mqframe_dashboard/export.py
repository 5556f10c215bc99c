"""Dead letters as a download of JSON lines, read and written a few at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import msgspec
from mqframe_admin.rules.dead_letters import DeadLetter, DeadLetterFilter, dead_letter
from mqframe_admin.rules.message_rows import message_row
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from mqframe.core.messages.names import dead_letter_topic
from mqframe_dashboard.asking import Asking
from mqframe_dashboard.changes.rejection import Rejection
from mqframe_dashboard.form_parts import ChangeForm, Ticks
from mqframe_dashboard.pages.groups import check_group
from mqframe_dashboard.pages.letters import closed_brokers, letter_filter, letter_row
from mqframe_dashboard.query import BadQuery, Query
from mqframe_dashboard.sampling import Samples
from mqframe_dashboard.view import Note, Page

READ_AT_ONCE: Final = 32
IDS_MAX: Final = 200


async def choose_page(asking: Asking, samples: Samples, query: Query) -> Page:
    """The dead letters that a filter finds, to be ticked for an export."""
    group = query.needed("group")
    limit, which = query.count("limit", IDS_MAX, IDS_MAX), letter_filter(query)
    await check_group(asking, group)
    title = f"Export dead letters of {group}"
    closed = await closed_brokers(asking, group)
    if closed:
        return Page(title, [Note(_closed(group, closed), wrong=True)])
    letters = await asking.ask(asking.admin.dead_letters.list, group, max_count=limit, **which)
    if not letters:
        return Page(title, [Note(f"group {group} has no such dead letters")])
    ticks = Ticks("id", {each.id: letter_row(each) for each in letters})
    form = ChangeForm("export", "Export", hidden={"group": group}, ticks=ticks, method="get")
    return Page(title, [Note("Those that are ticked are exported; without any all are."), form])


async def export(request: Request) -> Response:
    """The dead letters of a group that a filter means, or those with the given ids, one a line.

    The lines are those of `mqframe store export`, with `topic` the original one, and of each dead letter its
    `group`, its `dead_letter` id and the `reason`. Raises `Rejection` while they may not be read.
    """
    asking: Asking = request.app.state.asking
    query = Query(request.query_params)
    group, ids = query.needed("group"), frozenset(request.query_params.getlist("id"))
    if len(ids) > IDS_MAX:
        raise BadQuery(f"id: {len(ids)} are too many; at most {IDS_MAX}")
    which = DeadLetterFilter(**letter_filter(query))
    await check_group(asking, group)
    closed = await closed_brokers(asking, group)
    if closed:
        raise Rejection(
            409,
            "The dead letters are closed",
            _closed(group, closed),
        )
    known = dead_letter_topic(group) in await asking.ask(asking.admin.topics.list)
    lines = _lines(asking, group, which, ids) if known else iter(())
    headers = {"Content-Disposition": 'attachment; filename="dead-letters.jsonl"'}
    return StreamingResponse(lines, media_type="application/x-ndjson", headers=headers)


def _closed(group: str, brokers: list[str]) -> str:
    return (
        f"the dead letters of {group} may not be read on {', '.join(brokers)}; "
        f"open them with: mqframe dlq open {group}"
    )


async def _lines(
    asking: Asking, group: str, which: DeadLetterFilter, ids: frozenset[str]
) -> AsyncIterator[bytes]:
    encoder = msgspec.json.Encoder()
    async for letter in _letters(asking, group, which):
        if not ids or not ids.isdisjoint((letter.id, letter.unique_key)):
            row = message_row(letter.message) | {
                "topic": letter.topic,
                "group": group,
                "dead_letter": letter.id,
                "reason": letter.reason,
            }
            yield encoder.encode(row) + b"\n"
            await asyncio.sleep(0)


async def _letters(asking: Asking, group: str, which: DeadLetterFilter) -> AsyncIterator[DeadLetter]:
    """Queue by queue, the oldest first; those that come while it reads are left out."""
    puller = asking.puller
    for queue in await asking.ask(puller.queues, dead_letter_topic(group)):
        end = await asking.ask(puller.max_offset, queue)
        offset = await asking.ask(puller.min_offset, queue)
        if which.begin_ms > 0 and offset < end:
            offset = max(offset, await asking.ask(puller.offset_at, queue, which.begin_ms))
        while offset < end:
            result = await asking.ask(puller.pull, queue, offset, READ_AT_ONCE)
            for message in result.messages:
                letter = dead_letter(group, message)
                if message.queue_offset < end and which.matches(letter):
                    yield letter
            offset = max(result.next_offset, offset + 1)
