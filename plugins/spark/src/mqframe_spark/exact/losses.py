"""Half messages that count and that brokers have given up: found again, so that nobody misses them unseen."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

import attrs
from mqframe_transactions.rules.half_batch import PreparedHalf

from mqframe import Puller
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, GiveUpError, RouteError
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import CHECK_MAX_TIME_TOPIC
from mqframe_spark.exact.answers import Lookup
from mqframe_spark.exact.rules import SinkRecord, name_of
from mqframe_spark.retrying import retrying

DISCARDED: Final = "discarded after the last check, now in its topic " + CHECK_MAX_TIME_TOPIC
GONE: Final = "no longer held, so it is not known whether they were delivered"


class LostMessages(GiveUpError):
    """Messages of a recorded batch that were not delivered, or of which nobody knows whether they were."""


@attrs.frozen
class Loss:
    """Messages of a batch for `topic`; `how`: what became of their half messages on `broker`."""

    batch: int
    topic: str
    broker: str
    messages: int
    how: str


def discarded(
    puller: Puller,
    lookup: Lookup,
    record: SinkRecord,
    brokers: Iterable[str] | None = None,
    *,
    pauses: Iterable[float] = (),
    sleep: Callable[[float], None] = time.sleep,
) -> list[Loss]:
    """What counts in the open batches of `record` and was discarded, by `brokers` or by any.

    `lookup`: finds what has become a message all the same: Apache's brokers also discard copies of halves
    that were ended. `pauses`: waited for name servers to know the topic, s: a broker that has just made it
    tells them when it is asked something next. Raises `RetryError` when a broker cannot be asked.
    """
    queues = retrying(lambda: _queues(puller))
    for pause in pauses:
        if queues:
            break
        sleep(pause)
        queues = retrying(lambda: _queues(puller))
    wanted = None if brokers is None else set(brokers)
    found: Counter[tuple[int, str, str]] = Counter()
    for queue in queues:
        if wanted is None or queue.broker_name in wanted:
            found += _in_queue(puller, lookup, queue, record)
    return [Loss(*key, count, DISCARDED) for key, count in sorted(found.items())]


def gone(batch: int, halves: Iterable[PreparedHalf]) -> list[Loss]:
    """A loss for each topic and broker of `halves`, which their brokers do not hold any more."""
    found: Counter[tuple[str, str]] = Counter()
    for half in halves:
        found[half.topic, half.broker_name] += half.count
    return [Loss(batch, *key, count, GONE) for key, count in sorted(found.items())]


def told(query: str, losses: Iterable[Loss]) -> str:
    """`losses` in words."""
    parts = [
        f"batch {loss.batch}: {loss.messages} messages for topic {loss.topic} on broker {loss.broker}: "
        f"{loss.how}"
        for loss in losses
    ]
    return f"query {query}: messages were recorded as sent and are lost: {'; '.join(parts)}"


def _queues(puller: Puller) -> tuple[MessageQueue, ...]:
    try:
        return puller.route(CHECK_MAX_TIME_TOPIC, refresh=True).read_queues()
    except RouteError as problem:
        cause = problem.__cause__
        if isinstance(cause, AnswerError) and cause.code == ResponseCode.TOPIC_NOT_EXIST:
            return ()  # no broker ever discarded anything
        raise


def _in_queue(
    puller: Puller, lookup: Lookup, queue: MessageQueue, record: SinkRecord
) -> Counter[tuple[int, str, str]]:
    found: Counter[tuple[int, str, str]] = Counter()
    at = retrying(lambda: puller.min_offset(queue))
    end = retrying(lambda: puller.max_offset(queue))
    while at < end:
        result = retrying(partial(puller.pull, queue, at))
        for message in result.messages:
            name = name_of(message.properties)
            if name is None or not record.counts(name):
                continue
            count, topic = message.properties.get(p.HALF_BATCH), message.properties.get(p.REAL_TOPIC, "")
            if count is None and retrying(partial(lookup, topic, message.message_id)) is not None:
                continue
            found[name.batch, topic, queue.broker_name] += int(count) if count and count.isdecimal() else 1
        if result.next_offset <= at:
            break
        at = result.next_offset
    return found
