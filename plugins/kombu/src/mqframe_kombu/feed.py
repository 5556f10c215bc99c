"""What one channel consumes: messages popped as far as its prefetch count allows, kept ours, and settled.

All of it runs on the loop of the link, but for what says otherwise.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from mqframe.core.errors import ClosedError, MqframeError, ReceiptError, RetryError
from mqframe.log import get_logger
from mqframe_kombu.held import Held, HeldOutcome, Source
from mqframe_kombu.options import TransportOptions
from mqframe_kombu.owner import FeedOwner

log = get_logger("kombu")

POP_MAX: Final = 32
"""Most messages of one request; also what a channel without prefetch count has ready."""
HOLD_SECONDS: Final = 1.0
"""How long a message that came beyond the prefetch count waits for room before others may have it."""
PAUSE_SECONDS: Final = 0.2
"""Before a request that failed is repeated."""
SOON_SECONDS: Final = 0.001
"""The invisible time of what is given back."""
CALLS_MAX: Final = 32
"""Messages that are renewed, or given back, at once."""


class Feed:
    """The messages of one channel. `hand_out`: called with each that is to be delivered."""

    def __init__(self, owner: FeedOwner, options: TransportOptions, hand_out: Callable[[Held], None]) -> None:
        self._owner = owner
        self._options = options
        self._hand_out = hand_out
        self._loop = asyncio.get_running_loop()
        self._sources: list[Source] = []
        self._out: dict[Held, None] = {}
        self._waiting: deque[Held] = deque()
        self._prefetch = 0
        self._ready = 0
        self._turn = 0
        self._changed = asyncio.Event()
        self._closed = False
        self._retired: dict[Source, None] = {}
        self._work: set[asyncio.Task[None]] = set()
        self._loops = [asyncio.create_task(self._fetch()), asyncio.create_task(self._keep())]

    # Consumers and limits

    def add(self, *sources: Source) -> None:
        """Consume from `sources`, whose consumers were started. Steps of one queue are added together."""
        self._sources += sources
        self._changed.set()

    async def remove(self, sources: Sequence[Source]) -> None:
        """Consume from `sources` no more. What was delivered can still be settled; the rest goes back."""
        gone = [
            held for held in (*self._out, *self._waiting) if held.source in sources and not held.delivered
        ]
        self._waiting = deque(held for held in self._waiting if held.source not in sources)
        for held in gone:
            self._forget(held)
        self._sources = [source for source in self._sources if source not in sources]
        for source in sources:
            await self._retire(source, gone)
        await self._give_back(gone)
        for source in sources:
            await self._dismiss(source)

    def set_prefetch(self, count: int) -> None:
        """At most `count` messages are out; 0: any number, of which few wait for being looked at."""
        self._prefetch = count
        self._changed.set()

    def delivered(self) -> None:
        """One that was handed out was looked at."""
        self._ready -= 1
        if not self._prefetch:
            self._changed.set()

    def settle(self, held: Held, outcome: HeldOutcome) -> None:
        """Do with `held` what was decided. What was settled before, or lost: nothing happens."""
        if held not in self._out:
            return
        if outcome is HeldOutcome.ACK:
            self._forget(held)
            self._acknowledge(held)
        elif outcome is HeldOutcome.REQUEUE:
            self._spawn(self.give_back([held]))
        else:
            self._spawn(self._bury(held))

    async def give_back(self, helds: Sequence[Held]) -> None:
        """Let others have them. Those that were settled before, or lost: nothing happens."""
        ours = [held for held in helds if held in self._out]
        for held in ours:
            self._forget(held)
        await self._give_back(ours)
        for source in {held.source for held in ours}:
            await self._dismiss(source)

    def adopt(self, held: Held) -> None:
        """Keep `held`, which was asked for beside, until it is settled."""
        self._out[held] = None

    async def close(self) -> None:
        """Give back what was not settled; acknowledge what was. Stops all consumers."""
        if self._closed:
            return
        self._closed = True
        for task in self._loops:
            task.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        left = [*self._out, *self._waiting]
        self._out.clear()
        self._waiting.clear()
        sources = dict.fromkeys([*self._sources, *self._retired])
        await asyncio.gather(*[self._retire(source, left) for source in self._sources])
        await self._give_back(left)
        while self._work:
            await asyncio.gather(*self._work, return_exceptions=True)
        await asyncio.gather(*[source.consumer.stop() for source in sources], return_exceptions=True)

    async def _retire(self, source: Source, left: list[Held]) -> None:
        """End the requests that brokers hold for `source`; what came of them is added to `left`.

        Only the end of their connection does so for certain: what came for one later would be nobody's until
        its time is over. What is still out is settled by another member of the group.
        """
        poll, old = source.poll, source.consumer
        if self._is_used(source, left) and not await self._replace(source):
            if poll is not None:
                poll.cancel()
            return
        await old.stop()
        if poll is not None:
            if source.in_trouble:
                poll.cancel()
            # Not cancelled as long as it may hold messages: nobody else would know of them.
            await asyncio.gather(poll, return_exceptions=True)
        if source.late and (source in self._retired or await self._replace(source)):
            left += source.late

    async def _replace(self, source: Source) -> bool:
        """Have another member settle what is out of `source`. Whether there is one."""
        try:
            source.consumer = await self._owner.join(source.consumer.topics[0])
        except MqframeError as problem:
            log.warning("cannot settle what is out", queue=source.queue, reason=str(problem))
            return False
        self._retired[source] = None
        return True

    async def _dismiss(self, source: Source) -> None:
        """Let the member go that settled what was out of `source`, once nothing is."""
        if source in self._retired and not self._is_used(source, ()):
            del self._retired[source]
            await source.consumer.stop()

    def _is_used(self, source: Source, left: Sequence[Held]) -> bool:
        return source.flush is not None or any(held.source is source for held in (*self._out, *left))

    # Fetching

    def _room(self) -> int:
        if not self._prefetch:
            return POP_MAX - self._ready - len(self._waiting)
        return self._prefetch - len(self._out) - len(self._waiting)

    async def _fetch(self) -> None:
        while True:
            self._changed.clear()
            self._use_waiting()
            if self._room() <= 0 or not self._sources:
                await self._changed.wait()
                continue
            if not await self._ask_all():
                for source in self._sources:
                    if source.poll is None:
                        source.poll = asyncio.create_task(self._stand(source))
                await self._changed.wait()

    async def _ask_all(self) -> bool:
        """Ask each source once, the highest step first, and wait for none. Whether to do so again at once."""
        if len(self._sources) == 1:
            return False
        self._turn += 1
        turn = self._turn % len(self._sources)
        # Sorting keeps the order of those that are alike: queues take turns.
        order = sorted(self._sources[turn:] + self._sources[:turn], key=lambda source: -source.step)
        came = False
        for source in order:
            room = min(self._room(), POP_MAX)
            if room <= 0:
                break
            if source.poll is None and source in self._sources:
                poll = source.poll = asyncio.create_task(self._ask(source, room))
                # Unlike an await of its own, this may be cancelled alone: `_retire` sees to what comes.
                await asyncio.wait([poll])
                came |= not poll.cancelled() and poll.result()
                if self._changed.is_set():
                    return True  # what there is room for now is for the highest step first, too
        return came

    async def _ask(self, source: Source, room: int) -> bool:
        try:
            return await self._pop(source, room, 0.0)
        finally:
            source.poll = None

    async def _stand(self, source: Source) -> bool:
        """Have the broker hold a request until something comes."""
        try:
            room = max(1, min(self._room(), POP_MAX))
            return await self._pop(source, room, self._options.wait_time_seconds)
        finally:
            source.poll = None
            self._changed.set()

    async def _pop(self, source: Source, count: int, wait: float) -> bool:
        try:
            popped = await source.consumer.receive(count, self._options.visibility_timeout, wait)
            self._owner.all_well()
        except ClosedError:
            return False
        except MqframeError as problem:
            source.in_trouble = True
            try:
                await self._owner.trouble(problem, source.queue)
            finally:
                source.in_trouble = False
            return False
        for message in popped:
            held = Held(source, message)
            if self._is_left(source):
                source.late.append(held)
                continue
            try:
                for_now = await self._owner.is_for_now(source, message)
            except MqframeError as problem:
                log.warning("message was left for later", reason=str(problem), **held.named())
                continue
            if not for_now:
                self._acknowledge(held)
            elif self._is_left(source):
                source.late.append(held)
            else:
                self._waiting.append(held)
        self._use_waiting()
        return bool(popped)

    def _is_left(self, source: Source) -> bool:
        return self._closed or source not in self._sources

    def _use_waiting(self) -> None:
        """Hand out what came, as far as there is room; what finds none may go to others after a while."""
        while self._waiting and (not self._prefetch or len(self._out) < self._prefetch):
            held = max(self._waiting, key=lambda each: each.source.step)
            self._waiting.remove(held)
            self._out[held] = None
            self._ready += 1
            self._hand_out(held)
        if self._waiting:
            self._loop.call_later(HOLD_SECONDS, self._let_go, list(self._waiting))

    def _let_go(self, helds: list[Held]) -> None:
        over = [held for held in helds if held in self._waiting]
        for held in over:
            self._waiting.remove(held)
        if over:
            self._spawn(self._give_back(over))
            self._changed.set()

    # Settling

    def _forget(self, held: Held) -> None:
        if self._out.pop(held, held) is None:
            self._changed.set()

    def _acknowledge(self, held: Held) -> None:
        source = held.source
        source.acks.append(held)
        if source.flush is None:
            source.flush = self._spawn(self._flush(source))

    async def _flush(self, source: Source) -> None:
        """Acknowledge all that is done, many in one request."""
        try:
            while source.acks:
                batch = [source.acks.popleft() for _ in range(min(len(source.acks), CALLS_MAX))]
                await self._until_renewed(batch)
                try:
                    await source.consumer.ack_batch([held.popped for held in batch])
                except ReceiptError as late:
                    log.warning("done too late: comes again", queue=source.queue, reason=str(late))
                except RetryError as problem:
                    alive = [held for held in batch if held.popped.deadline > self._loop.time()]
                    log.warning("acknowledging failed", queue=source.queue, reason=str(problem))
                    if alive and not self._closed:
                        source.acks.extendleft(reversed(alive))
                        await asyncio.sleep(PAUSE_SECONDS)
                except MqframeError as problem:
                    log.warning("cannot be acknowledged", queue=source.queue, reason=str(problem))
        finally:
            source.flush = None
        if not self._closed:
            await self._dismiss(source)

    async def _bury(self, held: Held) -> None:
        try:
            await self._owner.bury(held)
        except MqframeError as problem:
            log.warning("no dead letter: comes again", reason=str(problem), **held.named())
            self._forget(held)
            return
        self._forget(held)
        self._acknowledge(held)

    async def _give_back(self, helds: Sequence[Held]) -> None:
        """Let others have them, now rather than when their time is over."""

        async def one(held: Held) -> None:
            # Too late, or no broker: it comes again all the same.
            with contextlib.suppress(MqframeError):
                await held.source.consumer.change_invisible_duration(held.popped, SOON_SECONDS)
                self._owner.gave_back(held)

        await self._until_renewed(helds)
        for start in range(0, len(helds), CALLS_MAX):
            await asyncio.gather(*map(one, helds[start : start + CALLS_MAX]))

    # Keeping what is worked on

    async def _keep(self) -> None:
        """Renew, over and over, the invisible time of what is out, when half of it is over."""
        span = self._options.visibility_timeout
        while True:
            await asyncio.sleep(span / 6)
            near = self._loop.time() + span / 2
            due = [
                held for held in (*self._out, *self._waiting)
                if held.popped.deadline < near and held.renewal is None
            ]  # fmt: skip
            for start in range(0, len(due), CALLS_MAX):
                some = [held for held in due[start : start + CALLS_MAX] if self._is_kept(held)]
                for held in some:
                    held.renewal = self._spawn(self._renew(held))
                await self._until_renewed(some)

    def _is_kept(self, held: Held) -> bool:
        return held in self._out or held in self._waiting

    async def _renew(self, held: Held) -> None:
        try:
            await held.source.consumer.change_invisible_duration(
                held.popped, self._options.visibility_timeout
            )
        except ReceiptError as late:
            log.warning("worked on for too long: comes again", reason=str(late), **held.named())
            self._forget(held)
        except MqframeError as problem:
            log.warning("not renewed", reason=str(problem), **held.named())
        finally:
            held.renewal = None

    async def _until_renewed(self, helds: Sequence[Held]) -> None:
        under_way = [held.renewal for held in helds if held.renewal is not None]
        if under_way:
            await asyncio.gather(*under_way, return_exceptions=True)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        return task
