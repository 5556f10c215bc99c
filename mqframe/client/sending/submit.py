"""Submitted messages: packed by queue into batch requests, results handed to futures.

`mqframe.core.sending.accumulator` decides what travels together and when; this carries it out, on one loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from mqframe.client.sending.batches import SendBatch
from mqframe.client.sending.in_flight_limit import InFlightLimit
from mqframe.client.sending.pipeline import SendPipeline
from mqframe.client.sending.result_futures import Item, Results, operations_of
from mqframe.client.sending.unsent import CutOff
from mqframe.client.settings import ProducerSettings
from mqframe.core.errors import ClosedError, GiveUpError, MqframeError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import DLQ_PREFIX, RETRY_PREFIX
from mqframe.core.sending.accumulator import Accumulator, Batch
from mqframe.core.sending.answer import split_send_result
from mqframe.core.sending.retries import NEVER, submitted_rules
from mqframe.hooks.interfaces import Forbidden
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock, Timer

log = get_logger("client")


class Submitter:
    """Gathers and sends. Everything but the construction happens on one loop.

    Messages that are free to go to any queue are tried again as `settings` say; those bound to one are sent
    once. `in_flight`: released once messages, which acquired it before, are done. `results`: gets results.
    """

    def __init__(
        self,
        pipeline: SendPipeline,
        settings: ProducerSettings,
        clock: LoopClock,
        in_flight: InFlightLimit,
        results: Results,
    ) -> None:
        self._results = results
        self._pipeline = pipeline
        self._rules = submitted_rules(settings.retries_async)
        self._clock = clock
        self._in_flight = in_flight
        self.cut_off = CutOff(pipeline.encoder.group, in_flight.count)
        self._timeout = settings.send_timeout_seconds
        self._batch_bytes_max = settings.batch_bytes_max
        self._compress_over = settings.compress_over_bytes
        self._accumulator: Accumulator[Item] = Accumulator(
            settings.batch_messages_max, settings.batch_bytes_max, settings.linger_seconds
        )
        self._sticky: dict[str, Batch[Item]] = {}
        self._timer: Timer | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopped = False

    def add(self, item: Item) -> bool:
        """Add `item`; returns whether a batch is on its way because of it.

        A free message joins the batch that the last one of its topic joined, so that batches fill; the next
        batch goes to the next queue. Raises `ClosedError` once `stop` was called.
        """
        if self._stopped:
            raise ClosedError("the producer was stopped; the message was not sent")
        accumulator = self._accumulator
        message, size = item.message, item.size
        topic = message.topic
        alone = (
            len(message.body) >= self._compress_over
            or size > self._batch_bytes_max
            or not message.wait_store_ok
            or topic.startswith((RETRY_PREFIX, DLQ_PREFIX))
        )
        if item.queue is not None:
            accumulator.add(item.queue, item, size, self._clock.monotonic(), alone=alone)
        else:
            batch = self._sticky.get(topic)
            if batch is not None and not alone and accumulator.room(batch, size):
                accumulator.append(batch, item, size)
            else:
                queue = batch.queue if batch is not None and not batch.closed else self._next_queue(topic)
                self._sticky[topic] = accumulator.add(queue, item, size, self._clock.monotonic(), alone=alone)
        if accumulator.has_ready:
            self._pump()
            return True
        if self._timer is None:
            self._set_timer()
        return False

    async def flush(self) -> None:
        """Send everything that was added; returns when all of it has a result or an error."""
        while not self._accumulator.empty:
            self._accumulator.close_open()
            self._pump()
            if self._tasks:
                await asyncio.wait(self._tasks)

    async def stop(self) -> None:
        """Take nothing more, and send what was added."""
        self._stopped = True
        await self.flush()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _next_queue(self, topic: str) -> MessageQueue:
        route = self._pipeline.transport.known_route(topic)
        if route is None or not route.write_queues():
            raise ClosedError(f"the route of {topic} is gone")
        return self._pipeline.choose(route)

    def _set_timer(self) -> None:
        due = self._accumulator.next_due()
        if due is not None:
            delay = max(0.0, due - self._clock.monotonic())
            self._timer = self._clock.call_later(delay, self._lingered)

    def _lingered(self) -> None:
        self._timer = None
        self._accumulator.close_open(now=self._clock.monotonic())
        self._pump()
        self._set_timer()

    def _pump(self) -> None:
        for batch in self._accumulator.take_ready():
            task = asyncio.ensure_future(self._send(batch))
            self._tasks.add(task)
            task.add_done_callback(partial(self._sent, batch))

    def _sent(self, batch: Batch[Item], task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():  # perhaps before it began, so that it could not say so itself
            rest = [item for item in batch.items if not item.future.done()]
            self._results.fail(rest, ClosedError("the producer was stopped; the message was not sent"))

    async def _send(self, batch: Batch[Item]) -> None:
        items = batch.items
        try:
            await self._send_items(batch.queue, items)  # type: ignore[arg-type]  # keys are message queues here
        except MqframeError as problem:
            self._results.fail(items, problem)
        except asyncio.CancelledError:
            self.cut_off.interrupted += len(items)
            interrupted = ClosedError("the producer was stopped; the message may or may not be stored")
            interrupted.maybe_stored = True
            self._results.fail(items, interrupted)
            raise
        except Exception as problem:  # one batch's fault must not leave its futures without an answer
            log.exception("submitted batch failed", queue=str(batch.queue))
            self._results.fail(items, GiveUpError(f"the batch could not be sent: {problem!r}"))
        finally:
            self._accumulator.done(batch)
            self._in_flight.release(sum([len(item.message.body) for item in items]), len(items))
            if self._accumulator.has_ready:
                self._pump()

    async def _send_items(self, queue: MessageQueue, items: Sequence[Item]) -> None:
        pipeline = self._pipeline
        deadline = self._clock.monotonic() + self._timeout
        route = await pipeline.route(queue.topic, self._timeout)
        if pipeline.forbidden:
            address = await pipeline.address(route, queue, self._timeout)
            items = self._allowed(items, queue, address)
            if not items:
                return
        bound = any(item.queue is not None for item in items)
        ids = pipeline.encoder.take_ids(len(items))
        batch = self._packed(items, ids)
        rules = NEVER if bound else self._rules
        fixed = queue if bound else None
        try:
            result = await pipeline.deliver(
                batch, rules, route, deadline, fixed=fixed, first=queue, mode="async"
            )
        except MqframeError as problem:
            free = (
                [(item, i) for item, i in zip(items, ids, strict=True) if item.queue is None] if bound else []
            )
            left = deadline - self._clock.monotonic()
            if not free or self._rules.next_delay(1, problem, left, lambda: 0.5) is None:
                raise
            # Only those that are bound to the queue must not go elsewhere.
            self._results.fail([item for item in items if item.queue is not None], problem)
            items, ids = [item for item, _ in free], [i for _, i in free]
            batch = self._packed(items, ids)
            again = self._rules.after_one()
            result = await pipeline.deliver(
                batch,
                again,
                route,
                deadline,
                avoid=queue.broker_name,
                doubt=problem if problem.maybe_stored else None,
                mode="async",
            )
        one = len(items) == 1
        self._results.resolve(items, (result,) if one else split_send_result(result, ids))

    def _packed(self, items: Sequence[Item], ids: list[str]) -> SendBatch:
        pipeline = self._pipeline
        messages = [item.message for item in items]
        one = len(items) == 1
        batch = pipeline.encoder.one(messages[0], ids[0]) if one else pipeline.encoder.batch(messages, ids)
        if pipeline.preparing is not None:
            batch.operations = operations_of(items)
        return batch

    def _allowed(self, items: Sequence[Item], queue: MessageQueue, address: str) -> list[Item]:
        allowed = []
        for item in items:
            try:
                self._pipeline.check_forbidden((item.message,), queue, address, "async")
                allowed.append(item)
            except Forbidden as refusal:
                self._results.fail([item], refusal)
        return allowed
