"""The port through which hooks send messages of their own, over the connections of the client they watch."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Final

from mqframe.client.instance import ClientInstance
from mqframe.client.producer_parts import ProducerParts
from mqframe.client.room import AsyncRoom
from mqframe.client.send_port import AsyncPort
from mqframe.client.sends import Sends
from mqframe.client.settings import ProducerSettings
from mqframe.core.budget import Budget
from mqframe.core.errors import CallTimeout, MqframeError
from mqframe.core.message import Message
from mqframe.core.topics import GROUP_LENGTH_MAX
from mqframe.hooks.interfaces import ConsumeHook, SendHook
from mqframe.hooks.isolate import attach_hook, detach_hook
from mqframe.log import get_logger
from mqframe.net.clock import Every, LoopClock, within

log = get_logger("client")

GROUP_PREFIX: Final = "_INNER_TRACE_PRODUCER-"
"""What the producer groups of traces begin with (TraceConstants.java)."""
SENDS_MAX: Final = 256
"""Messages of hooks under way at once."""
CLOSE_SECONDS: Final = 5.0
"""Longest wait at the stop for messages under way."""
_SEND_SECONDS: Final = 5.0

Hook = SendHook | ConsumeHook


class ClientHookPort:
    """Sends as a producer group of its own, without hooks. Made and closed in the client's loop.

    `group`: the group that is watched; `kind`: how it is watched, a word that goes into the name.
    """

    def __init__(self, instance: ClientInstance, clock: LoopClock, group: str, kind: str) -> None:
        self._instance = instance
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._group = f"{GROUP_PREFIX}{kind}-{group}"[:GROUP_LENGTH_MAX]
        self._sends: Sends | None = None
        self._under_way = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._periodic: list[Every] = []
        self._closed = False

    @property
    def client_id(self) -> str:
        """How brokers know the client."""
        return self._instance.client_id

    def now_ms(self) -> int:
        """Wall-clock time, ms since 1970."""
        return self._clock.now_ms()

    def send(self, message: Message) -> bool:
        """Hand `message` over to be sent soon; from any thread. False when it is dropped."""
        if self._closed or self._under_way >= SENDS_MAX:  # not exact with several threads, which does no harm
            return False
        self._under_way += 1
        try:
            self._loop.call_soon_threadsafe(self._begin, message)
        except RuntimeError:  # the loop ended
            self._under_way -= 1
            return False
        return True

    def every(self, seconds: float, action: Callable[[], None]) -> None:
        """Call `action` every `seconds`."""
        self._periodic.append(Every(self._clock, seconds, action, name="hook"))

    async def close(self) -> None:
        """Send what was handed over, wait for it a while, leave the group."""
        for periodic in self._periodic:
            periodic.stop()
        await asyncio.sleep(0)  # what was handed over by other threads begins in this turn
        if self._tasks:
            try:
                await within(self._clock, CLOSE_SECONDS, asyncio.wait(set(self._tasks)))
            except CallTimeout:
                log.warning("messages of hooks were not sent before the stop", count=len(self._tasks))
        self._closed = True
        for task in self._tasks:
            task.cancel()
        if self._sends is not None:
            await self._instance.unregister_producer(self._group)

    def _begin(self, message: Message) -> None:
        task = asyncio.ensure_future(self._send(message))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._under_way -= 1

    async def _send(self, message: Message) -> None:
        if self._sends is None:
            self._sends = self._producer()
        try:
            await self._sends.one(message, None, None, None, _SEND_SECONDS)
        except MqframeError as problem:
            log.warning("message of a hook was not sent", topic=message.topic, reason=str(problem))

    def _producer(self) -> Sends:
        settings = ProducerSettings()
        parts = ProducerParts(
            self._group,
            settings,
            selector=None,
            send_hooks=(),
            forbidden_hooks=(),
            rpc_hooks=(),
            plugins=None,
        )
        instance = self._instance
        instance.register_producer(self._group)
        port = AsyncPort(instance, self._clock, settings.default_topic, settings.default_topic_queues)
        sender = parts.sender(
            port, self._clock, random.Random(), instance.ip, vip=instance.settings.vip_channel
        )
        room = AsyncRoom(Budget(SENDS_MAX, settings.in_flight_bytes_max), self._clock)
        return Sends(parts, sender, room)


class AttachedHooks:
    """The hooks of a running client that want a port."""

    def __init__(
        self, hooks: Sequence[Hook], instance: ClientInstance, clock: LoopClock, group: str, kind: str
    ) -> None:
        self._hooks = [hook for hook in hooks if _wants_port(hook)]
        self._port = ClientHookPort(instance, clock, group, kind) if self._hooks else None
        for hook in self._hooks:
            assert self._port is not None
            attach_hook(hook, self._port)

    async def stop(self) -> None:
        """Let them hand over what is left, and send it."""
        for hook in self._hooks:
            detach_hook(hook)
        if self._port is not None:
            await self._port.close()


def _wants_port(hook: Hook) -> bool:
    kind = SendHook if isinstance(hook, SendHook) else ConsumeHook
    return type(hook).attach is not kind.attach
