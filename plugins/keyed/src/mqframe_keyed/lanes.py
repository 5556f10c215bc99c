"""The lanes of a queue: the messages of one key, in their order; no loop, no clock.

A lane is there as long as one of its messages is not done with. Whose turn it is there says its
`OrderedTurn`, as it does of a whole queue that is consumed in order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from mqframe.client.consuming.push.ordered_queue import OrderedCall, OrderedQueue
from mqframe.core.consuming.ordered_turn import Why
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.consuming.queue_locks import LockLease
from mqframe.core.messages.message import ReceivedMessage
from mqframe_keyed.keys import KeyOf


class Lane(OrderedQueue):
    """The messages of one key. `topic`: which all were sent to; `key`: by which `KeyedQueue` finds it.

    `unfinished`: those that are not done with, by queue offset, in order; the loop's. `problem`: what the key
    function raised, where the key of its only message could not be told.
    """

    __slots__ = ("key", "problem", "topic", "unfinished")

    def __init__(self, held: ProcessQueue, lease: LockLease | None, topic: str, key: Hashable) -> None:
        super().__init__(held, lease)
        self.topic = topic
        self.key = key
        self.unfinished: dict[int, ReceivedMessage] = {}
        self.problem: Exception | None = None

    def offer(self, messages: Iterable[ReceivedMessage], now: float) -> bool:
        """Add what comes next; whether a worker is to be sent. Of a suspended lane all waits for `resume`."""
        for message in messages:
            self.unfinished[message.queue_offset] = message
        with self.lock:
            return not self.turn.paused and self.turn.offer(messages, now)

    def resume(self, now: float) -> bool:
        """Begin a suspended lane again at its first message; whether a worker is to be sent."""
        with self.lock:
            turn = self.turn
            if not turn.paused:
                return False
            turn.withdraw()
            turn.offer(self.unfinished.values(), now)
            return turn.resume(now)

    def finish(self, messages: Iterable[ReceivedMessage]) -> None:
        """`messages` are done with."""
        for message in messages:
            self.unfinished.pop(message.queue_offset, None)

    def give_way(self, call: OrderedCall, now: float) -> OrderedCall:
        """The end of the turn of a worker whose listener answered `call`, so that others have theirs.

        Unless its `why` says otherwise the lane is still queued, and waits for a worker again.
        """
        last, turn = call.odd or call, self.turn
        with self.lock:
            turn.end(last.good, call.waiting)
            if turn.queued and not turn.waiting_count:
                turn.begin(1, now)  # it rests then
            why = Why.LONG if turn.queued else turn.why
        return OrderedCall(self, call.subscription, now, why, last if why is Why.FAILED else None)


class KeyedQueue:
    """The lanes of what is `held` of one queue. All methods belong to the loop.

    `lease`: of the queue's lock; `None` where there are no locks. `unlocked`: lanes that wait for it.
    """

    def __init__(self, held: ProcessQueue, lease: LockLease | None, key_of: KeyOf, *, together: bool) -> None:
        self.held = held
        self.unlocked: list[Lane] = []
        self._lease = lease
        self._key_of = key_of
        self._together = together
        self._lanes: dict[Hashable, Lane] = {}
        self._busy: set[Lane] = set()
        self._open = True

    def __len__(self) -> int:
        return len(self._lanes)

    def offer(self, messages: Iterable[ReceivedMessage], now: float) -> list[Lane]:
        """Share out what comes next; the lanes that a worker is to be sent to."""
        parts: dict[Lane, list[ReceivedMessage]] = {}
        for message in messages:
            parts.setdefault(self._lane_of(message), []).append(message)
        return [lane for lane, part in parts.items() if lane.offer(part, now)]

    def leave(self, lane: Lane) -> None:
        """Forget `lane`, where nothing of it is left."""
        if not lane.unfinished and self._lanes.get(lane.key) is lane:
            del self._lanes[lane.key]

    def close(self, left: Callable[[Lane], object] = lambda lane: None) -> bool:
        """Begin nothing more; whether nobody is at any lane. `left`: called with each."""
        asked = list(self._busy)
        if self._open:
            self._open = False
            asked = list(self._lanes.values())
        for lane in asked:
            left(lane)
            with lane.lock:
                (self._busy.discard if lane.turn.close() else self._busy.add)(lane)
        return not self._busy

    def _lane_of(self, message: ReceivedMessage) -> Lane:
        problem = None
        try:
            key = self._key_of(message)
            hash(key)
        except Exception as failure:  # isolation boundary: it is the application's function
            key, problem = None, failure
        if problem is not None or (key is None and not self._together):
            key = _Alone()
        found = self._lanes.get((message.topic, key))
        if found is None:
            found = Lane(self.held, self._lease, message.topic, (message.topic, key))
            found.problem = problem
            self._lanes[found.key] = found
        return found


class _Alone:
    """The key of a message that shares it with no other."""
