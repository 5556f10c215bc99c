"""What a task that writes does: sends its rows, and returns when brokers have confirmed all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, Protocol

import pyarrow as pa

from mqframe import Producer, ProducerSettings
from mqframe.core.errors import FixError, GiveUpError, MqframeError, RetryError
from mqframe.core.messages.message import BODY_BYTES_MAX, Message, MessageQueue, SendResult
from mqframe_spark.retrying import retrying
from mqframe_spark.sink.key_bytes import UniqueKeys
from mqframe_spark.sink.lanes import Lanes
from mqframe_spark.sink.options import SinkOptions
from mqframe_spark.sink.outgoing import Outgoing, OutgoingBatches
from mqframe_spark.wire import Wire, connect

SEND_SECONDS: Final = 15.0
"""Longest time for one try. A job has time, and what is repeated too early comes twice."""
GROUP: Final = "SPARK_SINK"
"""The producer group where none is given."""


class Sending(Protocol):
    """The part of a producer that is used."""

    def send(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        delay: float | None = None,
        deliver_at: int | None = None,
        delay_level: int | None = None,
    ) -> SendResult:
        """Send one message."""
        ...

    def send_encoded(self, topic: str, elements: bytes, *, queue: MessageQueue | None = None) -> SendResult:
        """Send encoded messages."""
        ...


def writable_queues(wire: Wire, topic: str) -> Sequence[MessageQueue]:
    """The queues of `topic` that can be written. Raises `FixError` for a topic that nobody has."""
    queues = wire.route(topic).write_queues()
    if not queues:
        raise RetryError(
            f"topic {topic} has no queue to write: its brokers have no master, or forbid writing"
        )
    return queues


def find_queues(
    wire: Wire, topic: str, *, sleep: Callable[[float], None] = time.sleep
) -> Sequence[MessageQueue]:
    """As `writable_queues`, with some patience: name servers forget a topic while its broker starts again."""

    def once() -> Sequence[MessageQueue]:
        try:
            return writable_queues(wire, topic)
        except FixError as problem:
            raise RetryError(f"topic {topic} was deleted, or its brokers are away: {problem}") from problem

    return retrying(once, sleep=sleep)


def with_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch] | None:
    """Those of `batches` that have rows; `None` when none has.

    Partitions without a row are common in streams; they are to open no connection.
    """
    filled = filter(len, batches)
    first = next(filled, None)
    return None if first is None else chain((first,), filled)


def send_rows(
    options: SinkOptions, batches: Iterable[pa.RecordBatch], *, idempotence: str = "", where: str = ""
) -> int:
    """Send all rows of `batches`, and give their number, once brokers have confirmed them.

    `idempotence`, `where`: as of `OutgoingBatches`. Raises `FixError` for a row that no broker takes,
    `RetryError` when brokers could not be reached for too long; what was sent before stays.
    """
    filled = with_rows(batches)
    if filled is None:
        return 0
    wire = connect(options.nameserver, options.group or GROUP, options.access)
    try:
        settings = ProducerSettings(
            send_timeout_seconds=SEND_SECONDS,
            body_bytes_max=2 * BODY_BYTES_MAX,
            compress_over_bytes=options.compress_over_bytes,
        )
        with Producer(
            options.group or GROUP,
            nameserver=options.nameserver,
            settings=settings,
            **options.access.client_arguments(),
        ) as producer:
            outgoing = OutgoingBatches(
                options,
                lambda topic: _queues(wire, options, topic),
                UniqueKeys(producer.client_id),
                idempotence=idempotence,
                where=where,
            )
            return deliver(producer, outgoing, filled, options.in_flight_requests, where=where)
    finally:
        wire.close()


def _queues(wire: Wire, options: SinkOptions, topic: str) -> Sequence[MessageQueue]:
    try:
        return find_queues(wire, topic)
    except RetryError as problem:
        if not options.topic and isinstance(problem.__cause__, FixError):
            raise problem.__cause__ from None  # nobody has looked before whether it is there
        raise


def deliver(
    producer: Sending,
    outgoing: OutgoingBatches,
    batches: Iterable[pa.RecordBatch],
    in_flight: int,
    *,
    where: str = "",
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Send the rows of `batches` through `producer`, `in_flight` requests at once; gives their number."""
    lanes = Lanes(lambda one: _send(producer, one, where, sleep), in_flight)
    count = 0
    try:
        for one in outgoing.of(batches):
            count += one.count
            lanes.put(one)
        lanes.finish()
    finally:
        lanes.close()
    return count


def _send(producer: Sending, one: Outgoing, where: str, sleep: Callable[[float], None]) -> None:
    def once() -> SendResult:
        if one.single is not None:
            return producer.send(one.single, queue=one.queue, **one.delay)
        return producer.send_encoded(one.topic, one.elements, queue=one.queue)

    try:
        retrying(once, sleep=sleep)
    except MqframeError as problem:
        raise _explained(problem, one, where) from problem


def _explained(problem: MqframeError, one: Outgoing, where: str) -> MqframeError:
    first, last = one.rows
    rows = f"row {first}" if first == last else f"one of rows {first} to {last}"
    place = f"topic {one.topic}" + (
        "" if one.queue is None else f", queue {one.queue.broker_name}/{one.queue.queue_id}"
    )
    kind = next((kind for kind in (RetryError, FixError) if isinstance(problem, kind)), GiveUpError)
    return kind(f"{where or 'a partition'}, {rows}: nobody confirmed them for {place}: {problem}")
