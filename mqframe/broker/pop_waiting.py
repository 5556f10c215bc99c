"""Pops that found nothing and wait for a message (source: PopLongPollingService.java)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from typing import Final

from mqframe.core.pop_handle import pop_retry_topic
from mqframe.core.subscription import wanted
from mqframe.net.call import Call
from mqframe.net.clock import LoopClock, Timer
from mqframe.net.peer import Peer

SWEEP_SECONDS: Final = 0.02
"""Waits end this late at most, because all that end about now are looked for at once."""

Who = tuple[str, str]
"""Topic and group."""


class Held:
    """One request that waits until `deadline` (monotonic seconds) for a message of a queue, -1: of any.

    `serve` is handed the queue that something arrived in (-1: unknown), answers the request if it can now,
    and gives how many messages are left, or `None` when it found nothing and the request is to wait on.
    `expire` answers it because its time is over. `codes`: of the tags that it wants, `None` for all.
    """

    __slots__ = ("call", "codes", "deadline", "expire", "group", "queue_id", "serve", "topic")

    def __init__(
        self,
        call: Call,
        topic: str,
        group: str,
        queue_id: int,
        deadline: float,
        codes: Collection[int] | None,
        serve: Callable[[int], int | None],
        expire: Callable[[], object],
    ) -> None:
        self.call = call
        self.topic = topic
        self.group = group
        self.queue_id = queue_id
        self.deadline = deadline
        self.codes = codes
        self.serve = serve
        self.expire = expire


class WaitingPops:
    """Keeps requests by topic, group and queue; those that came first are served first."""

    def __init__(self, clock: LoopClock) -> None:
        self._clock = clock
        self._waiting: dict[Who, dict[int, deque[Held]]] = {}
        self._names: dict[str, set[Who]] = {}
        self._count = 0
        self._timer: Timer | None = None
        self._timer_at = 0.0

    def __len__(self) -> int:
        return self._count

    def at(self, topic: str, group: str, queue_id: int) -> int:
        """How many requests of `group` wait at a queue (-1: at any queue)."""
        return len(self._waiting.get((topic, group), {}).get(queue_id, ()))

    def hold(self, held: Held) -> None:
        """Let a request wait."""
        who = (held.topic, held.group)
        queues = self._waiting.get(who)
        if queues is None:
            queues = self._waiting[who] = {}
            for name in _names(*who):
                self._names.setdefault(name, set()).add(who)
        queues.setdefault(held.queue_id, deque()).append(held)
        self._count += 1
        self._arm(held.deadline)

    def arrived(self, topic: str, queue_id: int, codes: Collection[int]) -> None:
        """Messages with these tag codes are in a queue now, of a topic or of one with its retries."""
        interested = self._names.get(topic)
        if interested is None:
            return
        for who in tuple(interested):
            retry = topic != who[0]
            for at in tuple(self._waiting[who]) if retry else (queue_id, -1):
                self._wake(who, at, -1 if retry else queue_id, None if retry else codes)

    def wake(self, topic: str, group: str, queue_id: int) -> None:
        """There may be something in a queue (-1: in any) for `group`."""
        who = (topic, group)
        if who in self._waiting:
            for at in tuple(self._waiting[who]) if queue_id < 0 else (queue_id, -1):
                self._wake(who, at, queue_id, None)

    def forget(self, peer: Peer) -> None:
        """The connection is closed; nobody waits there any more."""
        for queues in self._waiting.values():
            for queue_id, waiting in queues.items():
                if any(held.call.peer is peer for held in waiting):
                    queues[queue_id] = rest = deque(held for held in waiting if held.call.peer is not peer)
                    self._count -= len(waiting) - len(rest)

    def end_all(self) -> None:
        """Answer all, because the broker stops."""
        for queues in tuple(self._waiting.values()):
            for waiting in queues.values():
                while waiting:
                    self._count -= 1
                    waiting.popleft().expire()
        self.close()

    def close(self) -> None:
        """Set no timer any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def clean(self) -> None:
        """Forget the topics and groups of which nobody waits."""
        for who, queues in tuple(self._waiting.items()):
            for queue_id in [queue_id for queue_id, waiting in queues.items() if not waiting]:
                del queues[queue_id]
            if not queues:
                del self._waiting[who]
                for name in _names(*who):
                    interested = self._names[name]
                    interested.discard(who)
                    if not interested:
                        del self._names[name]

    def _wake(self, who: Who, at: int, queue_id: int, codes: Collection[int] | None) -> None:
        waiting = self._waiting[who].get(at)
        if not waiting:
            return
        passed: list[Held] = []
        while waiting:
            held = waiting.popleft()
            if held.call.peer.closed:
                self._count -= 1
                continue
            if codes is not None and not wanted(held.codes, codes):
                passed.append(held)
                continue
            left = held.serve(queue_id)
            if left is None:
                passed.append(held)
                break
            self._count -= 1
            if left <= 0:
                break
        waiting.extendleft(reversed(passed))

    def _arm(self, deadline: float) -> None:
        if self._timer is None or deadline < self._timer_at:
            if self._timer is not None:
                self._timer.cancel()
            self._timer_at = deadline
            self._timer = self._clock.call_later(max(deadline - self._clock.monotonic(), 0.0), self._sweep)

    def _sweep(self) -> None:
        self._timer = None
        now = self._clock.monotonic()
        over: list[Held] = []
        soonest: float | None = None
        for queues in self._waiting.values():
            for queue_id, waiting in queues.items():
                due = [held for held in waiting if held.deadline <= now]
                if due:
                    queues[queue_id] = waiting = deque(held for held in waiting if held.deadline > now)
                    over += due
                for held in waiting:
                    if soonest is None or held.deadline < soonest:
                        soonest = held.deadline
        self._count -= len(over)
        if soonest is not None:
            self._arm(max(soonest, now + SWEEP_SECONDS))
        for held in over:
            held.expire()


def _names(topic: str, group: str) -> tuple[str, str, str]:
    return topic, pop_retry_topic(topic, group), pop_retry_topic(topic, group, v2=True)
