"""Hands messages from process queues to listeners, and takes what comes of it back.

Source: ConsumeMessageConcurrentlyService.java.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Final, Protocol

from mqframe.client.consume_call import Caller, ConsumeCall
from mqframe.client.consumer_settings import ConsumerSettings
from mqframe.client.listener import Subscription
from mqframe.client.worker_tasks import WorkerTasks
from mqframe.client.worker_threads import WorkerThreads
from mqframe.core.consume_result import Outcome, acknowledged
from mqframe.core.consume_rules import REDELIVER_SECONDS, MessageModel, Remedy, remedy
from mqframe.core.consumer_statistics import ConsumerStatistics
from mqframe.core.errors import CallTimeout, MqframeError
from mqframe.core.message import ReceivedMessage
from mqframe.core.process_queue import ProcessQueue
from mqframe.core.retry_rules import TIMEOUT_LEVEL
from mqframe.core.topics import retry_topic
from mqframe.hooks.interfaces import ConsumeHook
from mqframe.log import get_logger
from mqframe.net.clock import Every, LoopClock, Timer, within

log = get_logger("client")

LOOK_SECONDS_MAX = 60.0
"""How often calls that take too long are looked for, at least."""
HANDED_BACK_AT_ONCE_MAX: Final = 64
"""Messages on their way back to brokers at the same time; others wait for their turn."""


class HandBack(Protocol):
    """Takes failed messages (`client.send_back.SendBack`)."""

    async def hand_back(self, message: ReceivedMessage, delay_level: int = 0) -> None:
        """Raises `MqframeError` when nobody took the message."""
        ...


class ConsumeService:
    """Concurrent consumption: every message on its own, in no order.

    A failed message of a clustering group goes back to the broker; it stays held until that has worked, and
    is consumed again here when it has not. `find`: the subscription of a topic, `None` once it was given up;
    `progress`: told the offset that may be committed whenever messages of a queue that is still owned were
    done with. All methods belong to the loop.
    """

    def __init__(
        self,
        group: str,
        client_id: str,
        model: MessageModel,
        clock: LoopClock,
        settings: ConsumerSettings,
        hooks: Sequence[ConsumeHook],
        find: Callable[[str], Subscription | None],
        progress: Callable[[ProcessQueue, int], None],
        back: HandBack,
        statistics: ConsumerStatistics | None = None,
    ) -> None:
        self._group = group
        self._retry_topic = retry_topic(group)
        self._back = back
        self._turn_to_go_back = asyncio.Semaphore(HANDED_BACK_AT_ONCE_MAX)
        self._going_back: set[asyncio.Task[None]] = set()
        self._statistics = statistics or ConsumerStatistics(clock)
        self._clock = clock
        self._timeout = settings.consume_timeout_seconds
        self._find = find
        self._progress = progress
        self._remedy = remedy(model)
        self._caller = Caller(group, client_id, hooks, clock.monotonic, self._timeout)
        self._threads = WorkerThreads(
            self._caller.call,
            self._finished,
            clock,
            settings.consume_threads,
            f"mqframe-consume-{group[:100]}",
        )
        self._tasks = WorkerTasks(self._caller.call_async, self._finished, clock, settings.consume_tasks)
        self._open: dict[ConsumeCall, None] = {}
        self._later: set[Timer] = set()
        self._look: Every | None = None

    def start(self) -> None:
        """Begin to look for calls that take too long."""
        seconds = min(self._timeout, LOOK_SECONDS_MAX)
        self._look = Every(self._clock, seconds, self._look_for_late_ones, name="consume time-outs")

    @property
    def open_calls(self) -> int:
        """Calls that wait or run."""
        return len(self._open)

    def submit(self, held: ProcessQueue) -> None:
        """Have everything that waits in `held` consumed."""
        if held.dropped:
            return
        if held.queue.topic == self._retry_topic:
            self._submit_returned(held)
            return
        subscription = self._find(held.queue.topic)
        if subscription is None:
            return
        size = subscription.batch_max
        now = self._clock.monotonic()
        calls = []
        while messages := held.take(size):
            calls.append(ConsumeCall(held, messages, subscription, now))
        self._put(calls, subscription)

    def _submit_returned(self, held: ProcessQueue) -> None:
        """Messages that came back go to the listeners of the topics that they were sent to."""
        now = self._clock.monotonic()
        messages = held.take(held.waiting_count)
        for topic, same in groupby(messages, lambda message: message.topic):
            subscription = self._find(topic) if topic != self._retry_topic else None
            batch = list(same)
            if subscription is None:
                # Another member may have a listener for it, now or later; nothing is lost by waiting.
                log.warning(
                    "nobody here listens to the topic of messages that came back; they go back again",
                    group=self._group,
                    topic=topic,
                    count=len(batch),
                )
                self._failed(held, batch, 0)
                continue
            size = subscription.batch_max
            starts = range(0, len(batch), size)
            calls = [ConsumeCall(held, batch[at : at + size], subscription, now) for at in starts]
            self._put(calls, subscription)

    def _put(self, calls: list[ConsumeCall], subscription: Subscription) -> None:
        self._open.update(dict.fromkeys(calls))
        workers = self._tasks if subscription.is_async else self._threads
        workers.put(calls)

    async def stop(self, seconds: float) -> bool:
        """Begin nothing more, wait up to `seconds` for listeners that run. Whether all of them ended.

        What failed meanwhile is handed back still, within the same time.
        """
        if self._look is not None:
            self._look.stop()
        for timer in self._later:
            timer.cancel()
        until = self._clock.monotonic() + seconds
        ended_threads = await self._threads.stop(seconds)
        ended_tasks = await self._tasks.stop(max(0.0, until - self._clock.monotonic()))
        await self._all_back(max(0.0, until - self._clock.monotonic()))
        return ended_threads and ended_tasks

    async def _all_back(self, seconds: float) -> None:
        if not self._going_back:
            return
        try:
            await within(self._clock, seconds, asyncio.wait(self._going_back))
        except CallTimeout:
            for task in self._going_back:
                task.cancel()
            await asyncio.wait(self._going_back)

    def _finished(self, calls: list[ConsumeCall]) -> None:
        done: dict[ProcessQueue, list[ReceivedMessage]] = {}
        still_open = self._open
        now = self._clock.monotonic()
        for call in calls:
            still_open.pop(call, None)
            held = call.held
            if call.over or held.dropped or call.context is None:
                continue
            messages = call.messages
            good = acknowledged(call.result, call.context.ack_index, len(messages))
            self._statistics.consumed(call.subscription.topic, good, len(messages) - good, call.elapsed)
            if good < len(messages):
                self._log_failure(call)
                level = call.context.delay_level_when_next_consume
                messages = messages[:good] + self._failed(held, messages[good:], level)
            held.last_consume = now
            if held in done:
                done[held] += messages
            else:
                done[held] = list(messages)
        for held, messages in done.items():
            self._settle(held, messages)

    def _settle(self, held: ProcessQueue, messages: list[ReceivedMessage]) -> None:
        offset = held.remove(messages) if messages else None
        if offset is not None:
            self._progress(held, offset)

    def _failed(
        self, held: ProcessQueue, messages: list[ReceivedMessage], level: int
    ) -> list[ReceivedMessage]:
        """Sees to messages that failed; gives those that are done with nevertheless."""
        if self._remedy is Remedy.DROP:
            return messages
        # They stay held meanwhile, so nothing past them is committed, and they count in flow control.
        task = asyncio.ensure_future(self._go_back(held, messages, level))
        self._going_back.add(task)
        task.add_done_callback(self._gone_back)
        return []

    def _gone_back(self, task: asyncio.Task[None]) -> None:
        self._going_back.discard(task)
        if not task.cancelled() and task.exception() is not None:
            # They stay held, so that they are not committed, and come again to the queue's next owner.
            log.error("handing messages back failed", group=self._group, exc_info=task.exception())

    async def _go_back(self, held: ProcessQueue, messages: list[ReceivedMessage], level: int) -> None:
        gone = await asyncio.gather(*[self._went_back(held, message, level) for message in messages])
        if held.dropped:
            return  # its new owner gets those that did not go back
        stayed = [message for message, went in zip(messages, gone, strict=True) if not went]
        self._settle(held, [message for message, went in zip(messages, gone, strict=True) if went])
        if stayed:
            for message in stayed:
                message.reconsume_times += 1
            self._consume_later(held, stayed)

    async def _went_back(self, held: ProcessQueue, message: ReceivedMessage, level: int) -> bool:
        async with self._turn_to_go_back:
            if held.dropped:
                return False
            try:
                await self._back.hand_back(message, level)
            except MqframeError as problem:
                log.error(
                    "message could not be handed back; it is consumed again",
                    group=self._group,
                    message_id=message.message_id,
                    seconds=REDELIVER_SECONDS,
                    reason=str(problem),
                )
                return False
            return True

    def _consume_later(self, held: ProcessQueue, messages: list[ReceivedMessage]) -> None:
        timer: Timer | None = None

        def again() -> None:
            if timer is not None:
                self._later.discard(timer)
            if not held.dropped and held.put_back(messages):
                self.submit(held)

        timer = self._clock.call_later(REDELIVER_SECONDS, again)
        self._later.add(timer)

    def _look_for_late_ones(self) -> None:
        oldest = self._clock.monotonic() - self._timeout
        late = []
        for call in self._open:
            if call.since > oldest:
                break  # calls are in the order in which they began to wait
            late.append(call)
        for call in late:
            del self._open[call]
            call.over = True
            if call.held.dropped:
                continue
            self._log(call, Outcome.TIMEOUT)
            self._statistics.consumed(call.subscription.topic, 0, len(call.messages), self._timeout)
            self._settle(call.held, self._failed(call.held, call.messages, TIMEOUT_LEVEL))

    def _log_failure(self, call: ConsumeCall) -> None:
        how = self._caller.outcome(call)
        # An acknowledged prefix is an answer, not a failure of the listener.
        if how is not Outcome.SUCCESS:
            self._log(call, how)

    def _log(self, call: ConsumeCall, how: Outcome) -> None:
        then = "dropped" if self._remedy is Remedy.DROP else "handed back"
        log.warning(
            "messages were not consumed",
            outcome=how.value,
            then=then,
            group=self._group,
            topic=call.subscription.topic,
            broker=call.held.queue.broker_name,
            queue_id=call.held.queue.queue_id,
            offsets=[message.queue_offset for message in call.messages[:8]],
            count=len(call.messages),
            attempt=call.messages[0].reconsume_times,
            exc_info=call.error,
        )
