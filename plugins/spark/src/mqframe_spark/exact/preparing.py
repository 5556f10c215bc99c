"""What a task of an exactly-once write does: stores its rows as half messages."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import pyarrow as pa
from mqframe_transactions.rules.half_batch import PreparedHalf

from mqframe.core.errors import FixError, MqframeError, RetryError
from mqframe.core.messages.message import MessageQueue
from mqframe_spark.exact.rules import HalfName
from mqframe_spark.retrying import PAUSES_SECONDS
from mqframe_spark.sink.lanes import Lanes
from mqframe_spark.sink.outgoing import Outgoing, OutgoingBatches


class Preparing(Protocol):
    """The part of a `BatchTransactionProducer` that is used."""

    def prepare(
        self,
        topic: str,
        elements: bytes,
        count: int,
        *,
        properties: Mapping[str, str] = {},
        queue: MessageQueue | None = None,
    ) -> tuple[PreparedHalf, ...]:
        """Store encoded messages where no consumer sees them."""
        ...


class Preparation:
    """Half messages of one task attempt. `name`: what they belong to; each request gets a number of its own.

    A request that nobody knows the fate of is sent anew under the next number; its own is `void`.
    """

    def __init__(
        self,
        producer: Preparing,
        name: HalfName,
        *,
        where: str = "",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._producer = producer
        self._name = name
        self._where = where
        self._sleep = sleep
        self._lock = threading.Lock()
        self._next = 0
        self.halves: list[PreparedHalf] = []
        self.void: list[int] = []

    def rows(self, outgoing: OutgoingBatches, batches: Iterable[pa.RecordBatch], in_flight: int) -> None:
        """Store all rows of `batches`, `in_flight` requests at once; those of one queue in their order.

        Raises `FixError` for what no broker takes, `RetryError` when brokers were out of reach for too long.
        """
        lanes = Lanes(self._prepare, in_flight)
        try:
            for one in outgoing.of(batches):
                lanes.put(one)
            lanes.finish()
        finally:
            lanes.close()

    def _prepare(self, one: Outgoing) -> None:
        for pause in (*PAUSES_SECONDS, None):
            number = self._number()
            name = self._name._replace(request=number)
            try:
                halves = self._producer.prepare(
                    one.topic, one.elements, one.count, properties=name.properties(), queue=one.queue
                )
            except RetryError as problem:
                with self._lock:
                    self.void.append(number)
                if pause is None:
                    raise self._explained(RetryError, problem, one) from problem
                self._sleep(pause)
            except MqframeError as problem:
                raise self._explained(FixError, problem, one) from problem
            else:
                with self._lock:
                    self.halves += halves
                return

    def _number(self) -> int:
        with self._lock:
            self._next += 1
            return self._next - 1

    def _explained(self, kind: type[MqframeError], problem: MqframeError, one: Outgoing) -> MqframeError:
        first, last = one.rows
        rows = f"row {first}" if first == last else f"one of rows {first} to {last}"
        return kind(f"{self._where or 'a partition'}, {rows}: topic {one.topic} did not take them: {problem}")
