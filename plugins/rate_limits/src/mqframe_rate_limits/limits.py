"""The consume hook `rate_limits`: has calls of listeners wait until they may begin."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from math import ceil
from threading import Event
from typing import Any, Final, Literal

import attrs

from mqframe.core.clock import TimerClock
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.errors import SettingError
from mqframe.core.messages.message import ReceivedMessage
from mqframe.hooks.interfaces import ConsumeHook, HookPort
from mqframe_rate_limits.in_flight import NO_LIMIT, InFlight
from mqframe_rate_limits.token_bucket import TokenBucket

_LOOK_SECONDS: Final = 0.5
"""How often a thread that waits for others to end looks whether the consumer stops. Real seconds."""


@attrs.frozen
class RateLimitOptions:
    """How many messages a second, and how many at once."""

    messages_per_second: float = attrs.field(
        default=0.0, metadata={"doc": "messages that listeners get a second, count; 0: no limit"}
    )
    burst: int = attrs.field(
        default=0,
        metadata={
            "doc": "messages that may come at once after a pause, count; 0: those of a second, at least 1"
        },
    )
    in_flight: int = attrs.field(
        default=NO_LIMIT, metadata={"doc": "messages that listeners are at together, count; 0: no limit"}
    )
    per: Literal["topic", "consumer"] = attrs.field(
        default="topic", metadata={"doc": "whether each topic has these limits, or all together"}
    )
    topics: tuple[str, ...] = attrs.field(
        default=(), metadata={"doc": "the topics that are limited; none named: all"}
    )

    def __attrs_post_init__(self) -> None:
        if not 0 <= self.messages_per_second < float("inf"):
            raise SettingError(f"messages_per_second = {self.messages_per_second:g}: must be 0 or above")
        for name in ("burst", "in_flight"):
            if getattr(self, name) < 0:
                raise SettingError(f"{name} = {getattr(self, name)}: must be 0 or above")
        if not (self.messages_per_second or self.in_flight):
            raise SettingError("rate_limits limits nothing: give messages_per_second or in_flight")

    @property
    def bucket(self) -> TokenBucket | None:
        """A new bucket, where messages a second are limited."""
        rate = self.messages_per_second
        return TokenBucket(rate, self.burst or max(1, ceil(rate))) if rate else None


class _Gate:
    """The limits of one topic, or of all."""

    def __init__(self, options: RateLimitOptions) -> None:
        self.bucket = options.bucket
        self.in_flight = InFlight(options.in_flight)

    def seconds(self, count: int, clock: TimerClock) -> float:
        """How long `count` messages wait for their tokens."""
        return 0.0 if self.bucket is None else self.bucket.take(count, clock.monotonic())


class RateLimits(ConsumeHook):
    """Has each call of a listener wait until its messages may begin, by the clock of its consumer.

    A call of an `async def` waits on the loop, one of a plain listener in its thread; neither counts as a
    failure. One object may serve several consumers of a process, which share the limits then.
    """

    name = "rate_limits"
    Options = RateLimitOptions

    def __init__(self, options: RateLimitOptions) -> None:
        self._options = options
        self._gates: dict[str, _Gate] = {}
        self._running = 0
        self._stopped = Event()

    def attach(self, port: HookPort) -> None:
        """A consumer starts."""
        self._running += 1
        self._stopped.clear()

    def detach(self) -> None:
        """A consumer stops: with the last one, plain listeners that still wait are called no more."""
        self._running = max(0, self._running - 1)
        if not self._running:
            self._stopped.set()

    def waiting(self, topic: str) -> int:
        """How many calls wait for others of `topic` to end."""
        gate = self._gates.get(self._name_of(topic))
        return 0 if gate is None else gate.in_flight.waiting

    def wrap(
        self, call: Callable[..., Any], topic: str, clock: TimerClock, is_async: bool, batch_max: int
    ) -> Callable[..., Any]:
        """The same listener, each call in its time."""
        if self._options.topics and topic not in self._options.topics:
            return call
        gate = self._gates.setdefault(self._name_of(topic), _Gate(self._options))
        return _awaited(call, gate, clock) if is_async else _blocking(call, gate, clock, self._stopped)

    def _name_of(self, topic: str) -> str:
        return topic if self._options.per == "topic" else ""


def _awaited(call: Callable[..., Any], gate: _Gate, clock: TimerClock) -> Callable[..., Any]:
    async def listen(messages: Sequence[ReceivedMessage], context: Any) -> Any:
        count = len(messages)
        await _turn(gate.in_flight, count)
        try:
            if (seconds := gate.seconds(count, clock)) > 0.0:
                await _sleep(seconds, clock)
            return await call(messages, context)
        finally:
            gate.in_flight.leave(count)

    return listen


def _blocking(call: Callable[..., Any], gate: _Gate, clock: TimerClock, stopped: Event) -> Callable[..., Any]:
    def listen(messages: Sequence[ReceivedMessage], context: Any) -> Any:
        count = len(messages)
        if not _blocking_turn(gate.in_flight, count, stopped):
            return ConsumeResult.RECONSUME_LATER
        try:
            until = clock.monotonic() + gate.seconds(count, clock)
            while (left := until - clock.monotonic()) > 0.0:
                if stopped.wait(left):
                    return ConsumeResult.RECONSUME_LATER
            return call(messages, context)
        finally:
            gate.in_flight.leave(count)

    return listen


async def _turn(in_flight: InFlight, count: int) -> None:
    loop = asyncio.get_running_loop()
    begun = loop.create_future()

    def wake() -> None:
        loop.call_soon_threadsafe(_resolve, begun)

    if in_flight.enter(count, wake):
        return
    try:
        await begun
    except asyncio.CancelledError:
        in_flight.give_up(count, wake)
        raise


def _blocking_turn(in_flight: InFlight, count: int, stopped: Event) -> bool:
    """Wait for others to end; False where the consumer stops before that."""
    begun = Event()
    if in_flight.enter(count, wake := begun.set):
        return True
    while not begun.wait(_LOOK_SECONDS):
        if stopped.is_set():
            in_flight.give_up(count, wake)
            return False
    return True


async def _sleep(seconds: float, clock: TimerClock) -> None:
    over = asyncio.get_running_loop().create_future()
    timer = clock.call_later(seconds, lambda: _resolve(over))
    try:
        await over
    finally:
        timer.cancel()


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
