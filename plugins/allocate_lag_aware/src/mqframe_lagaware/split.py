"""Who gets which queue when lags count: a plain function of what all members have in common."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from operator import itemgetter

from mqframe_consistenthash.ring import ring_position

from mqframe.core.messages.message import MessageQueue


def even(queues: Sequence[MessageQueue], clients: Sequence[str]) -> dict[MessageQueue, str]:
    """As `averagely` shares them: the first member gets the first queues, those in front one more."""
    share, more = divmod(len(queues), len(clients))
    counts = [share + (place < more) for place in range(len(clients))]
    names = [client for client, count in zip(clients, counts, strict=True) for _ in range(count)]
    return dict(zip(queues, names, strict=True))


class Split:
    """Queues and their owners, moved until nobody can be relieved by more than `threshold`.

    `costs`: what each queue weighs (positive); `owners`: who had it until now; `threshold`: see `balance`.
    """

    def __init__(
        self,
        costs: Mapping[MessageQueue, int],
        owners: Mapping[MessageQueue, str],
        clients: Sequence[str],
        threshold: float,
    ) -> None:
        self._costs = costs
        self._threshold = threshold
        self._held: dict[str, list[tuple[int, MessageQueue]]] = {client: [] for client in clients}
        """What each member has, by cost and name."""
        self._loads = dict.fromkeys(clients, 0)
        # Members that carry the same come in another order for each topic, or the first would get them all.
        topic = next(iter(costs)).topic if costs else ""
        self._places = {client: (ring_position(f"{topic}/{client}"), client) for client in clients}
        homeless = []
        for queue in costs:
            owner = owners.get(queue)
            if owner in self._held:
                self._give(queue, owner)
            else:
                homeless.append(queue)
        for queue in sorted(homeless, key=lambda queue: (-costs[queue], queue)):
            self._give(queue, min(clients, key=self._rank))

    def balance(self) -> None:
        """Move queues from those who carry most to who carries least, while it pays.

        A queue moves when the giver carries more than the taker by over `threshold` of its load, and the
        queue's cost by over `threshold` is less than that difference. So the same costs, or slightly
        different ones, move nothing back.
        """
        while self._move_one():
            pass

    def owners(self) -> dict[MessageQueue, str]:
        """Who has each queue now."""
        return {queue: client for client, held in self._held.items() for _, queue in held}

    def _move_one(self) -> bool:
        taker = min(self._held, key=self._rank)
        low = self._loads[taker]
        for giver in sorted(self._held, key=self._rank, reverse=True):
            gap = self._loads[giver] - low
            if gap <= self._threshold * self._loads[giver]:
                return False
            found = self._best(self._held[giver], gap)
            if found is not None:
                self._held[giver].remove(found)
                self._loads[giver] -= found[0]
                self._give(found[1], taker)
                return True
        return False

    def _best(self, held: Sequence[tuple[int, MessageQueue]], gap: int) -> tuple[int, MessageQueue] | None:
        """The one after whose move giver and taker are most alike; `None`: none of them pays."""
        half = bisect_left(held, gap, key=lambda each: 2 * each[0])
        found = []
        if half:  # of the same cost the first by name
            found.append(held[bisect_left(held, held[half - 1][0], key=itemgetter(0))])
        found += held[half : half + 1]
        paying = [each for each in found if each[0] * (1 + self._threshold) < gap]
        return min(paying, key=lambda each: (abs(gap - 2 * each[0]), each[1]), default=None)

    def _give(self, queue: MessageQueue, client: str) -> None:
        insort(self._held[client], (self._costs[queue], queue))
        self._loads[client] += self._costs[queue]

    def _rank(self, client: str) -> tuple[int, tuple[int, str]]:
        return self._loads[client], self._places[client]


def split(
    lags: Mapping[MessageQueue, int],
    owners: Mapping[MessageQueue, str],
    queues: Sequence[MessageQueue],
    clients: Sequence[str],
    *,
    queue_cost: int,
    threshold: float,
) -> dict[MessageQueue, str]:
    """The owner of each of `queues`: who had it, unless it pays to move it.

    A queue costs its lag and `queue_cost` besides; one without an owner goes to who carries least, those with
    the highest cost first. `clients` may not be empty.
    """
    made = Split({queue: lags.get(queue, 0) + queue_cost for queue in queues}, owners, clients, threshold)
    made.balance()
    return made.owners()
