"""The port through which hooks send messages of their own, over the connections of the client they watch."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Final

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.sending.api import SendApi
from mqframe.client.sending.in_flight_limit import AsyncInFlightLimit
from mqframe.client.sending.producer_parts import ProducerParts
from mqframe.client.settings import ProducerSettings
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, CallTimeout, MqframeError
from mqframe.core.messages.message import Message
from mqframe.core.messages.names import GROUP_LENGTH_MAX
from mqframe.core.requests.nameserver import GetKvlistByNamespace
from mqframe.core.sending.in_flight import InFlightCount
from mqframe.core.wire import loose_json
from mqframe.core.wire.bodies import KVTable
from mqframe.hooks.interfaces import ConsumeHook, SendHook
from mqframe.hooks.isolate import attach_hook, detach_hook
from mqframe.log import get_logger
from mqframe.net.clock import Every, LoopClock, within

log = get_logger("client")

SENDS_MAX: Final = 256
"""Messages of hooks under way at once."""
CLOSE_SECONDS: Final = 5.0
"""Longest wait at the stop for messages under way."""
_SEND_SECONDS: Final = 5.0

Hook = SendHook | ConsumeHook


class ClientHookPort:
    """Sends as a producer group of its own, without hooks. Made and closed in the client's loop.

    `group`: the producer group; shortened where brokers would not take its name.
    """

    def __init__(self, instance: ClientInstance, clock: LoopClock, group: str) -> None:
        self._instance = instance
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._group = group[:GROUP_LENGTH_MAX]
        self._api: SendApi | None = None
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

    async def values(self, namespace: str) -> list[dict[str, str]]:
        """Raises `RetryError` when no name server answers."""
        from mqframe.client.connection.each_answer import each_answer  # few hooks read such values

        asked = {each: self._values(each, namespace) for each in self._instance.routes.nameservers}
        return await each_answer(asked, "values were not read", "no name server", self._group)

    async def _values(self, nameserver: str, namespace: str) -> dict[str, str]:
        try:
            answer = await self._instance.call(nameserver, GetKvlistByNamespace(namespace))
        except AnswerError as problem:
            if problem.code != ResponseCode.QUERY_NOT_FOUND:
                raise
            return {}
        return loose_json.decode(bytes(answer.body), KVTable).table

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
        if self._api is not None:
            await self._instance.unregister_producer(self._group)

    def _begin(self, message: Message) -> None:
        task = asyncio.ensure_future(self._send(message))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._under_way -= 1

    async def _send(self, message: Message) -> None:
        if self._api is None:
            self._api = self._producer()
        try:
            await self._api.one(message, None, None, None, _SEND_SECONDS)
        except MqframeError as problem:
            log.warning("message of a hook was not sent", topic=message.topic, reason=str(problem))

    def _producer(self) -> SendApi:
        settings = ProducerSettings()
        parts = ProducerParts(self._group, settings)
        self._instance.register_producer(self._group)
        pipeline = parts.loop_pipeline(self._instance, self._clock, random.Random())
        in_flight = AsyncInFlightLimit(InFlightCount(SENDS_MAX, settings.in_flight_bytes_max), self._clock)
        return SendApi(parts, pipeline, in_flight)


class AttachedHooks:
    """The hooks of a running client that want a port; those that send as the same producers share one.

    `group`: the group that is watched; `kind`: how it is watched, a word that goes into the producers' name.
    """

    def __init__(
        self, hooks: Sequence[Hook], instance: ClientInstance, clock: LoopClock, group: str, kind: str
    ) -> None:
        self._hooks = [(hook, f"{hook.producer_group}-{kind}-{group}") for hook in hooks if _wants_port(hook)]
        names = {name for _, name in self._hooks}
        self._ports = {name: ClientHookPort(instance, clock, name) for name in names}

    async def start(self) -> None:
        """Hand the hooks their ports, one after the other."""
        for hook, name in self._hooks:
            await attach_hook(hook, self._ports[name])

    async def stop(self) -> None:
        """Let them hand over what is left, and send it."""
        for hook, _ in self._hooks:
            detach_hook(hook)
        for port in self._ports.values():
            await port.close()


def _wants_port(hook: Hook) -> bool:
    kind = SendHook if isinstance(hook, SendHook) else ConsumeHook
    return type(hook).attach is not kind.attach
