"""Pulls that found nothing and wait for a message (wire.md §7; source: PullRequestHoldService.java)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import attrs

from mqframe.core.clock import Clock
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.filtering.subscription import WEIGHT_CHARS, matches_any
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
    `weight`: what it takes of memory, one and one more for each `WEIGHT_CHARS` of its expression.
    `shorter`: a shorter way to answer it, which says whether it did.
    """

    call: Call
    fields: PullFields
    group: SubscriptionGroupConfig
    codes: Collection[int] | None
    deadline: float
    records: RecordFilter | None
    looked: int
    weight: int = 1
    shorter: Callable[[HeldPull], bool] | None = None


def weight_of_pull(expression: str | None) -> int:
    """What a pull with this expression takes of memory (`HeldPull.weight`)."""
    return 1 + len(expression or "") // WEIGHT_CHARS


class PullLongPolling:
    """Keeps pulls by queue and says which of them are to be answered; these are not held any more.

    `weight`: of all of them; whoever lets a pull wait sees that it is not too much. `queue_max` gives the end
    of a queue.
    """

    __slots__ = ("_by_peer", "_by_queue", "_clock", "_queue_max", "weight")

    def __init__(self, clock: Clock, queue_max: Callable[[str, int], int]) -> None:
        self._clock = clock
        self._queue_max = queue_max
        self._by_queue: dict[Queue, dict[HeldPull, None]] = {}
        self._by_peer: dict[Peer, dict[HeldPull, None]] = {}
        self.weight = 0

    def __len__(self) -> int:
        return sum(map(len, self._by_queue.values()))

    def hold(self, held: HeldPull) -> None:
        """Let a pull wait."""
        queue = (held.fields.topic, held.fields.queue_id)
        self._by_queue.setdefault(queue, {})[held] = None
        self._by_peer.setdefault(held.call.peer, {})[held] = None
        self.weight += held.weight

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
        return self._release(due)

    def release_due(self) -> Sequence[HeldPull]:
        """The pulls whose time is over, and those that have something to learn; to be asked every 5 s.

        Messages that do not match a pull move its offset on, so it is woken by them here.
        """
        now = self._clock.monotonic()
        found: list[HeldPull] = []
        for queue, waiting in tuple(self._by_queue.items()):
            end = self._queue_max(*queue)
            found += [held for held in waiting if end > held.fields.queue_offset or now >= held.deadline]
        return self._release(found)

    def release_group(self, group: str, topic: str, queue_id: int) -> Sequence[HeldPull]:
        """What waits there for `group`, whose offset was changed by an operator."""
        waiting = self._by_queue.get((topic, queue_id), ())
        return self._release([held for held in waiting if held.fields.consumer_group == group])

    def release_topic(self, topic: str) -> Sequence[HeldPull]:
        """What waits at the queues of `topic`."""
        queues = [waiting for (name, _), waiting in self._by_queue.items() if name == topic]
        return self._release([held for waiting in queues for held in waiting])

    def drop(self, held: HeldPull) -> None:
        """Nobody wants the answer any more."""
        if held in self._by_queue.get((held.fields.topic, held.fields.queue_id), ()):
            self._release([held])

    def forget(self, peer: Peer) -> None:
        """The connection is closed; nobody waits there any more."""
        self._release(list(self._by_peer.get(peer, ())))

    def release_all(self) -> Sequence[HeldPull]:
        """All of them, because the broker stops."""
        return self._release([held for waiting in self._by_queue.values() for held in waiting])

    def _release(self, due: list[HeldPull]) -> list[HeldPull]:
        for held in due:
            queue = (held.fields.topic, held.fields.queue_id)
            waiting = self._by_queue[queue]
            del waiting[held]
            if not waiting:
                del self._by_queue[queue]
            of_peer = self._by_peer[held.call.peer]
            del of_peer[held]
            if not of_peer:
                del self._by_peer[held.call.peer]
            self.weight -= held.weight
        return due
