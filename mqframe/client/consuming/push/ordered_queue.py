"""A queue that is consumed in order, and one batch of it on its way through a listener."""

from __future__ import annotations

from threading import Lock

from mqframe.client.consuming.push.consume_call import ConsumeCall
from mqframe.client.consuming.push.listener import ListenedTopic
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.consuming.ordered_turn import OrderedTurn, Why
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.consuming.queue_locks import LockLease
from mqframe.core.messages.message import ReceivedMessage


class OrderedQueue:
    """What is held of a queue, and whose turn it is there. `lock` guards the turn, which workers and the loop
    move."""

    __slots__ = ("held", "lock", "turn")

    def __init__(self, held: ProcessQueue, lease: LockLease | None) -> None:
        self.held = held
        self.lock = Lock()
        self.turn = OrderedTurn(lease)


class OrderedCall(ConsumeCall):
    """One batch of `queue`.

    With `why` it is none: it says that the worker let go of the queue, for what reason, and after which batch
    when that one `failed`.
    """

    __slots__ = ("failed", "queue", "why")

    def __init__(
        self,
        queue: OrderedQueue,
        messages: list[ReceivedMessage],
        subscription: ListenedTopic,
        since: float,
        why: Why | None = None,
        failed: OrderedCall | None = None,
    ) -> None:
        super().__init__(queue.held, messages, subscription, since)
        self.queue = queue
        self.why = why
        self.failed = failed

    @property
    def good(self) -> bool:
        """Whether the listener is done with the messages."""
        return self.result is ConsumeResult.SUCCESS and self.error is None

    def begin(self, now: float) -> None:
        """Cut the batch of a turn that was handed to a worker; `why` is set where there is none."""
        queue = self.queue
        with queue.lock:
            self.messages = queue.turn.begin(self.subscription.batch_max, now)
            if not self.messages:
                self.why = queue.turn.why

    def abandon(self) -> None:
        """The listener was broken off."""
        with self.queue.lock:
            self.queue.turn.end(False)

    def next(self, subscription: ListenedTopic, now: float) -> OrderedCall:
        """What comes after this batch, whose listener has answered: another one, or the end of the turn."""
        queue = self.queue
        good = self.good
        with queue.lock:
            turn = queue.turn
            turn.end(good)
            messages = turn.begin(subscription.batch_max, now) if turn.queued else []
            why = None if messages else turn.why
        failed = self if why is Why.FAILED else None
        return OrderedCall(queue, messages, subscription, now, why, failed)
