"""Hands messages from process queues to listeners, and takes what comes of it back (system.md §5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mqframe.client.consume_call import Caller, ConsumeCall
from mqframe.client.consumer_settings import ConsumerSettings
from mqframe.client.listener import Subscription
from mqframe.client.worker_tasks import WorkerTasks
from mqframe.client.worker_threads import WorkerThreads
from mqframe.core.consume_result import Outcome, acknowledged
from mqframe.core.consume_rules import REDELIVER_SECONDS, MessageModel, Remedy, remedy
from mqframe.core.message import ReceivedMessage
from mqframe.core.process_queue import ProcessQueue
from mqframe.hooks.interfaces import ConsumeHook
from mqframe.log import get_logger
from mqframe.net.clock import Every, LoopClock, Timer

log = get_logger("client")

LOOK_SECONDS_MAX = 60.0
"""How often calls that take too long are looked for, at least."""


class ConsumeService:
    """Concurrent consumption: every message on its own, in no order.

    `find`: the subscription of a topic, `None` once it was given up; `progress`: told the offset that may be
    committed whenever messages of a queue that is still owned were done with. All methods belong to the loop.
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
    ) -> None:
        self._group = group
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
        subscription = self._find(held.queue.topic)
        if subscription is None or held.dropped:
            return
        size = subscription.batch_max
        now = self._clock.monotonic()
        calls = []
        while messages := held.take(size):
            calls.append(ConsumeCall(held, messages, subscription, now))
        self._open.update(dict.fromkeys(calls))
        workers = self._tasks if subscription.is_async else self._threads
        workers.put(calls)

    async def stop(self, seconds: float) -> bool:
        """Begin nothing more, wait up to `seconds` for listeners that run. Whether all of them ended."""
        if self._look is not None:
            self._look.stop()
        for timer in self._later:
            timer.cancel()
        ended_threads = await self._threads.stop(seconds)
        ended_tasks = await self._tasks.stop(seconds)
        return ended_threads and ended_tasks

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
            if good < len(messages):
                self._log_failure(call)
                failed = messages[good:]
                messages = messages[:good] + self._failed(held, failed)
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
        self, held: ProcessQueue, messages: list[ReceivedMessage], *, tried: bool = True
    ) -> list[ReceivedMessage]:
        """Sees to messages that failed; gives those that are done with nevertheless."""
        if tried:
            for message in messages:
                message.reconsume_times += 1
        if self._remedy is Remedy.DROP:
            return messages
        # The message stays held, so nothing past it is committed, and it counts in flow control.
        timer: Timer | None = None

        def again() -> None:
            if timer is not None:
                self._later.discard(timer)
            if not held.dropped and held.put_back(messages):
                self.submit(held)

        timer = self._clock.call_later(REDELIVER_SECONDS, again)
        self._later.add(timer)
        return []

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
            self._settle(call.held, self._failed(call.held, call.messages, tried=call.started))

    def _log_failure(self, call: ConsumeCall) -> None:
        how = self._caller.outcome(call)
        # An acknowledged prefix is an answer, not a failure of the listener.
        if how is not Outcome.SUCCESS:
            self._log(call, how)

    def _log(self, call: ConsumeCall, how: Outcome) -> None:
        then = "dropped" if self._remedy is Remedy.DROP else f"again in {REDELIVER_SECONDS:g} s"
        log.warning(
            "messages were not consumed",
            outcome=how.value,
            then=then,
            group=self._group,
            topic=call.held.queue.topic,
            broker=call.held.queue.broker_name,
            queue_id=call.held.queue.queue_id,
            offsets=[message.queue_offset for message in call.messages[:8]],
            count=len(call.messages),
            attempt=call.messages[0].reconsume_times,
            exc_info=call.error,
        )
