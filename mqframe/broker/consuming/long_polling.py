"""Pulls that found nothing and wait for a message (wire.md §7; source: PullRequestHoldService.java)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import attrs

from mqframe.core.clock import Clock
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.filtering.subscription import matches_any
from mqframe.core.requests.messages import PullFields
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Call
from mqframe.core.storage.record_filter import RecordFilter

Queue = tuple[str, int]
"""Topic and queue id."""


@attrs.define(eq=False)
class HeldPull:
    """One pull that waits until `deadline` (monotonic seconds) for a message whose tag is among `codes`.

    `records`: asked of each message, `None` for all. `looked`: queue offset before which none matches.
    """

    call: Call
    fields: PullFields
    group: SubscriptionGroupConfig
    codes: Collection[int] | None
    deadline: float
    records: RecordFilter | None
    looked: int


class PullLongPolling:
    """Keeps pulls by queue and says which of them are to be answered; these are not held any more.

    How many there are is limited by each connection's limit of requests in flight. `queue_max` gives the end
    of a queue.
    """

    __slots__ = ("_by_peer", "_by_queue", "_clock", "_queue_max")

    def __init__(self, clock: Clock, queue_max: Callable[[str, int], int]) -> None:
        self._clock = clock
        self._queue_max = queue_max
        self._by_queue: dict[Queue, list[HeldPull]] = {}
        self._by_peer: dict[Peer, set[Queue]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_queue.values()))

    def hold(self, held: HeldPull) -> None:
        """Let a pull wait."""
        queue = (held.fields.topic, held.fields.queue_id)
        self._by_queue.setdefault(queue, []).append(held)
        self._by_peer.setdefault(held.call.peer, set()).add(queue)

    def arrived(
        self, topic: str, queue_id: int, max_offset: int, codes: Collection[int]
    ) -> Sequence[HeldPull]:
        """Messages with these tag codes are in the queue now, which ends at `max_offset`.

        A pull that filters records is among the due ones, too: whether there is something to say to it is
        seen by a look at the records, and if there is not, it is to be held again.
        """
        waiting = self._by_queue.get((topic, queue_id))
        if waiting is None:
            return ()
        now = self._clock.monotonic()
        due = [
            held
            for held in waiting
            if (max_offset > held.fields.queue_offset and matches_any(held.codes, codes))
            or now >= held.deadline
        ]
        return self._release((topic, queue_id), due)

    def release_due(self) -> Sequence[HeldPull]:
        """The pulls whose time is over, and those that have something to learn; to be asked every 5 s.

        Messages that do not match a pull move its offset on, so it is woken by them here.
        """
        now = self._clock.monotonic()
        found: list[HeldPull] = []
        for queue, waiting in tuple(self._by_queue.items()):
            end = self._queue_max(*queue)
            due = [held for held in waiting if end > held.fields.queue_offset or now >= held.deadline]
            found += self._release(queue, due)
        return found

    def release_group(self, group: str, topic: str, queue_id: int) -> Sequence[HeldPull]:
        """What waits there for `group`, whose offset was changed by an operator."""
        waiting = self._by_queue.get((topic, queue_id), ())
        due = [held for held in waiting if held.fields.consumer_group == group]
        return self._release((topic, queue_id), due)

    def forget(self, peer: Peer) -> None:
        """The connection is closed; nobody waits there any more."""
        for queue in self._by_peer.pop(peer, ()):
            self._release(queue, [held for held in self._by_queue.get(queue, ()) if held.call.peer is peer])

    def release_all(self) -> Sequence[HeldPull]:
        """All of them, because the broker stops."""
        found = [held for waiting in self._by_queue.values() for held in waiting]
        self._by_queue.clear()
        return found

    def _release(self, queue: Queue, due: list[HeldPull]) -> list[HeldPull]:
        if due:
            waiting = self._by_queue[queue]
            if len(due) == len(waiting):
                del self._by_queue[queue]
            else:
                leaving = set(due)
                self._by_queue[queue] = [held for held in waiting if held not in leaving]
        return due
