"""Keyed consumption: calls listeners in the order of each key, with many keys of a queue at once.

Three locks keep the order. The broker's lock says which member has a queue (`group.queue_locks`). A lane's
turn says which worker has its key here, one at a time. While a listener runs the turn is LISTENING, and the
broker's lock is not released before it ends. A worker stays with its key while no other call waits; what it
did is settled in the loop, and what is committed is the smallest offset that is not done with.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from mqframe.client.consuming.group.queue_locks import LockKeeper
from mqframe.client.consuming.push.answering.answers import Answers
from mqframe.client.consuming.push.listener import ListenedTopic, ListenerContext
from mqframe.client.consuming.push.listener_parts import ListenerParts
from mqframe.client.consuming.push.ordered_queue import OrderedCall
from mqframe.client.consuming.push.side_tasks import SideTasks
from mqframe.client.consuming.push.worker_tasks import WorkerTasks
from mqframe.client.consuming.push.worker_threads import NamedThreads, WorkerThreads
from mqframe.core.clock import Timer
from mqframe.core.consuming.assigned_queue import AssignedQueue
from mqframe.core.consuming.ordered_turn import Why
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.core.messages.names import retry_topic
from mqframe.core.retry.backoff import LOCK_AGAIN_SECONDS, PAUSE_SECONDS, UNLOCKED_SECONDS
from mqframe.core.retry.policy import restore_topic
from mqframe.log import get_logger
from mqframe_keyed.failures import FailedCalls, tried_again
from mqframe_keyed.keys import KeyedOptions, key_function
from mqframe_keyed.lanes import KeyedQueue, Lane

log = get_logger("client")


class KeyedService:
    """Keyed consumption: as consumption in order, of keys instead of queues.

    `locks`: `None` in broadcasting, where every member has every queue. `failed`: judges calls that failed.
    `answers`: sends replies. All methods but `follow`, `ends` and `is_urgent` belong to the loop.
    """

    def __init__(
        self,
        parts: ListenerParts,
        options: KeyedOptions,
        locks: LockKeeper | None,
        failed: FailedCalls,
        answers: Answers,
    ) -> None:
        plan, settings = parts.plan, parts.plan.settings
        group, clock = plan.group, plan.clock
        self._group = group
        self._retry_topic = retry_topic(group)
        self._parts = parts
        self._caller = parts.caller
        self._clock = clock
        self._key_of = key_function(options)
        self._together = options.without_key == "together"
        self._locks = locks
        self._failed = failed
        self._answers = answers
        self._threads: WorkerThreads[OrderedCall] = WorkerThreads(
            self._call,
            self._finished,
            clock,
            NamedThreads(f"mqframe-keyed-{group[:100]}", settings.consume_threads),
            self,
        )
        self._tasks: WorkerTasks[OrderedCall] = WorkerTasks(
            self._call_async, self._finished, clock, settings.consume_tasks, self
        )
        self._threads.on_stuck = self._settle_rows
        self._rows: set[OrderedCall] = set()
        self._queues: dict[MessageQueue, KeyedQueue] = {}
        self._unlock_later: set[MessageQueue] = set()
        self._timers: dict[Lane | KeyedQueue, Timer] = {}
        self._aside = SideTasks(group, "a key stands still")
        self._stopping = False

    def start(self) -> None:
        """Begin to renew the locks."""
        if self._locks is not None:
            self._locks.start()

    def arrived(self, assigned: AssignedQueue) -> None:
        """Have everything consumed that waits in the process queue of `assigned`, each key after what came
        before."""
        held = assigned.held
        if held.dropped or self._stopping or self._parts.find(held.queue.topic) is None:
            return
        self.collect()
        queue = self._queues.get(held.queue)
        if queue is None or queue.held is not held:
            if queue is not None and not queue.close(self._cancel):
                # The queue was begun anew while listeners are at it; these have to end first.
                self._clock.call_later(UNLOCKED_SECONDS, lambda: self.arrived(assigned))
                return
            lease = self._locks.lease(held.queue) if self._locks is not None else None
            queue = self._queues[held.queue] = KeyedQueue(held, lease, self._key_of, together=self._together)
        messages = held.take(held.waiting_count)
        if held.queue.topic == self._retry_topic:
            for message in messages:
                restore_topic(message, self._group)
        self._send(queue.offer(messages, self._clock.monotonic()))

    async def stop(self, seconds: float) -> bool:
        """Begin nothing more, wait up to `seconds` for listeners that run. Whether all of them ended."""
        self._stopping = True
        if self._locks is not None:
            self._locks.stop()
        for queue in self._queues.values():
            queue.close(self._cancel)
        for timer in self._timers.values():
            timer.cancel()
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
        """Release the locks of queues that were dropped; where listeners run, as soon as all have ended.

        A lock that waits for them is not renewed, so that it ends by itself where a listener hangs.
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
        """The next batch of the same key, or the end of its turn."""
        lane, now = _lane(work), self._clock.monotonic()
        subscription = self._meant(lane) or work.subscription
        workers = self._tasks if work.subscription.is_async else self._threads
        if workers.waiting or subscription.is_async is not work.subscription.is_async:
            return lane.give_way(work, now)
        return work.next(subscription, now, rows=self._in_rows(lane, subscription))

    def ends(self, work: OrderedCall) -> bool:
        """Whether `work` is the end of a turn."""
        return work.why is not None

    def is_urgent(self, work: OrderedCall) -> bool:
        """Whether the key stands still until the loop has seen to it."""
        return work.why is not Why.EMPTY

    def _in_rows(self, lane: Lane, subscription: ListenedTopic) -> bool:
        return lane.problem is None and self._threads.quick and self._caller.may_bundle(subscription)

    def _meant(self, lane: Lane) -> ListenedTopic | None:
        """The subscription of a lane; that of the retry topic says of one without listener that it failed."""
        return self._parts.find(lane.topic) or self._parts.find(lane.held.queue.topic)

    def _call(self, call: OrderedCall) -> None:
        lane = _lane(call)
        if not (call.messages or call.waiting):
            call.begin(self._clock.monotonic(), rows=self._in_rows(lane, call.subscription))
        if call.waiting:
            self._rows.add(call)
            self._caller.call_each(call, lane.turn, self._parts.find)
            if not (call.messages or call.odd):  # its first is a request, or the queue was dropped
                call.odd = call.single(call.waiting.popleft())
                self._caller.call(call.odd)
                call.elapsed = call.odd.elapsed
        elif call.why is None and not self._refused(call, lane):
            self._caller.call(call)

    async def _call_async(self, call: OrderedCall) -> None:
        if not call.messages:
            call.begin(self._clock.monotonic())
        if call.why is None and not self._refused(call, _lane(call)):
            try:
                await self._caller.call_async(call)
            except asyncio.CancelledError:
                call.abandon()
                raise

    def _refused(self, call: OrderedCall, lane: Lane) -> bool:
        """Whether no listener gets the message of `call`, since nobody knows what it belongs behind."""
        if lane.problem is None:
            return False
        call.context = ListenerContext(call.held.queue, self._group)
        call.raised(lane.problem)
        return True

    # What came of it

    def _finished(self, calls: list[OrderedCall]) -> None:
        done: dict[ProcessQueue, list[ReceivedMessage]] = {}
        for call in [each for row in calls for each in ((row, row.odd) if row.odd else (row,))]:
            if call.why is None and call.context is not None:
                fresh = self._note(call)
                if fresh:
                    _lane(call).finish(fresh)
                    done.setdefault(call.held, []).extend(fresh)
        for held, messages in done.items():
            self._parts.settle(held, messages)
        for call in calls:
            if call.why is not None:
                self._let_go(call, call.why)
        self._settle_rows()

    def _note(self, call: OrderedCall) -> list[ReceivedMessage]:
        """Tell statistics and askers of `call`; what is done of it, but for what was settled before."""
        held, good, count = call.held, call.good, len(call.messages)
        held.last_consume = self._clock.monotonic()
        self._answers.answered(call)
        seconds, times = (call.spent, count) if call.current else (call.elapsed, 1)
        if count:
            ok = count if good else 0
            self._parts.statistics.consumed(_lane(call).topic, ok, count - ok, seconds, times)
        self._rows.discard(call)
        fresh = call.messages[call.settled :] if good else []
        if call.expired:
            self._parts.expired.note(call.expired)
            fresh = fresh + call.expired
        return fresh

    def _settle_rows(self) -> None:
        """Settle what is done of rows that workers are at: who hangs with a message holds that back alone."""
        for row in list(self._rows):  # a worker may add one
            done = row.messages[row.settled :]
            row.settled += len(done)
            _lane(row).finish(done)
            self._parts.settle(row.held, done)

    def _let_go(self, call: OrderedCall, why: Why) -> None:
        """A worker let go of a key."""
        lane = _lane(call)
        queue = self._queues.get(lane.held.queue)
        if queue is None or queue.held is not lane.held:
            return
        if why is Why.EMPTY:
            queue.leave(lane)
        elif why is Why.LONG and lane.turn.queued:
            self._send([lane])  # it gave way
        elif why is Why.LONG:
            self._later(lane, PAUSE_SECONDS, lambda: self._resume(lane))
        elif why is Why.UNLOCKED:
            queue.unlocked.append(lane)
            if queue not in self._timers:
                self._later(queue, UNLOCKED_SECONDS, lambda: self._aside.begin(self._relock(queue)))
        elif why is Why.FAILED and call.failed is not None:
            self._fail(call.failed, lane)
        elif why is Why.CLOSED:
            self._ended(lane.held.queue)

    def _ended(self, each: MessageQueue) -> None:
        if each in self._unlock_later and self._leave(each):
            self._unlock_later.discard(each)
            if self._locks is not None:
                self._aside.begin(self._locks.unlock([each]))

    def _fail(self, call: OrderedCall, lane: Lane) -> None:
        if call.held.dropped or call.context is None:
            return
        meant = (self._parts.find(lane.topic) or call.subscription).of(call.messages[0])
        judgement = self._failed.judge(call, lane, meant)
        if judgement.only_waits:
            tried_again(call.messages)
            self._later(lane, judgement.seconds, lambda: self._resume(lane))
            return

        async def carry_out() -> None:
            left = await self._failed.carry_out(call, lane, judgement)
            self._later(lane, judgement.seconds if left else PAUSE_SECONDS, lambda: self._resume(lane))

        self._aside.begin(carry_out())

    # Going on

    def _send(self, lanes: Iterable[Lane]) -> None:
        now = self._clock.monotonic()
        plain: list[OrderedCall] = []
        awaited: list[OrderedCall] = []
        for lane in lanes:
            subscription = self._meant(lane)
            if subscription is None:  # unsubscribed just now: its queue is about to be given up
                self._later(lane, LOCK_AGAIN_SECONDS, partial(self._send, [lane]))
                continue
            (awaited if subscription.is_async else plain).append(OrderedCall(lane, subscription, now))
        if plain:
            self._threads.put(plain)
        if awaited:
            self._tasks.put(awaited)

    def _resume(self, lane: Lane) -> None:
        """Begin a suspended key again at its smallest offset that is not done with."""
        queue = self._queues.get(lane.held.queue)
        if queue is None or lane.held.dropped or self._stopping:
            return
        if lane.resume(self._clock.monotonic()):
            self._send([lane])
        else:
            queue.leave(lane)

    async def _relock(self, queue: KeyedQueue) -> None:
        """The lease of a queue has ended. Its keys go on where the broker still has us for the holder."""
        assert self._locks is not None
        lease = self._locks.lease(queue.held.queue)
        try:
            if not lease.valid(self._clock.monotonic()):
                await self._locks.renew()
        finally:  # whatever came of it, the queue is looked at again
            good = lease.valid(self._clock.monotonic())
            self._later(queue, PAUSE_SECONDS if good else LOCK_AGAIN_SECONDS, lambda: self._unlocked(queue))

    def _unlocked(self, queue: KeyedQueue) -> None:
        waiting, queue.unlocked = queue.unlocked, []
        for lane in waiting:
            self._resume(lane)

    def _later(self, what: Lane | KeyedQueue, seconds: float, action: Callable[[], None]) -> None:
        if self._stopping or what.held.dropped or (isinstance(what, Lane) and not what.turn.open):
            return

        def act() -> None:
            self._timers.pop(what, None)
            action()

        self._timers[what] = self._clock.call_later(seconds, act)

    def _cancel(self, what: Lane | KeyedQueue) -> None:
        timer = self._timers.pop(what, None)
        if timer is not None:
            timer.cancel()

    def _leave(self, each: MessageQueue) -> bool:
        """Begin nothing more of `each`; whether it is left: listeners that still run have to end first."""
        queue = self._queues.get(each)
        if queue is None:
            return True
        self._cancel(queue)
        free = queue.close(self._cancel)
        if free:
            del self._queues[each]
        return free


def _lane(call: OrderedCall) -> Lane:
    assert isinstance(call.queue, Lane)
    return call.queue
