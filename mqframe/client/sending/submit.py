"""Submitted messages: packed by queue into batch requests, results handed to futures.

`mqframe.core.sending.accumulator` decides what travels together and when; this carries it out, on one loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any

import attrs

from mqframe.client.sending.batches import SendBatch
from mqframe.client.sending.busy_gates import BusyGates
from mqframe.client.sending.in_flight_limit import InFlightLimit
from mqframe.client.sending.pipeline import SendPipeline
from mqframe.client.sending.result_futures import Item, Items, LaterItem, Results, operations_of
from mqframe.client.sending.unsent import CutOff
from mqframe.client.settings import ProducerSettings
from mqframe.core.clock import Timer
from mqframe.core.cluster.route import TopicRoute
from mqframe.core.errors import ClosedError, GiveUpError, MqframeError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import DLQ_PREFIX, RETRY_PREFIX
from mqframe.core.retry.passing import is_passing
from mqframe.core.sending.accumulator import Accumulator, Batch
from mqframe.core.sending.retries import BOUND, ONCE, RetryRules, submitted_rules
from mqframe.hooks.client_parts import part_or
from mqframe.hooks.interfaces import Forbidden
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock

log = get_logger("client")


@attrs.frozen
class _Delivery:
    """How messages for `queue` are sent: `fixed`: to no other; `failed`: it was tried before, and `doubt` is
    why they may be stored all the same."""

    route: TopicRoute
    deadline: float
    rules: RetryRules
    queue: MessageQueue
    fixed: bool
    failed: bool = False
    doubt: MqframeError | None = None


class Submitter:
    """Gathers and sends. Everything but the construction happens on one loop.

    Messages that are free to go to any queue are tried again as `settings` say; those bound to one only where
    it is certain that they were not stored. `in_flight`: released once messages, which acquired it before,
    are done. `results`: gets results.
    """

    def __init__(
        self,
        pipeline: SendPipeline,
        settings: ProducerSettings,
        clock: LoopClock,
        in_flight: InFlightLimit,
        results: Results,
    ) -> None:
        self.results = results
        self._pipeline = pipeline
        self._rules = submitted_rules(settings.retries_async)
        self._gates = BusyGates(clock.monotonic)
        self._clock = clock
        self._in_flight = in_flight
        self.cut_off = CutOff(pipeline.encoder.group, in_flight.count)
        self._timeout = settings.send_timeout_seconds
        self._batch_bytes_max = settings.batch_bytes_max
        self._compress_over = settings.compress_over_bytes
        self._sticky: dict[str, Batch[Item]] = {}
        self.gatherer = _gatherer(self._sticky, pipeline, settings, in_flight, results)
        batch = _empty_batch if self.gatherer is None else self.gatherer.batch
        self._accumulator: Accumulator[Item] = Accumulator(
            settings.batch_messages_max, settings.batch_bytes_max, settings.linger_seconds, batch
        )
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
            or item.__class__ is LaterItem
            or topic.startswith((RETRY_PREFIX, DLQ_PREFIX))
        )
        if item.queue is not None:
            accumulator.add(item.queue, item, size, self._clock.monotonic(), alone=alone)
        else:
            batch = self._sticky.get(topic)
            if batch is None or alone or not accumulator.join(batch, item, size, item.count):
                queue = batch.queue if batch is not None and not batch.closed else self._next_queue(topic)
                now, count = self._clock.monotonic(), item.count
                self._sticky[topic] = accumulator.add(queue, item, size, now, alone=alone, count=count)
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
            stopped = ClosedError("the producer was stopped; the message was not sent")
            self.results.fail(_unfinished(batch.items), stopped)

    async def _send(self, batch: Batch[Item]) -> None:
        items: Items = batch.items  # type: ignore[assignment]  # batches are made so
        try:
            await self._send_items(batch.queue, items)  # type: ignore[arg-type]  # keys are message queues here
        except MqframeError as problem:
            self.results.fail(_unfinished(items), problem)
        except asyncio.CancelledError:
            rest = _unfinished(items)
            self.cut_off.interrupted += len(rest)
            interrupted = ClosedError("the producer was stopped; the message may or may not be stored")
            interrupted.maybe_stored = True
            self.results.fail(rest, interrupted)
            raise
        except Exception as problem:  # one batch's fault must not leave its futures without an answer
            log.exception("submitted batch failed", queue=str(batch.queue))
            self.results.fail(_unfinished(items), GiveUpError(f"the batch could not be sent: {problem!r}"))
        finally:
            self._accumulator.done(batch)
            self._in_flight.release(items.body_bytes(), len(items))
            if self._accumulator.has_ready:
                self._pump()

    async def _send_items(self, queue: MessageQueue, items: Items) -> None:
        pipeline = self._pipeline
        deadline = self._clock.monotonic() + self._timeout
        route = await pipeline.route(queue.topic, self._timeout)
        if pipeline.forbidden:
            address = await pipeline.patience.over(partial(pipeline.address, route, queue), self._timeout)
            items = self._allowed(items, queue, address)
            if not items:
                return
        ids = pipeline.encoder.take_ids(len(items))
        bound = items.bound()
        rules = self._rules if not bound else BOUND if bound == len(items) else ONCE
        delivery = _Delivery(route, deadline, rules, queue, fixed=bool(bound))
        try:
            await self._deliver(items, ids, delivery)
        except MqframeError as problem:
            if rules is not ONCE:
                raise
            await self._send_apart(items, ids, delivery, problem)

    async def _send_apart(
        self, items: Items, ids: Sequence[str], tried: _Delivery, problem: MqframeError
    ) -> None:
        """Go on after `problem`: of these messages only those bound to the queue must not go elsewhere."""
        passing = is_passing(problem)
        free = self._rules if passing else self._rules.after(problem)
        doubt = problem if problem.maybe_stored else None
        works = []
        for is_bound, rules in ((True, BOUND if passing else None), (False, free)):
            pairs = [each for each in zip(items, ids, strict=True) if (each[0].queue is not None) is is_bound]
            part, its_ids = Items([item for item, _ in pairs]), [each for _, each in pairs]
            if rules is None:
                self.results.fail(part, problem)
            else:
                again = attrs.evolve(tried, rules=rules, fixed=is_bound, failed=True, doubt=doubt)
                works.append(self._deliver_or_fail(part, its_ids, again))
        await asyncio.gather(*works)

    async def _deliver_or_fail(self, items: Items, ids: list[str], delivery: _Delivery) -> None:
        try:
            await self._deliver(items, ids, delivery)
        except MqframeError as problem:
            self.results.fail(items, problem)

    async def _deliver(self, items: Items, ids: list[str], delivery: _Delivery) -> None:
        queue = delivery.queue
        result = await self._pipeline.deliver(
            self._packed(items, ids), delivery.rules, delivery.route, delivery.deadline,
            fixed=queue if delivery.fixed else None, first=None if delivery.failed else queue,
            avoid=queue.broker_name if delivery.failed else None,
            doubt=delivery.doubt, mode="async", gates=self._gates,
        )  # fmt: skip
        self.results.resolve(items, result, ids)

    def _packed(self, items: Items, ids: list[str]) -> SendBatch:
        pipeline = self._pipeline
        one, messages = len(items) == 1, items.messages()
        batch = pipeline.encoder.one(messages[0], ids[0]) if one else pipeline.encoder.batch(messages, ids)
        if one and isinstance(later := items[0], LaterItem):
            batch.timed = later.timed
        if pipeline.preparing is not None:
            batch.operations = operations_of(items)
        return batch

    def _allowed(self, items: Items, queue: MessageQueue, address: str) -> Items:
        allowed = Items()
        for item in items:
            try:
                self._pipeline.check_forbidden((item.message,), queue, address, "async")
                allowed.append(item)
            except Forbidden as refusal:
                self.results.fail([item], refusal)
        return allowed


def _unfinished(items: Sequence[Item]) -> Items:
    return Items([item for item in items if not item.future.done()])


def _empty_batch(queue: Hashable, due: float) -> Batch[Item]:
    return Batch(queue, due, Items())


def _gatherer(
    open_batches: dict[str, Batch[Item]],
    pipeline: SendPipeline,
    settings: ProducerSettings,
    in_flight: InFlightLimit,
    results: Results,
) -> Any:
    """What takes usual messages into the open batches of their topics, and makes these, if installed."""
    gatherer = part_or("gatherer", None)
    if gatherer is None or pipeline.hooked:
        return None
    known_route = pipeline.transport.known_route
    return gatherer(open_batches, known_route, in_flight, results.new, Item, settings)
