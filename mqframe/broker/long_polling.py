"""Pulls that found nothing and wait for a message (wire.md §7; source: PullRequestHoldService.java)."""

from __future__ import annotations

from collections.abc import Callable, Collection

from mqframe.core.bodies import SubscriptionGroupConfig
from mqframe.core.clock import Clock
from mqframe.core.record_filter import RecordFilter
from mqframe.core.requests.messages import PullFields
from mqframe.core.subscription import wanted
from mqframe.net.call import Call
from mqframe.net.peer import Peer

Queue = tuple[str, int]
"""Topic and queue id."""


class Held:
    """One pull that waits until `deadline` (monotonic seconds) for a message whose tag is among `codes`.

    `records`: asked of each message, `None` for all. `looked`: queue offset before which none was wanted.
    """

    __slots__ = ("call", "codes", "deadline", "fields", "group", "looked", "records")

    def __init__(
        self,
        call: Call,
        fields: PullFields,
        group: SubscriptionGroupConfig,
        codes: Collection[int] | None,
        deadline: float,
        records: RecordFilter | None = None,
    ) -> None:
        self.call = call
        self.fields = fields
        self.group = group
        self.codes = codes
        self.deadline = deadline
        self.records = records
        self.looked = fields.queue_offset


class LongPolling:
    """Keeps pulls by queue. A woken pull is handed to `wake`, which answers it; it is not held again.
    `has_wanted` looks at what arrived for a pull that filters records: whether there is something to say.

    How many there are is limited by each connection's limit of requests in flight. `queue_max` gives the end
    of a queue.
    """

    __slots__ = ("_by_peer", "_by_queue", "_clock", "_queue_max", "has_wanted", "wake")

    def __init__(self, clock: Clock, queue_max: Callable[[str, int], int]) -> None:
        self._clock = clock
        self._queue_max = queue_max
        self._by_queue: dict[Queue, list[Held]] = {}
        self._by_peer: dict[Peer, set[Queue]] = {}
        self.wake: Callable[[Held], None] = _nobody
        self.has_wanted: Callable[[Held, int], bool] = _always

    def __len__(self) -> int:
        return sum(map(len, self._by_queue.values()))

    def hold(self, held: Held) -> None:
        """Let a pull wait."""
        queue = (held.fields.topic, held.fields.queue_id)
        self._by_queue.setdefault(queue, []).append(held)
        self._by_peer.setdefault(held.call.peer, set()).add(queue)

    def arrived(self, topic: str, queue_id: int, max_offset: int, codes: Collection[int]) -> None:
        """Messages with these tag codes are in the queue now, which ends at `max_offset`."""
        waiting = self._by_queue.get((topic, queue_id))
        if waiting is None:
            return
        now = self._clock.monotonic()
        due: list[Held] = []
        rest: list[Held] = []
        for held in waiting:
            new = max_offset > held.fields.queue_offset and wanted(held.codes, codes)
            if new and held.records is not None:
                new = self.has_wanted(held, max_offset)
            (due if new or now >= held.deadline else rest).append(held)
        self._release((topic, queue_id), due, rest)

    def sweep(self) -> None:
        """Wake the pulls whose time is over, and those that have something to learn: every 5 s.

        Messages that a pull does not want move its offset on, so it is woken by them here.
        """
        now = self._clock.monotonic()
        for queue, waiting in tuple(self._by_queue.items()):
            end = self._queue_max(*queue)
            due: list[Held] = []
            rest: list[Held] = []
            for held in waiting:
                (due if end > held.fields.queue_offset or now >= held.deadline else rest).append(held)
            self._release(queue, due, rest)

    def wake_group(self, group: str, topic: str, queue_id: int) -> None:
        """Wake what waits there for `group`, whose offset was changed by an operator."""
        waiting = self._by_queue.get((topic, queue_id), [])
        due = [held for held in waiting if held.fields.consumer_group == group]
        self._release((topic, queue_id), due, [held for held in waiting if held not in due])

    def forget(self, peer: Peer) -> None:
        """The connection is closed; nobody waits there any more."""
        for queue in self._by_peer.pop(peer, ()):
            rest = [held for held in self._by_queue.get(queue, ()) if held.call.peer is not peer]
            if rest:
                self._by_queue[queue] = rest
            else:
                self._by_queue.pop(queue, None)

    def wake_all(self) -> None:
        """Answer all, because the broker stops."""
        for queue, waiting in tuple(self._by_queue.items()):
            self._release(queue, waiting, [])

    def _release(self, queue: Queue, due: list[Held], rest: list[Held]) -> None:
        if not due:
            return
        if rest:
            self._by_queue[queue] = rest
        else:
            self._by_queue.pop(queue, None)
        for held in due:
            self.wake(held)


def _always(held: Held, max_offset: int) -> bool:
    """Stands in until the pull processor is there."""
    return True


def _nobody(held: Held) -> None:
    """Stands in until the pull processor is there."""
