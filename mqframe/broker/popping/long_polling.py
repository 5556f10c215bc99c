"""Requests that found nothing to pop and wait for a message (source: PopLongPollingService.java)."""

from __future__ import annotations

import math
import sys
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

import attrs

from mqframe.broker.consuming.filters import Filter
from mqframe.broker.due_task import DueTask
from mqframe.broker.popping.admission import PopAdmission
from mqframe.broker.service import BrokerPart
from mqframe.broker.tables.shared import Conditions
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.filtering.subscription import matches_any
from mqframe.core.popping.receipt_handle import pop_retry_topic
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.pop import Notification, PopMessage
from mqframe.core.requests.serving import Call, Reply
from mqframe.hooks.interfaces import EVERY_TOPIC, OnArrival, Periodic
from mqframe.net.connection import failure_reply

SWEEP_MS: Final = 20
"""Waits end this late at most, because all that end about now are looked for at once."""
_CLEAN_SECONDS: Final = 60.0

Who = tuple[str, str]
"""Topic and group."""
Fields = TypeVar("Fields", PopMessage, Notification)


@attrs.define(eq=False)
class HeldPop(Generic[Fields]):
    """One request that waits until `deadline` (monotonic seconds) for a message that `filter` lets pass.

    `topic`: as it was when the request came; `expired`: the answer once the time is over;
    `place`: in its queue.
    """

    call: Call
    fields: Fields
    topic: TopicConfig
    filter: Filter
    deadline: float
    expired: Reply
    place: int = sys.maxsize


class Woken(NamedTuple):
    """Requests for which there may be something: those of a group that wait at queue `at` (-1: at any).

    `queue_id`: the queue that something arrived in, -1: unknown; `codes`: of its tags, `None`: unknown.
    """

    who: Who
    at: int
    queue_id: int
    codes: Collection[int] | None


class PopLongPolling(Generic[Fields]):
    """Keeps requests by topic, group and queue, and says which are to be served, the oldest first.

    `names`: every topic in which something may arrive that a request waits for, and who waits for it.
    """

    def __init__(self) -> None:
        self._waiting: dict[Who, dict[int, deque[HeldPop[Fields]]]] = {}
        self.names: dict[str, set[Who]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def at(self, topic: str, group: str, queue_id: int) -> int:
        """How many requests of `group` wait at a queue (-1: at any queue)."""
        return len(self._waiting.get((topic, group), {}).get(queue_id, ()))

    def hold(self, held: HeldPop[Fields]) -> None:
        """Let a request wait, behind the others, or where it was when `release_next` returned it."""
        who = (held.fields.topic, held.fields.consumer_group)
        queues = self._waiting.get(who)
        if queues is None:
            queues = self._waiting[who] = {}
            for name in _names(*who):
                self.names.setdefault(name, set()).add(who)
        queues.setdefault(held.fields.queue_id, deque()).insert(held.place, held)
        self._count += 1

    def arrived(self, topic: str, queue_id: int, codes: Collection[int]) -> Sequence[Woken]:
        """Messages with these tag codes are in a queue now, of a topic or of one with its retries."""
        woken: list[Woken] = []
        for who in self.names.get(topic, ()):
            if topic == who[0]:
                woken += [Woken(who, at, queue_id, codes) for at in (queue_id, -1)]
            else:
                woken += self.wake(*who, -1)
        return woken

    def wake(self, topic: str, group: str, queue_id: int) -> Sequence[Woken]:
        """There may be something in a queue (-1: in any) for `group`."""
        queues = self._waiting.get((topic, group), ())
        ats = tuple(queues) if queue_id < 0 else (queue_id, -1)
        return [Woken((topic, group), at, queue_id, None) for at in ats] if queues else ()

    def release_next(self, woken: Woken) -> HeldPop[Fields] | None:
        """The oldest request that `woken` concerns, not held any more; those of closed connections go."""
        waiting = self._waiting.get(woken.who, {}).get(woken.at, deque())
        place = 0
        while place < len(waiting):
            held = waiting[place]
            closed = held.call.peer.closed
            if closed or woken.codes is None or matches_any(held.filter.codes, woken.codes):
                del waiting[place]
                self._count -= 1
                if not closed:
                    held.place = place
                    return held
            else:
                place += 1
        return None

    def forget(self, peer: Peer) -> None:
        """The connection is closed; nobody waits there any more."""
        self._release(lambda held: held.call.peer is peer)

    def release_expired(self, now: float) -> tuple[Sequence[HeldPop[Fields]], float | None]:
        """The requests whose time is over at `now` (monotonic seconds), and when the next one's is."""
        expired = self._release(lambda held: held.deadline <= now)
        waits = (each for queues in self._waiting.values() for waiting in queues.values() for each in waiting)
        return expired, min((held.deadline for held in waits), default=None)

    def release_all(self) -> Sequence[HeldPop[Fields]]:
        """All of them, because the broker stops."""
        return self._release(lambda held: True)

    def clean(self) -> None:
        """Forget the topics and groups of which nobody waits."""
        for who, queues in tuple(self._waiting.items()):
            for queue_id in [queue_id for queue_id, waiting in queues.items() if not waiting]:
                del queues[queue_id]
            if not queues:
                del self._waiting[who]
                for name in _names(*who):
                    interested = self.names[name]
                    interested.discard(who)
                    if not interested:
                        del self.names[name]

    def _release(self, chosen: Callable[[HeldPop[Fields]], bool]) -> Sequence[HeldPop[Fields]]:
        found: list[HeldPop[Fields]] = []
        for queues in self._waiting.values():
            for queue_id, waiting in queues.items():
                leaving = [held for held in waiting if chosen(held)]
                if leaving:
                    found += leaving
                    queues[queue_id] = deque(held for held in waiting if not chosen(held))
        self._count -= len(found)
        return found


class PopWaitProcessor(BrokerPart, Generic[Fields]):
    """A processor whose requests may wait: serves them when something came, or ends them in time."""

    def __init__(
        self, admission: PopAdmission, waiting: PopLongPolling[Fields], conditions: Conditions
    ) -> None:
        self._admission = admission
        self._waiting: PopLongPolling[Fields] = waiting
        self._names = waiting.names
        self._live = conditions.live
        self._clock = conditions.clock
        self._expiry = DueTask(conditions.clock, self._expire, "waiting pops")

    @abstractmethod
    def serve_held(self, held: HeldPop[Fields], queue_id: int) -> int | None:
        """Answer a request that waited, if there is something for it in a queue (-1: in any).

        Returns how many messages are left for others, `None` when it found nothing and the request waits on.
        """

    def periodic(self) -> list[Periodic]:
        """Forgets for whom nobody waits."""
        return [Periodic(_CLEAN_SECONDS, self._waiting.clean, "waiting pops")]

    def arrivals(self) -> Mapping[str, OnArrival]:
        """Requests name topic and group when they come: any topic may be waited for."""
        return {EVERY_TOPIC: self._arrived}

    def connection_closed(self, peer: Peer) -> None:
        """Nobody waits there any more."""
        self._waiting.forget(peer)

    async def stop(self) -> None:
        """Answer all that wait."""
        for held in self._waiting.release_all():
            held.call.reply(held.expired)
        await self._expiry.stop()

    def abandon(self) -> None:
        """Let go of the timer."""
        self._expiry.cancel()

    def wake(self, topic: str, group: str, queue_id: int) -> None:
        """There may be something in a queue (-1: in any) for `group`."""
        self._serve(self._waiting.wake(topic, group, queue_id))

    def wait_seconds(self, fields: Fields, call: Call) -> float:
        """How long a request may wait, not positive when it may not.

        Counted from when it came, for its sender's clock may be another than ours. (Apache RocketMQ counts
        from `bornTime`: where the clocks differ, nobody waits.)
        """
        return call.received + fields.poll_time / 1000 - self._clock.monotonic()

    def full(self, fields: Fields) -> bool:
        """Whether as many requests wait as may, of all or at the queue of this one."""
        settings = self._live.current
        return (
            len(self._waiting) >= settings.pop_waiting_max
            or self._waiting.at(fields.topic, fields.consumer_group, fields.queue_id)
            >= settings.pop_waiting_queue_max
        )

    def hold(self, call: Call, fields: Fields, topic: TopicConfig, filter: Filter, expired: Reply) -> None:
        """Let a request wait for `wait_seconds`, and answer it `expired` then."""
        seconds = self.wait_seconds(fields, call)
        deadline = self._clock.monotonic() + seconds
        self._waiting.hold(HeldPop(call, fields, topic, filter, deadline, expired))
        self._expiry.ring_in(math.ceil(seconds * 1000))

    def _arrived(self, topic: str, queue_id: int, max_offset: int, codes: Collection[int]) -> None:
        if topic in self._names:
            self._serve(self._waiting.arrived(topic, queue_id, codes))

    def _serve(self, woken: Iterable[Woken]) -> None:
        for each in woken:
            while (held := self._waiting.release_next(each)) is not None:
                try:
                    left = self.serve_held(held, each.queue_id)
                except Exception as problem:  # one request's error must not stop others from being served
                    held.call.reply(failure_reply(problem, held.call))
                    break
                if left is None:
                    self._waiting.hold(held)
                if not left or left < 0:
                    break

    async def _expire(self) -> int | None:
        now = self._clock.monotonic()
        expired, following = self._waiting.release_expired(now)
        for held in expired:
            held.call.reply(held.expired)
        return None if following is None else max(math.ceil((following - now) * 1000), SWEEP_MS)


def _names(topic: str, group: str) -> tuple[str, str, str]:
    return topic, pop_retry_topic(topic, group), pop_retry_topic(topic, group, v2=True)
