"""In which order listeners get popped messages."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from typing import Final

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.push.listener import ListenedTopic
from mqframe.client.consuming.push.plan import ConsumerPlan
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.messages.message import MessageQueue
from mqframe_pop.client.in_hand import MessagesInHand
from mqframe_pop.client.push.retry_times import RetryTimes
from mqframe_pop.rules.ordered_pace import OrderedPace
from mqframe_pop.rules.pop_suspects import PopSuspects
from mqframe_pop.rules.popped import PoppedMessage

COUNT_MAX: Final = 32
"""Messages that one pop may ask for (PopMessageProcessor.java)."""
ALONE_SECONDS: Final = 2.0
"""A message that came again is begun beside others that did after this time: what kills does so soon."""


class PopRows:
    """Hands messages over one pop at a time; for messages without an order.

    `submit`: begins what waits in a process queue; `workers`: how many messages listeners can be at;
    `changed`: called when there is room again. What comes again is begun as `PopSuspects` say. All methods
    belong to the loop.
    """

    def __init__(
        self,
        plan: ConsumerPlan,
        instance: ClientInstance,
        in_hand: MessagesInHand,
        submit: Callable[[ProcessQueue], None],
    ) -> None:
        self._plan = plan
        self._clock = plan.clock
        self._instance = instance
        self._in_hand = in_hand
        self._submit = submit
        self._suspects = PopSuspects(0)
        self._waiting: deque[PoppedMessage] = deque()
        self._alone: PoppedMessage | None = None
        self._spreading = 0
        self.changed: Callable[[int], None] = lambda _: None

    def count(self, queue: MessageQueue, wanted: int) -> int:
        """How many messages a pop of the topic and broker of `queue` may bring."""
        return wanted

    def arrived(self, messages: Sequence[PoppedMessage], left_max: int) -> None:
        """A pop brought `messages`. `left_max`: the most that a process like this leaves when it dies."""
        self._suspects.left_max = left_max
        fresh = [message for message in messages if not message.reconsume_times]
        self._in_hand.take(fresh, self._settled)
        for same in _by_queue(fresh):
            self._begin(same)
        again = [message for message in messages if message.reconsume_times]
        if not again:
            return
        self._in_hand.take(again, self._done_again)
        if not self._suspects.came(self._clock.monotonic()):
            for same in _by_queue(again):
                self._begin(same)
            return
        # Those that came less often are less likely to be to blame.
        self._waiting.extend(sorted(again, key=lambda message: message.reconsume_times))
        others = again if self._alone is not None or len(self._waiting) > len(again) else again[1:]
        if others:
            self._spreading += 1
            self._instance.spawn(self._spread(others))
        self._begin_next()

    async def _spread(self, messages: Sequence[PoppedMessage]) -> None:
        try:
            seconds = self._in_hand.seconds
            await asyncio.gather(
                *[self._in_hand.hide(each, seconds * self._suspects.apart()) for each in messages]
            )
        finally:
            self._spreading -= 1
            self._begin_next()

    def _begin_next(self) -> None:
        while self._waiting and self._alone is None and not self._spreading:
            message = self._waiting.popleft()
            if self._in_hand.has(message):
                self._alone = message
                self._clock.call_later(ALONE_SECONDS, partial(self._lives_on, message))
                self._begin([message])

    def _lives_on(self, message: PoppedMessage) -> None:
        """It takes long, and others need not wait for it."""
        if message is self._alone:
            self._alone = None
            self._begin_next()

    def _done_again(self, message: PoppedMessage, consumed: bool) -> None:
        self._suspects.went_well()
        if message is self._alone:
            self._alone = None
        self._settled(message, consumed)
        if self._suspects.came(self._clock.monotonic()) or not self._waiting:
            self._begin_next()
            return
        waiting = [each for each in self._waiting if self._in_hand.has(each)]
        self._waiting.clear()
        for same in _by_queue(waiting):
            self._begin(same)

    def _settled(self, message: PoppedMessage, consumed: bool) -> None:
        self.changed(1 if consumed else 0)

    def _begin(self, messages: Sequence[PoppedMessage]) -> None:
        """Have `messages` of one queue consumed; given back where nobody listens to their topic any more."""
        if self._find(messages[0]) is None:
            self._instance.spawn(self._in_hand.give_back(messages))
            return
        first = messages[0]
        queue = MessageQueue(first.topic, first.broker_name, first.queue_id)
        held = ProcessQueue(queue, self._clock.monotonic())
        held.put(messages)
        self._submit(held)

    def _find(self, message: PoppedMessage) -> ListenedTopic | None:
        found: ListenedTopic | None = self._plan.subscriptions.find(message.topic)
        return None if found is None else found.of(message)


class OrderedPopRows(PopRows):
    """Hands over the messages of a queue one call of its listener after the other.

    Where one fails, what was popped behind it is handed back for the same time: the queue is blocked until
    then, and begins there again.
    """

    def __init__(
        self,
        plan: ConsumerPlan,
        instance: ClientInstance,
        in_hand: MessagesInHand,
        submit: Callable[[ProcessQueue], None],
        times: RetryTimes,
    ) -> None:
        super().__init__(plan, instance, in_hand, submit)
        self._times = times
        self._paces: dict[tuple[str, str], OrderedPace] = {}
        self._rows: dict[PoppedMessage, _OrderedRow] = {}

    def count(self, queue: MessageQueue, wanted: int) -> int:
        """As many as lately went well."""
        return min(wanted, self._pace(queue.topic, queue.broker_name).count)

    def arrived(self, messages: Sequence[PoppedMessage], left_max: int) -> None:
        """A pop brought `messages`, of one or more queues."""
        self._in_hand.take(messages, self._done_in_row)
        for same in _by_queue(messages):
            row = _OrderedRow(same, self._pace(same[0].topic, same[0].broker_name))
            if row.came_again:
                row.pace.failed()
            self._rows.update(dict.fromkeys(same, row))
            self._go_on(row)

    def _pace(self, topic: str, broker_name: str) -> OrderedPace:
        return self._paces.setdefault((topic, broker_name), OrderedPace(COUNT_MAX))

    def _go_on(self, row: _OrderedRow) -> None:
        if not row.waiting:
            if not row.came_again:
                row.pace.went_well()
            return
        first = row.waiting[0]
        found = self._find(first)
        if found is None:
            self._instance.spawn(self._in_hand.give_back(list(row.waiting)))
            row.waiting.clear()
            return
        batch = [row.waiting.popleft()]
        while row.waiting and len(batch) < found.batch_max and self._find(row.waiting[0]) is found:
            batch.append(row.waiting.popleft())
        row.open = len(batch)
        self._begin(batch)

    def _done_in_row(self, message: PoppedMessage, consumed: bool) -> None:
        row = self._rows.pop(message, None)
        self._settled(message, consumed)
        if row is None or row.broken:
            return
        if not consumed:
            row.broken = True
            row.pace.failed()
            self._instance.spawn(self._hand_back(list(row.waiting), message.pause_ms))
            row.waiting.clear()
            return
        row.open -= 1
        if not row.open:
            self._go_on(row)

    async def _hand_back(self, messages: Sequence[PoppedMessage], pause_ms: float | None) -> None:
        seconds = self._times.seconds(0, 0, pause_ms)
        await asyncio.gather(*[self._in_hand.hand_back(message, seconds) for message in messages])


class _OrderedRow:
    """Messages of one queue that one pop brought. `open`: those that a listener is at; `broken`: one failed,
    so that the others are not begun."""

    __slots__ = ("broken", "came_again", "open", "pace", "waiting")

    def __init__(self, messages: Sequence[PoppedMessage], pace: OrderedPace) -> None:
        self.waiting = deque(messages)
        self.pace = pace
        self.open = 0
        self.broken = False
        self.came_again = any(message.reconsume_times for message in messages)


def _by_queue(messages: Sequence[PoppedMessage]) -> list[list[PoppedMessage]]:
    def queue(message: PoppedMessage) -> tuple[int, int]:
        return message.queue_id, message.queue_offset

    ordered = sorted(messages, key=queue)
    return [list(same) for _, same in groupby(ordered, lambda message: message.queue_id)]
