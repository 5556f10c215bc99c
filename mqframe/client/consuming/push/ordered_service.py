"""Ordered consumption: calls listeners in the order of queues (source: ConsumeMessageOrderlyService.java).

Three locks keep the order. The broker's lock says which member has a queue (`group.queue_locks`). A queue's
turn (`OrderedTurn`) says which worker has it here, one at a time. While a listener runs the turn is
LISTENING, and the broker's lock is not released before it ends. A worker stays with its queue for as many
batches as there are, without a way through the loop between them; what it did is settled in the loop. Quick
listeners of one message get a row of them, as long as between them all holds that lets a batch begin.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from mqframe.client.consuming.group.queue_locks import LockKeeper
from mqframe.client.consuming.push.answering.answers import Answers
from mqframe.client.consuming.push.listener import ListenedTopic
from mqframe.client.consuming.push.listener_parts import ListenerParts
from mqframe.client.consuming.push.ordered_queue import OrderedCall, OrderedQueue
from mqframe.client.consuming.push.send_back import SendBack
from mqframe.client.consuming.push.side_tasks import SideTasks
from mqframe.client.consuming.push.worker_tasks import WorkerTasks
from mqframe.client.consuming.push.worker_threads import NamedThreads, WorkerThreads
from mqframe.core.clock import Timer
from mqframe.core.consuming.assigned_queue import AssignedQueue
from mqframe.core.consuming.consume_rules import OnDecodeError
from mqframe.core.consuming.ordered_turn import Why
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.errors import MqframeError
from mqframe.core.messages.log_fields import log_fields
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.core.messages.names import retry_topic
from mqframe.core.retry.backoff import LOCK_AGAIN_SECONDS, PAUSE_SECONDS, UNLOCKED_SECONDS, suspend_seconds
from mqframe.core.retry.policy import restore_topic
from mqframe.log import get_logger

log = get_logger("client")


class OrderedService:
    """Ordered consumption: as `ConsumeService`, and the locks of queues beside.

    `locks`: `None` in broadcasting, where every member has every queue. `dead_letters`: sends messages on
    that failed `settings.max_reconsume_times` times (-1: there is no limit), and those that cannot be
    unpacked. `answers`: tells senders of requests that these failed, which are done then. All methods but
    `follow`, `ends` and `is_urgent` belong to the loop.
    """

    def __init__(
        self, parts: ListenerParts, locks: LockKeeper | None, dead_letters: SendBack, answers: Answers
    ) -> None:
        plan, settings = parts.plan, parts.plan.settings
        group, clock = plan.group, plan.clock
        self._group = group
        self._retry_topic = retry_topic(group)
        self._statistics = parts.statistics
        self._clock = clock
        self._find = parts.find
        self._subscribed = plan.subscriptions.by_topic.get  # what `find` finds, but for the retry topic
        self._settle = parts.settle
        self._failures = parts.failures
        self._expired = parts.expired
        self._locks = locks
        self._dead_letters = dead_letters
        self._answers = answers
        self._limit = settings.max_reconsume_times
        self._suspend_millis = settings.suspend_current_queue_time_millis
        self._caller = parts.caller
        self._threads: WorkerThreads[OrderedCall] = WorkerThreads(
            self._call,
            self._finished,
            clock,
            NamedThreads(f"mqframe-ordered-{group[:100]}", settings.consume_threads),
            self,
        )
        self._tasks: WorkerTasks[OrderedCall] = WorkerTasks(
            self._call_async, self._finished, clock, settings.consume_tasks, self
        )
        self._threads.on_stuck = self._settle_rows
        self._rows: set[OrderedCall] = set()
        self._queues: dict[MessageQueue, OrderedQueue] = {}
        self._unlock_later: set[MessageQueue] = set()
        self._timers: dict[OrderedQueue, Timer] = {}
        self._aside = SideTasks(group, "a queue stands still")
        self._stopping = False

    def retry_after(self, millis: int) -> None:
        """Try failed messages again after `millis`, unless their listener says otherwise."""
        self._suspend_millis = millis

    def start(self) -> None:
        """Begin to renew the locks."""
        if self._locks is not None:
            self._locks.start()

    def arrived(self, assigned: AssignedQueue) -> None:
        """Have everything consumed that waits in the process queue of `assigned`, after what came before."""
        held = assigned.held
        subscription = self._find(held.queue.topic)
        if subscription is None or held.dropped or self._stopping:
            return
        self.collect()
        queue = self._queues.get(held.queue)
        if queue is None or queue.held is not held:
            if queue is not None and not self._close(queue):
                # The queue was begun anew while a listener is at it; that one has to end first.
                self._clock.call_later(UNLOCKED_SECONDS, lambda: self.arrived(assigned))
                return
            lease = self._locks.lease(held.queue) if self._locks is not None else None
            queue = self._queues[held.queue] = OrderedQueue(held, lease)
        now = self._clock.monotonic()
        with queue.lock:
            if queue.turn.paused or not queue.turn.open:
                return  # what waits is taken when the pause is over
            begins = queue.turn.offer(self._waiting(held), now)
        if begins:
            self._send(queue, subscription, now)

    async def stop(self, seconds: float) -> bool:
        """Begin nothing more, wait up to `seconds` for listeners that run. Whether all of them ended."""
        self._stopping = True
        if self._locks is not None:
            self._locks.stop()
        for queue in self._queues.values():
            self._close(queue)
        ended_threads = await self._threads.stop(seconds)
        ended_tasks = await self._tasks.stop(seconds)
        self._settle_rows()
        await self._aside.stop()
        return ended_threads and ended_tasks

    # Locks

    async def lock(self, queues: Sequence[MessageQueue]) -> list[MessageQueue]:
        """Get the locks of queues that are to be consumed; returns those that may be begun now."""
        self.collect()
        free = [each for each in queues if self._leave(each)]
        return await self._locks.lock(free) if self._locks is not None and free else free

    async def release(self, queues: Iterable[MessageQueue]) -> None:
        """Release the locks of queues that were dropped; where a listener runs, as soon as it has ended.

        A lock that waits for its listener is not renewed, so that it ends by itself where a listener hangs.
        Apache RocketMQ releases it by force after 20 s, and then has two members at one queue.
        """
        self.collect()
        idle = []
        for each in queues:
            if self._leave(each):
                idle.append(each)
            elif self._locks is not None:
                self._locks.drop(each)
                self._unlock_later.add(each)
        if self._locks is not None:
            await self._locks.unlock(idle)

    def collect(self) -> None:
        """Settle what listeners have consumed, so that it is committed before queues are dropped."""
        self._threads.collect()
        self._tasks.collect()
        self._settle_rows()

    # What workers call

    def follow(self, work: OrderedCall) -> OrderedCall:
        """The next batch of the same queue, or the end of its turn."""
        subscription = work.subscription
        newest = self._find(subscription.topic)
        if newest is not None and newest.is_async is subscription.is_async:
            subscription = newest
        return work.next(subscription, self._clock.monotonic(), rows=self._in_rows(subscription))

    def ends(self, work: OrderedCall) -> bool:
        """Whether `work` is the end of a turn."""
        return work.why is not None

    def is_urgent(self, work: OrderedCall) -> bool:
        """Whether the queue stands still until the loop has seen to it."""
        return work.why is not Why.EMPTY

    def _in_rows(self, subscription: ListenedTopic) -> bool:
        return self._threads.quick and self._caller.may_bundle(subscription)

    def _call(self, call: OrderedCall) -> None:
        if not (call.messages or call.waiting):
            call.begin(self._clock.monotonic(), rows=self._in_rows(call.subscription))
        if call.waiting:
            self._rows.add(call)
            hidden = call.subscription.topic == self._retry_topic
            self._caller.call_each(call, call.queue.turn, self._find if hidden else self._subscribed)
            if not (call.messages or call.odd):  # its first is a request, or the queue was dropped
                call.odd = call.single(call.waiting.popleft())
                self._caller.call(call.odd)
                call.elapsed = call.odd.elapsed
        elif call.why is None:
            self._caller.call(call)

    async def _call_async(self, call: OrderedCall) -> None:
        if not call.messages:
            call.begin(self._clock.monotonic())
        if call.why is None:
            try:
                await self._caller.call_async(call)
            except asyncio.CancelledError:
                call.abandon()
                raise

    # What came of it

    def _finished(self, calls: list[OrderedCall]) -> None:
        done: dict[ProcessQueue, list[ReceivedMessage]] = {}
        now = self._clock.monotonic()
        for call in [each for row in calls for each in ((row, row.odd) if row.odd else (row,))]:
            held = call.held
            if call.why is not None:
                self._settle(held, done.pop(held, []))
                self._let_go(call, call.why)
            elif call.context is not None:
                held.last_consume = now
                self._answers.answered(call)
                good, count = call.good, len(call.messages)
                seconds, times = (call.spent, count) if call.current else (call.elapsed, 1)
                if count:
                    ok = count if good else 0
                    self._statistics.consumed(held.queue.topic, ok, count - ok, seconds, times)
                if good:
                    done.setdefault(held, []).extend(call.messages[call.settled :])
                if call.expired:
                    self._expired.note(call.expired)
                    done.setdefault(held, []).extend(call.expired)
                self._rows.discard(call)
        for held, messages in done.items():
            self._settle(held, messages)
        self._settle_rows()

    def _settle_rows(self) -> None:
        """Settle what is done of rows that workers are at: who hangs with a message holds that back alone."""
        for row in list(self._rows):  # a worker may add one
            done = row.messages[row.settled :]
            row.settled += len(done)
            self._settle(row.held, done)

    def _let_go(self, call: OrderedCall, why: Why) -> None:
        """A worker let go of the queue."""
        queue = call.queue
        if why is Why.LONG:
            self._later(queue, PAUSE_SECONDS, self._resume)
        elif why is Why.UNLOCKED:
            self._later(queue, UNLOCKED_SECONDS, lambda queue: self._aside.begin(self._relock(queue)))
        elif why is Why.FAILED and call.failed is not None:
            self._failed(call.failed)
        elif why is Why.CLOSED:
            self._ended(queue.held.queue)

    def _ended(self, each: MessageQueue) -> None:
        if each in self._unlock_later and each in self._queues and self._leave(each):
            self._unlock_later.discard(each)
            if self._locks is not None:
                self._aside.begin(self._locks.unlock([each]))

    def _failed(self, call: OrderedCall) -> None:
        messages, context = call.messages, call.context
        if call.held.dropped or context is None:
            return
        meant = (self._find(messages[0].topic) or call.subscription).of(messages[0])
        seconds = suspend_seconds(context.suspend_current_queue_time_millis, self._suspend_millis)
        # What cannot be read now never can be: to wait for it would be to wait for ever.
        lost, dropped = list(call.unreadable), []
        if context.delay_level_when_next_consume < 0:
            lost = list(messages)
        if call.undecodable is not None:
            if meant.on_decode_error is OnDecodeError.DROP:
                dropped = [call.undecodable]
            elif meant.on_decode_error is OnDecodeError.DEAD_LETTER:
                lost.append(call.undecodable)
        if self._locks is None:  # in broadcasting nobody keeps dead letters
            lost, dropped = [], lost + dropped
        over = [each for each in messages if each in lost or 0 <= self._limit <= each.reconsume_times]
        over = [each for each in over if each not in dropped]
        then = "their queue waits"
        if call.undecodable is not None and (call.undecodable in over or call.undecodable in dropped):
            then = "kept as a dead letter" if call.undecodable in over else "dropped"
        asked = self._answers.asked(call)
        if asked and not over and not dropped:
            then = "who waits is told, what is no request waits"
        self._failures.note(call, self._caller.outcome(call), meant, then)
        if over or dropped or asked:
            self._aside.begin(self._send_on(call, over, dropped, seconds))
            return
        for message in messages:
            message.reconsume_times += 1
        self._later(call.queue, seconds, self._resume)

    async def _send_on(
        self, call: OrderedCall, over: list[ReceivedMessage], dropped: list[ReceivedMessage], seconds: float
    ) -> None:
        """Messages that failed too often become dead letters; the others are tried again, but not requests
        whose senders were told."""
        gone = {message.queue_offset for message in dropped}
        for message in self._answers.asked(call):
            assert call.error is not None
            if await self._answers.failed(message, call.error) and message not in over:
                gone.add(message.queue_offset)
        for message in over:
            try:
                await self._dead_letters.resend(message, reason=call.reason(message))
            except MqframeError as problem:
                log.error(
                    "dead letter could not be sent; it is consumed again",
                    reason=str(problem),
                    **log_fields([message], self._group),
                )
            else:
                gone.add(message.queue_offset)
        left = [message for message in call.messages if message.queue_offset not in gone]
        for message in left:
            message.reconsume_times += 1
        self._settle(call.held, [message for message in call.messages if message.queue_offset in gone])
        self._later(call.queue, seconds if left else PAUSE_SECONDS, self._resume)

    # Going on

    def _waiting(self, held: ProcessQueue) -> list[ReceivedMessage]:
        messages = held.take(held.waiting_count)
        if held.queue.topic == self._retry_topic:
            for message in messages:
                restore_topic(message, self._group)
        return messages

    def _send(self, queue: OrderedQueue, subscription: ListenedTopic, now: float) -> None:
        (self._tasks if subscription.is_async else self._threads).put([OrderedCall(queue, subscription, now)])

    def _resume(self, queue: OrderedQueue) -> None:
        """Begin a paused queue again at the smallest offset that is not done with."""
        held = queue.held
        subscription = self._find(held.queue.topic)
        if subscription is None or held.dropped or self._stopping:
            return
        now = self._clock.monotonic()
        with queue.lock:
            turn = queue.turn
            if not turn.paused:
                return
            turn.withdraw()
            held.roll_back()
            turn.offer(self._waiting(held), now)
            begins = turn.resume(now)
        if begins:
            self._send(queue, subscription, now)

    async def _relock(self, queue: OrderedQueue) -> None:
        """The lease of a queue has ended. It goes on where the broker still has us for the holder."""
        if self._locks is None:
            return
        lease = self._locks.lease(queue.held.queue)
        try:
            if not lease.valid(self._clock.monotonic()):
                await self._locks.renew()
        finally:  # whatever came of it, the queue is looked at again
            good = lease.valid(self._clock.monotonic())
            self._later(queue, PAUSE_SECONDS if good else LOCK_AGAIN_SECONDS, self._resume)

    def _later(self, queue: OrderedQueue, seconds: float, action: Callable[[OrderedQueue], None]) -> None:
        if self._stopping or queue.held.dropped or not queue.turn.open:
            return

        def act() -> None:
            self._timers.pop(queue, None)
            action(queue)

        self._timers[queue] = self._clock.call_later(seconds, act)

    def _close(self, queue: OrderedQueue) -> bool:
        """Begin nothing more; whether nobody is at the queue."""
        timer = self._timers.pop(queue, None)
        if timer is not None:
            timer.cancel()
        with queue.lock:
            return queue.turn.close()

    def _leave(self, each: MessageQueue) -> bool:
        """Begin nothing more of `each`; whether it is left: a listener that still runs has to end first."""
        free = (queue := self._queues.get(each)) is None or self._close(queue)
        if free:
            self._queues.pop(each, None)
        return free
