"""The way of one message: when it was produced, stored and consumed, and by whom."""

from __future__ import annotations

from typing import Any

from mqframe.core.errors import MqframeError, RouteError
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import TRACE_TOPIC
from mqframe_dashboard.asking import Asking
from mqframe_dashboard.query import Query
from mqframe_dashboard.sampling import Samples
from mqframe_dashboard.tracing import Timeline, bars_of
from mqframe_dashboard.view import Field, Form, Links, Note, Page, Part, TableView, link, time_text

RECORDS_MAX = 200
"""Messages of the trace topic that are looked at, the newest."""
NOTHING = (
    "Nobody traced it. Producers trace what they send, and consumers what they handle, where "
    'mqframe-plugin-trace is installed (pip install mqframe-plugin-trace), with send_hooks=["trace"] and '
    'consume_hooks=["trace"]; what they tell comes some seconds later.'
)


async def trace_page(asking: Asking, samples: Samples, query: Query) -> Page:
    """The form; and what is known of the message that the query string names."""
    wanted, topic = query.text("id"), query.text("topic")
    traces = query.text("traces") or TRACE_TOPIC
    form = Form(
        "trace",
        [
            Field("id", "Message id", wanted, "the sender's"),
            Field("topic", "Topic", topic, "where it lies; its traces say so, too"),
            Field("traces", "Topic of traces", query.text("traces"), f"{TRACE_TOPIC} unless told otherwise"),
        ],
        "Show",
    )
    if not wanted:
        return Page("Trace", [form, Note("Name the id that the sender of a message was told.")])
    try:
        records: list[Any] = list(
            await asking.ask(asking.admin.messages.trace, wanted, trace_topic=traces, max_count=RECORDS_MAX)
        )
    except RouteError:
        records = []  # nobody has traced anything yet
    topic = topic or next((each.topic for each in records if each.topic), "")
    message = await _stored(asking, topic, wanted) if topic else None
    parts: list[Part] = [form]
    if message is not None:
        parts.append(Links([link("message", "The message", topic=topic, id=message.offset_message_id)]))
    if not records:
        parts.append(Note(NOTHING))
    bars = (
        bars_of(records)
        if message is None
        else bars_of(records, message.store_timestamp, message.broker_name or message.store_host)
    )
    if bars:
        line = Timeline("Way", bars)
        told = Note(
            "Times are those of the machines that tell of them; where their clocks differ, so does what "
            "seems to come first."
        )
        rows = [
            {
                "what": each.what,
                "by": each.who,
                "began": time_text(each.begin),
                "ms_after_the_first": each.begin - line.begin,
                "took_ms": each.took,
                "outcome": each.outcome,
            }
            for each in bars
        ]
        parts += [line, told, TableView("All that was told", rows)]
    return Page(f"Trace of {wanted}", parts)


async def _stored(asking: Asking, topic: str, message_id: str) -> ReceivedMessage | None:
    """The message, if it is still there; `None` also where nobody may read it."""
    try:
        return await asking.message(topic, message_id)
    except MqframeError:
        return None
