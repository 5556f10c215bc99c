"""Concurrent consumption: calls listeners with the messages of process queues, and settles the results.

Source: ConsumeMessageConcurrentlyService.java.
"""

from __future__ import annotations

import asyncio
from itertools import groupby
from typing import Final

from mqframe.client.consuming.push.answering.answers import Answers
from mqframe.client.consuming.push.consume_call import BUNDLE_MAX, Bundle, ConsumeCall
from mqframe.client.consuming.push.listener import ListenedTopic
from mqframe.client.consuming.push.listener_parts import ListenerParts
from mqframe.client.consuming.push.routes import RoutedSubscription
from mqframe.client.consuming.push.send_back import DEAD_LEVEL, SendBack
from mqframe.client.consuming.push.worker_tasks import WorkerTasks
from mqframe.client.consuming.push.worker_threads import NamedThreads, WorkerThreads
from mqframe.core.clock import Timer
from mqframe.core.consuming.assigned_queue import AssignedQueue
from mqframe.core.consuming.consume_result import ConsumeOutcome, acknowledged
from mqframe.core.consuming.consume_rules import MessageModel, OnDecodeError
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.errors import CallTimeout, MqframeError
from mqframe.core.messages.log_fields import log_fields
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import retry_topic
from mqframe.core.retry.policy import restore_topic
from mqframe.core.retry.redelivery import REDELIVER_SECONDS, TIMEOUT_LEVEL
from mqframe.log import get_logger
from mqframe.net.clock import Every, within

log = get_logger("client")

LOOK_SECONDS_MAX = 60.0
"""How often calls that take too long are looked for, at least."""
SENT_BACK_AT_ONCE_MAX: Final = 64
"""Messages on their way back to brokers at the same time; others wait for their turn."""


class ConsumeService:
    """Concurrent consumption: every message on its own, in no order.

    A failed message of a clustering group goes back to the broker; it stays held until that has worked, and
    is consumed again here when it has not. A request whose sender was told of the failure by `answers` is
    done. All methods belong to the loop.
    """

    def __init__(self, parts: ListenerParts, back: SendBack, answers: Answers) -> None:
        plan, settings = parts.plan, parts.plan.settings
        group, clock = plan.group, plan.clock
        self._group = group
        self._retry_topic = retry_topic(group)
        self._back = back
        self._answers = answers
        self._turn_to_go_back = asyncio.Semaphore(SENT_BACK_AT_ONCE_MAX)
        self._going_back: set[asyncio.Task[None]] = set()
        self._statistics = parts.statistics
        self._clock = clock
        self._timeout = settings.consume_timeout_seconds
        self._find = parts.find
        self._stands = plan.subscriptions.stands
        self._settle = parts.settle
        self._failures = parts.failures
        self._expired = parts.expired
        # Nobody else waits for a failed message in broadcasting.
        self._returns_max = settings.returns_max
        self._drops_failed = plan.model is MessageModel.BROADCASTING
        self._caller = parts.caller
        self._threads = WorkerThreads(
            self._call,
            self._finished,
            clock,
            NamedThreads(f"mqframe-consume-{group[:100]}", settings.consume_threads),
        )
        self._tasks = WorkerTasks(self._caller.call_async, self._finished, clock, settings.consume_tasks)
        self._threads.on_stuck = self._take_back
        self._stopping = False
        self._open: dict[ConsumeCall, None] = {}
        self._later: set[Timer] = set()
        self._look: Every | None = None

    def start(self) -> None:
        """Begin to look for calls that take too long."""
        seconds = min(self._timeout, LOOK_SECONDS_MAX)
        self._look = Every(self._clock, seconds, self._look_for_late_ones, name="consume time-outs")

    def arrived(self, assigned: AssignedQueue) -> None:
        """Have everything consumed that waits in the process queue of `assigned`."""
        self.submit(assigned.held)

    def submit(self, held: ProcessQueue) -> None:
        """Have everything that waits in `held` consumed."""
        if held.dropped:
            return
        if held.queue.topic == self._retry_topic:
            self._submit_retried(held)
            return
        subscription = self._find(held.queue.topic)
        if subscription is None:
            return
        if isinstance(subscription, RoutedSubscription):
            self._submit_routed(held, held.take(held.waiting_count), subscription)
            return
        self._put(held, held.take(held.waiting_count), subscription, self._clock.monotonic())

    def _submit_retried(self, held: ProcessQueue) -> None:
        """Messages that came back go to the listeners of the topics that they were sent to."""
        messages = held.take(held.waiting_count)
        for message in messages:
            restore_topic(message, self._group)
        for topic, same in groupby(messages, lambda message: message.topic):
            subscription = self._find(topic) if topic != self._retry_topic else None
            batch = list(same)
            if subscription is None:
                # Another member may have a listener for it, now or later; nothing is lost by waiting.
                log.warning(
                    "no listener here for the topic of retried messages; they are sent back again",
                    **log_fields(batch, self._group),
                )
                self._failed(held, batch, 0)
            elif self._stands(topic):
                self._consume_later(held, batch)
            else:
                self._submit_routed(held, batch, subscription)

    def _submit_routed(
        self, held: ProcessQueue, messages: list[ReceivedMessage], subscription: ListenedTopic
    ) -> None:
        """Messages of one topic go to the handlers that they are for."""
        now = self._clock.monotonic()
        for meant, same in groupby(messages, subscription.of):
            self._put(held, list(same), meant, now)

    def _put(
        self,
        held: ProcessQueue,
        messages: list[ReceivedMessage],
        subscription: ListenedTopic,
        now: float,
        *,
        bundled: bool = True,
    ) -> None:
        """Have `messages` consumed, those for a quick listener of one in bundles unless not `bundled`."""
        kind, size = ConsumeCall, subscription.batch_max
        if bundled and self._threads.quick and self._caller.may_bundle(subscription):
            kind, size = Bundle, BUNDLE_MAX
        starts = range(0, len(messages), size)
        calls = [kind(held, messages[at : at + size], subscription, now) for at in starts]
        self._open.update(dict.fromkeys(calls))
        workers = self._tasks if subscription.is_async else self._threads
        workers.put(calls)

    def _call(self, call: ConsumeCall) -> None:
        if isinstance(call, Bundle):
            self._caller.call_each(call)
        else:
            self._caller.call(call)

    def _take_back(self) -> None:
        """A listener has turned slow: what is done counts, others get what waits behind its message."""
        for call in [each for each in self._open if isinstance(each, Bundle) and each.started]:
            self._settle(call.held, list(call.messages))  # and once more when the call has ended
            self._singly(call, call.take_back())

    def _singly(self, bundle: Bundle, messages: list[ReceivedMessage]) -> None:
        if messages and not (bundle.over or bundle.held.dropped or self._stopping):
            self._put(bundle.held, messages, bundle.subscription, self._clock.monotonic(), bundled=False)

    def collect(self) -> None:
        """Settle what listeners have consumed, so that it is committed before queues are dropped."""
        self._threads.collect()
        self._tasks.collect()

    async def stop(self, seconds: float) -> bool:
        """Begin nothing more, wait up to `seconds` for listeners that run. Whether all of them ended.

        What failed meanwhile is sent back still, within the same time.
        """
        if self._look is not None:
            self._look.stop()
        for timer in self._later:
            timer.cancel()
        self._stopping = True
        for call in self._open:
            if isinstance(call, Bundle):
                call.take_back()
        until = self._clock.monotonic() + seconds
        ended_threads = await self._threads.stop(seconds)
        ended_tasks = await self._tasks.stop(max(0.0, until - self._clock.monotonic()))
        await self._all_back(max(0.0, until - self._clock.monotonic()))
        return ended_threads and ended_tasks

    def running(self) -> list[ReceivedMessage | None]:
        """The messages that listeners are at, and some that are done."""
        calls = [call for call in self._open if call.started]
        return [m for call in calls for m in ([call.current] if isinstance(call, Bundle) else call.messages)]

    async def _all_back(self, seconds: float) -> None:
        going_back = set(self._going_back)  # each leaves the original when it is done
        if not going_back:
            return
        try:
            await within(self._clock, seconds, asyncio.wait(going_back))
        except CallTimeout:
            for task in going_back:
                task.cancel()
            await asyncio.wait(going_back)

    def _finished(self, calls: list[ConsumeCall]) -> None:
        done: dict[ProcessQueue, list[ReceivedMessage]] = {}
        still_open = self._open
        now = self._clock.monotonic()
        bundles = [call for call in calls if isinstance(call, Bundle)]
        for call in calls + [bundle.odd for bundle in bundles if bundle.odd is not None and not bundle.over]:
            still_open.pop(call, None)
            held = call.held
            self._answers.answered(call)
            if call.over or held.dropped or call.context is None:
                continue
            messages = call.messages
            good = acknowledged(call.result, call.context.ack_index, len(messages))
            if messages:
                seconds, count = (call.spent, good) if isinstance(call, Bundle) else (call.elapsed, 1)
                self._statistics.consumed(call.subscription.topic, good, len(messages) - good, seconds, count)
            if good < len(messages):
                how = self._caller.outcome(call)
                # An acknowledged prefix is an answer, not a failure of the listener.
                if how is not ConsumeOutcome.SUCCESS:
                    self._log(call, how)
                messages = messages[:good] + self._call_failed(call, messages[good:])
            if call.expired:
                self._expired.note(call.expired)
                messages = messages + call.expired
            held.last_consume = now
            if held in done:
                done[held] += messages
            else:
                done[held] = list(messages)
        for held, messages in done.items():
            self._settle(held, messages)
        for bundle in bundles:
            self._singly(bundle, bundle.take_back())

    def _call_failed(self, call: ConsumeCall, failed: list[ReceivedMessage]) -> list[ReceivedMessage]:
        """Has what `call` failed at sent back; returns those that count as consumed nevertheless."""
        assert call.context is not None
        level, held = call.context.delay_level_when_next_consume, call.held
        self._back.failed(failed, call.context)
        done: list[ReceivedMessage] = []
        problem = self._answers.problem
        for lost in [each for each in failed if each in call.unreadable]:
            # What cannot be read here can be nowhere: a dead letter without more tries.
            done += self._failed(held, [lost], DEAD_LEVEL, call.reason(lost), problem(call, lost))
        failed = [each for each in failed if each not in call.unreadable]
        wrong = call.undecodable
        if wrong is not None and wrong in failed:
            failed = [each for each in failed if each is not wrong]
            what = call.subscription.on_decode_error
            if what is OnDecodeError.DROP and problem(call, wrong) is None:
                done.append(wrong)
            else:
                # Its last failure is told apart here: the broker would leave the reason out.
                back = DEAD_LEVEL if self._dies(what, wrong) else level
                done += self._failed(held, [wrong], back, call.reason(wrong), problem(call, wrong))
        others = [each for each in failed if problem(call, each) is None]
        for asked in [each for each in failed if each not in others]:
            done += self._failed(held, [asked], level, problem=call.error)
        return done + (self._failed(held, others, level, call.context.reason) if others else [])

    def _dies(self, what: OnDecodeError, wrong: ReceivedMessage) -> bool:
        # A maximum of the group is the broker's to know.
        over = self._returns_max is not None and wrong.reconsume_times >= self._returns_max
        return what is OnDecodeError.DEAD_LETTER or over

    def _failed(
        self,
        held: ProcessQueue,
        messages: list[ReceivedMessage],
        level: int,
        reason: str = "",
        problem: BaseException | None = None,
    ) -> list[ReceivedMessage]:
        """Has messages that failed sent back; returns those that count as consumed nevertheless.

        `reason`: what dead letters say of it; `problem`: what those who wait for replies are told.
        """
        if self._drops_failed:
            return messages
        # They stay held meanwhile, so nothing past them is committed, and they count in flow control.
        task = asyncio.ensure_future(self._go_back(held, messages, level, reason, problem))
        self._going_back.add(task)
        task.add_done_callback(self._gone_back)
        return []

    def _gone_back(self, task: asyncio.Task[None]) -> None:
        self._going_back.discard(task)
        if not task.cancelled() and task.exception() is not None:
            # They stay held, so that they are not committed, and come again to the queue's next owner.
            log.error("sending messages back failed", group=self._group, exc_info=task.exception())

    async def _go_back(
        self,
        held: ProcessQueue,
        messages: list[ReceivedMessage],
        level: int,
        reason: str,
        problem: BaseException | None,
    ) -> None:
        if problem is not None:
            told = [each for each in messages if await self._answers.failed(each, problem)]
            if level >= 0:  # dead letters are kept, whoever knows of the failure
                self._settle(held, told)
                messages = [each for each in messages if each not in told]
        gone = await asyncio.gather(*[self._went_back(held, message, level, reason) for message in messages])
        if held.dropped:
            return  # its new owner gets those that did not go back
        stayed = [message for message, went in zip(messages, gone, strict=True) if not went]
        self._settle(held, [message for message, went in zip(messages, gone, strict=True) if went])
        if stayed:
            for message in stayed:
                message.reconsume_times += 1
            self._consume_later(held, stayed)

    async def _went_back(self, held: ProcessQueue, message: ReceivedMessage, level: int, reason: str) -> bool:
        async with self._turn_to_go_back:
            if held.dropped:
                return False
            try:
                if reason and level < 0:
                    await self._back.give_up(message, reason)
                else:
                    await self._back.send_back(message, level)
            except MqframeError as problem:
                log.error(
                    "message could not be sent back; it is consumed again",
                    seconds=REDELIVER_SECONDS,
                    reason=str(problem),
                    **log_fields([message], self._group),
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
            self._log(call, ConsumeOutcome.TIMEOUT)
            failed, expired = call.messages, call.expired
            if isinstance(call, Bundle):
                done, failed = list(call.messages), call.undone()
                self._statistics.consumed(call.subscription.topic, len(done), 0, call.spent, len(done))
                self._settle(call.held, done)
            self._statistics.consumed(call.subscription.topic, 0, len(failed), self._timeout)
            self._settle(call.held, self._failed(call.held, failed, TIMEOUT_LEVEL) + expired)

    def _log(self, call: ConsumeCall, how: ConsumeOutcome) -> None:
        then = "sent back"
        if self._drops_failed:
            then = "dropped"
        elif (wrong := call.undecodable) is not None:
            what = call.subscription.on_decode_error
            if what is OnDecodeError.DROP:
                then = "dropped"
            elif self._dies(what, wrong):
                then = "kept as a dead letter"
        elif self._answers.asked(call):
            then = "who waits is told, what is no request is sent back"
        self._failures.note(call, how, call.subscription, then)
