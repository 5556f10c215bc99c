"""Delayed messages: how many wait at each delay level and for a given time, and which come next."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs
from mqframe_admin.bodies import TopicStatsTable
from mqframe_admin.requests import GetTopicStatsInfo

from mqframe.core.codes import ResponseCode
from mqframe.core.delay.levels import DEFAULT_LEVELS, parse_levels
from mqframe.core.delay.recall_handle import delete_key
from mqframe.core.delay.schedule import DelayOffsetTable
from mqframe.core.errors import AnswerError, MqframeError
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.core.messages.names import SCHEDULE_TOPIC, TIMER_TOPIC
from mqframe.core.messages.whole_numbers import whole_number
from mqframe.core.requests.admin import GetAllDelayOffset, GetTimerMetrics
from mqframe.core.wire import loose_json
from mqframe.core.wire.bodies import Body
from mqframe_dashboard.asking import Asking, settled
from mqframe_dashboard.curves import span_text
from mqframe_dashboard.query import Query
from mqframe_dashboard.reading import messages_of
from mqframe_dashboard.sampling import Samples
from mqframe_dashboard.view import Note, Page, Part, TableView, link, time_text


class TimersOfTopic(Body):
    """How many messages of a topic wait for a given time."""

    count: int = 0


class TimersByTopic(Body):
    """What a broker says of those of all topics."""

    timing_count: dict[str, TimersOfTopic] = {}


SHOWN: Final = 50
"""Messages that are listed, those that are due first."""
LEVEL_LOOKED_AT: Final = 8
"""Messages that are read of each level: all of a level wait equally long, so its first are its next."""
TIMERS_LOOKED_AT: Final = 512
"""Messages for a given time that are read of each broker, those that were stored last."""
_MINUTE: Final = 60_000
_SPANS: Final = {
    "within a minute": _MINUTE,
    "1 to 10 minutes": 10 * _MINUTE,
    "10 to 60 minutes": 60 * _MINUTE,
    "1 to 24 hours": 1440 * _MINUTE,
}


@attrs.frozen
class Level:
    """A delay level of a broker where something waits. `next_due`: ms since 1970; `delay`: ms."""

    broker: str
    number: int
    delay: int
    waiting: int
    first: list[ReceivedMessage]

    def due(self, message: ReceivedMessage) -> int:
        """When `message` is due, ms since 1970."""
        return message.store_timestamp + self.delay


@attrs.frozen
class Timers:
    """Messages of a broker that wait for a given time. `waiting`: how many, by topic.

    `looked_at`, `stored`: how many were read, and how many there are to read; what was read and still waits
    is `found`, with when it is due, ms since 1970.
    """

    waiting: dict[str, int]
    looked_at: int
    stored: int
    found: list[tuple[int, ReceivedMessage]]


async def delayed_page(asking: Asking, samples: Samples, query: Query) -> Page:
    """All that waits, and what comes next."""
    masters = await asking.ask(asking.admin.cluster.masters)
    topics = await asking.ask(asking.admin.topics.list)
    now = int(asking.now() * 1000)
    notes: list[Part] = []

    async def levels_of(broker: str) -> list[Level]:
        return await _levels(asking, broker, masters[broker]) if SCHEDULE_TOPIC in topics else []

    async def timers_of(broker: str) -> Timers:
        return await _timers(asking, broker, TIMER_TOPIC in topics, now)

    levels: list[Level] = []
    for broker, found in (await settled(levels_of, masters)).items():
        if isinstance(found, MqframeError):
            notes.append(Note(f"{broker} does not tell what waits at its delay levels: {found}", wrong=True))
        else:
            levels += found
    timers: dict[str, Timers] = {}
    for broker, told in (await settled(timers_of, masters)).items():
        if isinstance(told, Timers):
            timers[broker] = told
        elif isinstance(told, AnswerError) and told.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            notes.append(Note(f"{broker} has delay levels alone: {told}"))
        else:
            notes.append(Note(f"{broker} does not tell what waits for a given time: {told}", wrong=True))
    about = Note(
        "Messages with a delay level, or for a given time, wait until they are due. "
        "Nobody receives them before."
    )
    return Page("Delayed messages", [about, *notes, *_parts(levels, timers, now)], live=True)


def _parts(levels: list[Level], timers: dict[str, Timers], now: int) -> list[Part]:
    of_levels = [
        (each.due(message), f"level {each.number} ({span_text(each.delay)})", message)
        for each in levels
        for message in each.first
    ]
    of_timers = [(due, "given time", message) for each in timers.values() for due, message in each.found]
    coming = sorted([*of_levels, *of_timers], key=lambda each: (each[0], each[2].offset_message_id))
    waiting = sum(each.waiting for each in levels) + sum(
        sum(each.waiting.values()) for each in timers.values()
    )
    looked = sum(each.looked_at for each in timers.values())
    stored = sum(each.stored for each in timers.values())
    parts: list[Part] = [
        TableView("Next", [_row(*each, now) for each in coming[:SHOWN]], "no message waits"),
    ]
    if coming:
        text = f"Showing {min(len(coming), SHOWN)} of {max(waiting, len(coming))} messages that wait."
        if looked < stored:
            text += f" Of those for a given time {looked} of {stored} were looked at, the last that came."
        parts.append(Note(text))
    parts += [
        TableView("By delay level", [_level_row(each) for each in levels], "nothing waits at a delay level"),
        TableView(
            "For a given time, by topic",
            [
                {"broker": broker, "topic": link("topic", topic, name=topic), "waiting": count}
                for broker, each in timers.items()
                for topic, count in sorted(each.waiting.items())
            ],
            "nothing waits for a given time",
        ),
    ]
    if of_timers:
        rows = _spans([due - now for due, _, _ in of_timers])
        parts.append(TableView(f"For a given time, by when (looked at {looked} of {stored} stored)", rows))
    return parts


async def _levels(asking: Asking, broker: str, address: str) -> list[Level]:
    settings = await asking.ask(asking.admin.brokers.config, address)
    delays = parse_levels(settings.get("messageDelayLevel", DEFAULT_LEVELS))
    call = asking.admin.brokers.call
    answer = await asking.ask(call, broker, GetAllDelayOffset())
    done = loose_json.decode(bytes(answer.body), DelayOffsetTable).offset_table
    answer = await asking.ask(call, broker, GetTopicStatsInfo(SCHEDULE_TOPIC))
    stats = loose_json.decode(bytes(answer.body), TopicStatsTable).offset_table
    found = []
    for queue, held in sorted(stats.items()):
        number = queue.queue_id + 1
        at = max(done.get(number, 0), held.min_offset)
        if at < held.max_offset and number <= len(delays):
            mine = MessageQueue(SCHEDULE_TOPIC, broker, queue.queue_id)
            end = min(held.max_offset, at + LEVEL_LOOKED_AT)
            first = [each async for each in messages_of(asking, mine, at, end)]
            found.append(Level(broker, number, delays[number - 1], held.max_offset - at, first))
    return found


async def _timers(asking: Asking, broker: str, there: bool, now: int) -> Timers:
    answer = await asking.ask(asking.admin.brokers.call, broker, GetTimerMetrics())
    table = loose_json.decode(bytes(answer.body), TimersByTopic).timing_count
    waiting = {topic: each.count for topic, each in table.items() if each.count > 0}
    if not (there and waiting):
        return Timers(waiting, 0, 0, [])
    queue = MessageQueue(TIMER_TOPIC, broker, 0)
    first = await asking.ask(asking.puller.min_offset, queue)
    end = await asking.ask(asking.puller.max_offset, queue)
    at = max(first, end - TIMERS_LOOKED_AT)
    read = [each async for each in messages_of(asking, queue, at, end)]
    return Timers(waiting, len(read), end - first, still_waiting(read, now))


def still_waiting(stored: Iterable[ReceivedMessage], now: int) -> list[tuple[int, ReceivedMessage]]:
    """What of the timer's messages is yet to come after `now`, and when, ms since 1970.

    What goes round the wheel once more is stored again, and counts once; what was taken back does not.
    """
    waiting: dict[str, tuple[int, ReceivedMessage]] = {}
    recalled = set()
    for message in stored:
        due = whole_number(message.properties.get(p.TIMER_OUT_MS, ""))
        named = message.properties.get(p.TIMER_DELETE_KEY)
        if named is not None:
            recalled.add(named)
        elif due is not None and due > now:
            unique = message.properties.get(p.UNIQUE_KEY) or message.offset_message_id
            waiting[delete_key(message.properties.get(p.REAL_TOPIC, ""), unique)] = (due, message)
    return [found for name, found in waiting.items() if name not in recalled]


def _spans(left: list[int]) -> list[dict[str, object]]:
    """How many are due when; `left`: ms until each is due."""
    rows: list[dict[str, object]] = []
    before = 0
    for name, size in _SPANS.items():
        within = sum(each <= size for each in left)
        rows.append({"due": name, "messages": within - before})
        before = within
    return [*rows, {"due": "after a day", "messages": len(left) - before}]


def _level_row(level: Level) -> dict[str, object]:
    due = min(map(level.due, level.first), default=0)
    return {
        "broker": level.broker,
        "level": level.number,
        "delay": span_text(level.delay),
        "waiting": level.waiting,
        "next_due": time_text(due),
    }


def _row(due: int, waits: str, message: ReceivedMessage, now: int) -> dict[str, object]:
    topic = message.properties.get(p.REAL_TOPIC, "")
    return {
        "due": time_text(due),
        "in": span_text(due - now) if due > now else "now",
        "topic": link("topic", topic, name=topic),
        "message": link("message", message.message_id, topic=message.topic, id=message.offset_message_id),
        "tag": message.tag or "",
        "keys": ", ".join(message.keys),
        "waits_for": waits,
        "broker": message.broker_name,
    }
