"""Requests that found nothing to pop and wait for a message (source: PopLongPollingService.java)."""

from __future__ import annotations

import heapq
import itertools
import math
import sys
from abc import abstractmethod
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, Generic, NamedTuple, TypeVar

import attrs

from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.filtering.record_choice import RecordChoice
from mqframe.core.filtering.subscription import WEIGHT_CHARS, matches_any
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Call, Reply
from mqframe.hooks.failed_requests import failure_reply
from mqframe.hooks.interfaces import EVERY_TOPIC, BrokerPort, BrokerService, OnArrival, Periodic
from mqframe_pop.broker.admission import PopAdmission
from mqframe_pop.requests import Notification, PopMessage
from mqframe_pop.rules.retry_topics import pop_retry_topic
from mqframe_pop.settings import PopSettings

SWEEP_MS: Final = 20
"""Waits end this late at most, because all that end about now are looked for at once."""
_CLEAN_SECONDS: Final = 60.0
_ORDER_SLACK: Final = 1024

Who = tuple[str, str]
"""Topic and group."""
Fields = TypeVar("Fields", PopMessage, Notification)


@attrs.define(eq=False)
class HeldPop(Generic[Fields]):
    """One request that waits until `deadline` (monotonic seconds) for a message that `filter` lets pass.

    `topic`: as it was when the request came; `expired`: the answer once the time is over;
    `place`: in its queue; `waits`: whether it is held now; `listed`: whether its deadline is; `weight`: what
    it takes of memory, one and one more for each `WEIGHT_CHARS` of its expression.
    """

    call: Call
    fields: Fields
    topic: TopicConfig
    filter: RecordChoice
    deadline: float
    expired: Reply
    place: int = sys.maxsize
    waits: bool = False
    listed: bool = False
    weight: int = 1

    @property
    def who(self) -> Who:
        """Topic and group."""
        return self.fields.topic, self.fields.consumer_group


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
    `weight`: of all that wait.
    """

    def __init__(self) -> None:
        self._of_peer: dict[Peer, dict[HeldPop[Fields], None]] = {}
        self._deadlines: list[tuple[float, int, HeldPop[Fields]]] = []
        self._sequence = itertools.count()
        self.weight = 0
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
        who = held.who
        queues = self._waiting.get(who)
        if queues is None:
            queues = self._waiting[who] = {}
            for name in _names(*who):
                self.names.setdefault(name, set()).add(who)
        queues.setdefault(held.fields.queue_id, deque()).insert(held.place, held)
        held.waits = True
        self._count += 1
        self.weight += held.weight
        self._of_peer.setdefault(held.call.peer, {})[held] = None
        if not held.listed:
            held.listed = True
            heapq.heappush(self._deadlines, (held.deadline, next(self._sequence), held))

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
                self._gone(held)
                if not closed:
                    held.place = place
                    return held
            else:
                place += 1
        return None

    def drop(self, held: HeldPop[Fields]) -> None:
        """Nobody wants the answer any more."""
        if held.waits:
            self._release([held])

    def forget(self, peer: Peer) -> None:
        """The connection is closed; nobody waits there any more."""
        self._release(list(self._of_peer.get(peer, ())))

    def release_expired(self, now: float) -> tuple[Sequence[HeldPop[Fields]], float | None]:
        """The requests whose time is over at `now` (monotonic seconds), and when the next one's is."""
        order, expired = self._deadlines, []
        if len(order) > 2 * self._count + _ORDER_SLACK:  # answered ones are to be let go before their time
            order[:] = [each for each in order if self._listed(each[2])]
            heapq.heapify(order)
        while order and (order[0][0] <= now or not order[0][2].waits):
            held = heapq.heappop(order)[2]
            held.listed = False
            if held.waits:
                expired.append(held)
        return self._release(expired), order[0][0] if order else None

    def release_all(self) -> Sequence[HeldPop[Fields]]:
        """All of them, because the broker stops."""
        queues = (waiting for queues in self._waiting.values() for waiting in queues.values())
        return self._release([held for waiting in queues for held in waiting])

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

    def _release(self, leaving: list[HeldPop[Fields]]) -> Sequence[HeldPop[Fields]]:
        queues: dict[tuple[Who, int], None] = {}
        for held in leaving:
            self._gone(held)
            queues[held.who, held.fields.queue_id] = None
        for who, queue_id in queues:
            waiting = self._waiting[who]
            waiting[queue_id] = deque(held for held in waiting[queue_id] if held.waits)
        return leaving

    def _gone(self, held: HeldPop[Fields]) -> None:
        held.waits = False
        self._count -= 1
        self.weight -= held.weight
        of_peer = self._of_peer[held.call.peer]
        del of_peer[held]
        if not of_peer:
            del self._of_peer[held.call.peer]

    def _listed(self, held: HeldPop[Fields]) -> bool:
        held.listed = held.waits
        return held.waits


class PopWaitProcessor(BrokerService, Generic[Fields]):
    """A processor whose requests may wait: serves them when something came, or ends them in time."""

    def __init__(self, port: BrokerPort, admission: PopAdmission, waiting: PopLongPolling[Fields]) -> None:
        self._admission = admission
        self._waiting: PopLongPolling[Fields] = waiting
        self._names = waiting.names
        self._settings = port.settings(PopSettings)
        self._clock = port.clock
        self._expiry = port.due_task(self._expire, "waiting pops")

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
        settings = self._settings.current
        return (
            self._waiting.weight + _weight(fields) > settings.waiting_max
            or self._waiting.at(fields.topic, fields.consumer_group, fields.queue_id)
            >= settings.waiting_queue_max
        )

    def hold(
        self, call: Call, fields: Fields, topic: TopicConfig, filter: RecordChoice, expired: Reply
    ) -> None:
        """Let a request wait for `wait_seconds`, and answer it `expired` then."""
        seconds = self.wait_seconds(fields, call)
        deadline = self._clock.monotonic() + seconds
        call.let_go()
        held = HeldPop(call, fields, topic, filter, deadline, expired, weight=_weight(fields))
        call.on_cancel = partial(self._waiting.drop, held)
        self._waiting.hold(held)
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


def _weight(fields: PopMessage | Notification) -> int:
    expression = fields.exp if isinstance(fields, PopMessage) else None
    return 1 + len(expression or "") // WEIGHT_CHARS


def _names(topic: str, group: str) -> tuple[str, str, str]:
    return topic, pop_retry_topic(topic, group), pop_retry_topic(topic, group, v2=True)
