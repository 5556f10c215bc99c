"""Messages sent at a rate and consumed at the same time, and how long each was on its way."""

from __future__ import annotations

import asyncio
import struct
import time
from typing import TYPE_CHECKING, Any, Final

from mqframe.core.errors import CallTimeout
from mqframe_cli.access import access
from mqframe_cli.live.meter import Done

if TYPE_CHECKING:
    from mqframe import ReceivedMessage

_STAMP: Final = struct.Struct(">qqd")
STAMP_BYTES: Final = _STAMP.size
"""What a body begins with: its run, its number, and when it was due, seconds by `time.perf_counter`."""
_PROBE: Final = -1
PROBE_SECONDS: Final = 0.2
"""Between messages that are sent until the first one comes, so that the consumer has its queues."""
READY_SECONDS_MAX: Final = 60.0
LATE_SECONDS_MAX: Final = 10.0
"""What has not come so long after the last send is lost."""


class DeliveryRun:
    """One run. `sent`: messages; `times`: of those that came, the seconds from when each was due."""

    def __init__(self, topic: str, group: str, rate: float, seconds: float, size: int) -> None:
        self._topic = topic
        self._run = time.time_ns()
        self._group = f"{group}-{self._run}"
        self._rate, self._seconds = rate, seconds
        self._rest = b"x" * (size - STAMP_BYTES)
        self._open: set[int] = set()
        self._ready = asyncio.Event()
        self._all = asyncio.Event()
        self.sent = 0
        self.times: list[float] = []

    @property
    def lost(self) -> int:
        """How many did not come."""
        return len(self._open)

    async def run(self, nameserver: str, done: Done) -> None:
        """Send and consume. Raises what clients raise, `CallTimeout` where nothing comes at all."""
        from mqframe import AsyncProducer, AsyncPushConsumer

        consumer = AsyncPushConsumer(self._group, nameserver=nameserver, consume_from="last", **access())

        async def handle(message: ReceivedMessage) -> None:
            self._came(bytes(message.body[:STAMP_BYTES]))
            done(len(self.times))

        consumer.subscribe(self._topic, "*", handle)
        async with AsyncProducer(self._group, nameserver=nameserver, **access()) as producer, consumer:
            await self._until_ready(producer)
            sends: list[asyncio.Task[None]] = []
            begin = time.perf_counter()
            while (now := time.perf_counter()) < begin + self._seconds:
                while (due := begin + self.sent / self._rate) <= now:
                    sends.append(asyncio.create_task(self._send(producer, self.sent, due)))
                    self.sent += 1
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
            await asyncio.gather(*sends)
            if self._open:
                self._all.clear()
                try:
                    await asyncio.wait_for(self._all.wait(), LATE_SECONDS_MAX)
                except TimeoutError:
                    return

    async def _until_ready(self, producer: Any) -> None:
        end = time.perf_counter() + READY_SECONDS_MAX
        while not self._ready.is_set():
            if time.perf_counter() > end:
                raise CallTimeout(f"nothing of what {self._topic} got came within {READY_SECONDS_MAX:g} s")
            await self._send(producer, _PROBE, 0.0)
            try:
                await asyncio.wait_for(self._ready.wait(), PROBE_SECONDS)
            except TimeoutError:
                continue

    async def _send(self, producer: Any, number: int, due: float) -> None:
        from mqframe import Message

        if number != _PROBE:
            self._open.add(number)
        await producer.send(Message(self._topic, _STAMP.pack(self._run, number, due) + self._rest))

    def _came(self, stamp: bytes) -> None:
        if len(stamp) < STAMP_BYTES:
            return
        run, number, due = _STAMP.unpack(stamp)
        if run != self._run:
            return  # of others
        if number == _PROBE:
            self._ready.set()
        elif number in self._open:
            self._open.discard(number)
            self.times.append(time.perf_counter() - due)
            if not self._open:
                self._all.set()
