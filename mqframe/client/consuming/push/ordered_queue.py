"""A queue that is consumed in order, and one batch of it on its way through a listener."""

from __future__ import annotations

from threading import Lock

from mqframe.client.consuming.push.consume_call import BUNDLE_MAX, Bundle
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


class OrderedCall(Bundle):
    """One batch of `queue`, or a row of messages for a listener that gets each by itself, as in a bundle.

    With `why` it is none: it says that the worker let go of the queue, for what reason, and after which batch
    when that one `failed`. `settled`: messages of a row that the loop has counted as consumed before its end.
    """

    __slots__ = ("failed", "queue", "settled", "why")

    odd: OrderedCall | None

    def __init__(
        self,
        queue: OrderedQueue,
        subscription: ListenedTopic,
        since: float,
        why: Why | None = None,
        failed: OrderedCall | None = None,
    ) -> None:
        super().__init__(queue.held, [], subscription, since)
        self.queue = queue
        self.why = why
        self.failed = failed
        self.settled = 0

    @property
    def good(self) -> bool:
        """Whether the listener is done with the messages."""
        return self.result is ConsumeResult.SUCCESS and self.error is None

    def begin(self, now: float, *, rows: bool = False) -> None:
        """Cut the batch of a turn that a worker has, a row with `rows`; `why` is set where there is none."""
        turn, subscription = self.queue.turn, self.subscription
        with self.queue.lock:
            batch = turn.begin(BUNDLE_MAX if rows else subscription.batch_max, now)
            self.why = None if batch else turn.why
        if rows:
            self.fill(batch)
        else:
            self.messages = batch

    def single(self, message: ReceivedMessage) -> OrderedCall:
        """The call of `message` alone."""
        alone = OrderedCall(self.queue, self.subscription, self.since)
        alone.messages = [message]
        return alone

    def abandon(self) -> None:
        """The listener was broken off."""
        with self.queue.lock:
            self.queue.turn.end(False)

    def next(self, subscription: ListenedTopic, now: float, *, rows: bool = False) -> OrderedCall:
        """What comes after this batch, whose listener has answered: another one, or the end of the turn."""
        last = self.odd or self
        turn = self.queue.turn
        with self.queue.lock:
            turn.end(last.good, self.waiting)
            why = None if turn.queued else turn.why
        after = OrderedCall(self.queue, subscription, now, why, last if why is Why.FAILED else None)
        if why is None:
            after.begin(now, rows=rows)
        return after
