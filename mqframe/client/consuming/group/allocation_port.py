"""What allocation strategies of members may look at: lags of brokers, and notes that name servers keep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from mqframe.client.connection.each_answer import each_answer
from mqframe.client.connection.instance import ClientInstance
from mqframe.core.clock import Timer
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.bodies import ConsumeStats
from mqframe.core.errors import AnswerError, MqframeError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.requests.admin import GetConsumeStats
from mqframe.core.requests.fields import decode_fields
from mqframe.core.requests.nameserver import GetKvConfig, KvAnswer, PutKvConfig
from mqframe.core.wire import loose_json
from mqframe.hooks.interfaces import PREPARE_SECONDS_MAX, AllocationPort, AllocationStrategy
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock, within

NAMESPACE: Final = "MQFRAME_ALLOCATION"
"""Where name servers keep the notes; their keys begin with the group's name and a slash."""
log = get_logger("client")


class GroupPort(AllocationPort):
    """The port of one member of `group`.

    `again`: called when the queues are to be shared anew; `None`: this is a preview, which changes nothing.
    """

    def __init__(
        self, group: str, instance: ClientInstance, clock: LoopClock, again: Callable[[], object] | None
    ) -> None:
        self._group = group
        self._instance = instance
        self._clock = clock
        self._again = again
        self._timer: tuple[float, Timer] | None = None

    @property
    def client_id(self) -> str:
        """Which member asks."""
        return self._instance.client_id

    @property
    def clock(self) -> LoopClock:
        """The member's clock."""
        return self._clock

    @property
    def preview(self) -> bool:
        """Whether nothing is changed."""
        return self._again is None

    async def lags(self, topic: str) -> dict[MessageQueue, int]:
        """Of all brokers that have the topic and answer. Raises `RetryError` when none does."""
        route = await self._instance.route(topic)
        addresses = {name: route.any_address(name) for name in sorted(route.addresses())}
        asked = {name: self._lags(name, address, topic) for name, address in addresses.items() if address}
        found: dict[MessageQueue, int] = {}
        told = "lag of a group was not told"
        for lags in await each_answer(asked, told, f"topic {topic}: no broker", self._group):
            found |= lags
        return found

    async def _lags(self, broker: str, address: str, topic: str) -> dict[MessageQueue, int]:
        answer = await self._instance.call(address, GetConsumeStats(self._group, topic))
        table = loose_json.decode(bytes(answer.body), ConsumeStats).offset_table
        return {
            MessageQueue(queue.topic, queue.broker_name or broker, queue.queue_id): max(
                0, each.broker_offset - each.consumer_offset
            )
            for queue, each in table.items()
            if queue.topic == topic
        }

    async def notes(self, key: str) -> list[str]:
        """What each name server keeps, "" where it keeps none. Raises `RetryError` when none answers."""
        request = GetKvConfig(NAMESPACE, f"{self._group}/{key}")
        asked = {address: self._note(address, request) for address in self._instance.routes.nameservers}
        return await each_answer(asked, "note was not read", "no name server", self._group)

    async def _note(self, address: str, request: GetKvConfig) -> str:
        try:
            answer = await self._instance.call(address, request)
        except AnswerError as problem:
            if problem.code != ResponseCode.QUERY_NOT_FOUND:
                raise
            return ""
        return decode_fields(answer.ext, KvAnswer).value or ""

    async def write_note(self, key: str, value: str) -> None:
        """Tell all name servers. Raises `RetryError` when none took it."""
        if self.preview:
            return
        request = PutKvConfig(NAMESPACE, f"{self._group}/{key}", value)
        call = self._instance.call
        asked = {address: call(address, request) for address in self._instance.routes.nameservers}
        await each_answer(asked, "note was not written", "no name server", self._group)

    def again_in(self, seconds: float) -> None:
        """Once, at the earliest of the times that were wished."""
        if self._again is None:
            return
        when = self._clock.monotonic() + max(0.0, seconds)
        if self._timer is not None:
            if self._timer[0] <= when:
                return
            self._timer[1].cancel()
        self._timer = when, self._clock.call_later(max(0.0, seconds), self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._again is not None:
            self._again()

    def stop(self) -> None:
        """Wish nothing more."""
        self._again = None
        if self._timer is not None:
            self._timer[1].cancel()


async def prepare(
    strategy: AllocationStrategy,
    port: GroupPort,
    group: str,
    topic: str,
    queues: Sequence[MessageQueue],
    clients: Sequence[str],
) -> Exception | None:
    """Let `strategy` look, for `PREPARE_SECONDS_MAX` at most; what went wrong, which is logged."""
    if not strategy.prepares or not queues or not clients:
        return None
    try:
        looking = strategy.prepare(port, group, topic, sorted(set(queues)), sorted(set(clients)))
        await within(port.clock, PREPARE_SECONDS_MAX, looking)
    except Exception as problem:  # isolation boundary: a strategy that cannot look decides all the same
        expected = isinstance(problem, MqframeError)
        log.warning(
            "allocation strategy could not look; it decides with what it knows",
            group=group,
            topic=topic,
            strategy=type(strategy).__qualname__,
            reason=str(problem),
            exc_info=None if expected else problem,
        )
        return problem
    return None
