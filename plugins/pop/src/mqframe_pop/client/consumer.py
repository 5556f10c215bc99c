"""The simple consumer: take messages, acknowledge each, and brokers see to the rest.

    async with AsyncSimpleConsumer("billing", nameserver="127.0.0.1:9876") as consumer:
        consumer.subscribe("orders", "paid || refunded")
        for message in await consumer.receive(16, invisible_duration=30.0):
            ...
            await consumer.ack(message)

Brokers keep the progress of each message: one that is not acknowledged before its time is over is delivered
again, until the group's maximum of attempts makes it a dead letter. No queues are shared out, so any number
of members can work at once.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Awaitable, Coroutine, Sequence
from typing import Any, NamedTuple, TypeVar

from mqframe.client.connection.identity import with_nameserver
from mqframe.client.connection.instance import ClientInstance, ConsumerRegistration
from mqframe.client.connection.lifecycle import AsyncClient, InstanceLease, phase_of
from mqframe.client.consuming.group.joining import check_filters, look_up
from mqframe.client.consuming.group.subscriptions import Expression, Subscriptions
from mqframe.client.settings import ClientSettings
from mqframe.core.cluster.client_bodies import ConsumerData
from mqframe.core.consuming.consume_rules import MessageModel
from mqframe.core.errors import ClosedError, ConnectionLost, FixError, MqframeError
from mqframe.core.messages.names import check_group
from mqframe.hooks.manager import PluginManager
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock, SystemClock
from mqframe.net.settings import NetSettings
from mqframe_pop.client.message_loops import MessageLoops
from mqframe_pop.client.pop_beginnings import PopBeginnings
from mqframe_pop.client.pop_calls import PopCalls
from mqframe_pop.client.pop_sources import PopSource, PopSources
from mqframe_pop.rules.popped import PoppedMessage, PopResult

T = TypeVar("T")
log = get_logger("client")

MESSAGES_MAX = 32
"""Messages that one pop may ask for (PopMessageProcessor.java)."""
TURN_SECONDS = 1.0
"""How long one broker may keep `receive` waiting while there are others, or other topics."""
PAUSE_SECONDS = 0.1
"""Between two rounds in which brokers answered at once with nothing."""


class _Options(NamedTuple):
    messages_max: int
    seconds: float
    attempt_id: str | None


class AsyncSimpleConsumer(AsyncClient):
    """A member of the consumer group `group` whose progress brokers keep.

    `await_duration`: seconds that `receive` waits for the first message. `consume_from`: where a group begins
    that is new to a topic, "first", or "last": what comes once it was started. `ordered`: messages of a queue
    come in its order, and the queue is blocked until those before were acknowledged or their time was over.
    `rpc_hooks`, `client`, `net`, `plugins`: as of `AsyncPushConsumer`.

    Only here: `instance` and `clock`, as of `AsyncPushConsumer`.
    """

    _section = "simple"
    group: str
    """The consumer group."""

    def __init__(
        self,
        group: str,
        *,
        nameserver: str = "",
        await_duration: float = 20.0,
        consume_from: str = "last",
        ordered: bool = False,
        rpc_hooks: Sequence[object] = (),
        client: ClientSettings | None = None,
        net: NetSettings | None = None,
        instance: ClientInstance | None = None,
        clock: LoopClock | None = None,
        plugins: PluginManager | None = None,
    ) -> None:
        check_group(group)
        if consume_from not in ("last", "first"):
            raise FixError(f'consume_from {consume_from!r} is not "last" or "first"; a pop knows no others')
        _check_wait(await_duration)
        self.group = group
        self._await_duration = await_duration
        self._from = consume_from
        self._ordered = ordered
        self._clock: LoopClock = clock or SystemClock()
        hooks = (plugins or PluginManager()).create_all("rpc_hook", rpc_hooks)
        self._lease = InstanceLease(instance, with_nameserver(client, nameserver), self._clock, net, hooks)
        self._subscriptions = Subscriptions(group, self._clock.now_ms)
        self._instance: ClientInstance | None = None
        self._sources = PopSources(
            group, self._subscriptions, lambda: self._instance, self._clock, await_duration
        )
        self._calls: PopCalls | None = None
        self._loops: MessageLoops | None = None
        self._begun: PopBeginnings | None = None
        self._announcing: set[asyncio.Task[None]] = set()
        self._stopped = False
        self._turn = 0
        self._kept: list[PoppedMessage] = []

    # Subscriptions

    def subscribe(self, topic: str, expression: Expression = "*") -> None:
        """Receive what `expression` chooses of `topic`: "*", tags joined by "||", or `Sql`.

        A second subscription of a topic replaces the first.
        """
        self._subscriptions.subscribe(topic, expression)
        if self._instance is not None and self._begun is not None:
            announcing = self._instance.spawn(self._announce(self._instance, self._begun, topic))
            self._announcing.add(announcing)
            announcing.add_done_callback(self._announcing.discard)

    def unsubscribe(self, topic: str) -> None:
        """Receive nothing more of `topic`. What was received can still be acknowledged."""
        if self._subscriptions.unsubscribe(topic) and self._instance is not None:
            self._instance.spawn(self._instance.heartbeat_now())

    @property
    def topics(self) -> list[str]:
        """The subscribed topics, sorted."""
        return sorted(self._subscriptions.by_topic)

    # Messages

    async def receive(
        self,
        max_messages: int = 16,
        invisible_duration: float = 30.0,
        await_duration: float | None = None,
    ) -> list[PoppedMessage]:
        """Up to `max_messages` (32 at most) messages of one topic from one broker, hidden from all others
        of the group for `invisible_duration` seconds; empty when none came within `await_duration`, by
        default that of the consumer.

        Topics and brokers take turns; all are asked before one is waited for. What a broker hands out to one
        that was cancelled while it waited goes to the next, as long as its time is not over. Brokers that
        cannot be asked are waited for, at most `client.patience_seconds`.
        Raises `FixError` without subscription and for numbers that make no sense, `RouteError` when no topic
        was there within `await_duration`, and what the last broker's call raised when none could be asked.
        """
        calls = self._needed()
        assert self._instance is not None
        if not 1 <= max_messages <= MESSAGES_MAX:
            raise FixError(f"max_messages is {max_messages}; 1 to {MESSAGES_MAX} can be received at once")
        if invisible_duration < 0.001:
            raise FixError(f"invisible_duration is {invisible_duration} s; it must be more than 0")
        seconds = self._await_duration if await_duration is None else await_duration
        _check_wait(seconds)
        if self._kept and (kept := self._take_kept(max_messages)):
            return kept
        options = _Options(max_messages, invisible_duration, uuid.uuid4().hex if self._ordered else None)
        end = self._clock.monotonic() + seconds
        if self._announcing:  # a pop that comes first would begin where the broker says
            await asyncio.wait(self._announcing)

        async def look() -> list[PoppedMessage]:
            return await self._guarded(self._look(calls, options, seconds, end))

        # What a pop took whose answer was lost comes again when its time is over.
        return await self._instance.patience.through(look)

    def messages(
        self, *, max_messages: int = 16, invisible_duration: float = 30.0, auto_ack: bool = True
    ) -> AsyncGenerator[PoppedMessage, None]:
        """Message by message, until the consumer is stopped; `async for message in consumer` is this with
        defaults.

        Up to `max_messages` (32 at most) are fetched at a time. Each is hidden from all others of the group
        for `invisible_duration` seconds; what waits for its turn gets more in time. With `auto_ack` the one
        that the body of the loop is at does so, too, and is acknowledged when the next one is asked for;
        without, call `ack`, or have it come again when its time is over. The message at which a loop is left
        is not acknowledged, and those behind it go back at once. Servers that do not answer are waited for.
        Raises `FixError` and `AccessError` as `receive` does, and `ClosedError` unless the consumer runs.
        """
        self._needed()
        assert self._loops is not None

        async def receive() -> list[PoppedMessage]:
            return await self.receive(max_messages, invisible_duration)

        return self._loops.messages(receive, invisible_duration, auto_ack=auto_ack)

    def __aiter__(self) -> AsyncGenerator[PoppedMessage, None]:
        """`messages` with its defaults."""
        return self.messages()

    async def ack(self, message: PoppedMessage) -> None:
        """The message is done. Raises `ReceiptError` when it was acknowledged before or its time is over."""
        await self._guarded(self._needed().acknowledge(message))

    async def ack_batch(self, messages: Sequence[PoppedMessage]) -> None:
        """The messages are done: one request for each broker.

        Raises `ReceiptError` for those that are not ours any more, after the others were acknowledged.
        """
        await self._guarded(self._needed().acknowledge_all(messages))

    async def change_invisible_duration(self, message: PoppedMessage, seconds: float) -> str:
        """Hide the message for `seconds` from now on; its new receipt handle, which it carries already.

        More time for slow work, or less to have it delivered again soon. Raises `ReceiptError` when it was
        acknowledged before or its time is over.
        """
        if seconds < 0.001:
            raise FixError(f"a message cannot be hidden for {seconds} s; it must be more than 0")
        return await self._guarded(self._needed().change_invisible_time(message, seconds))

    @property
    def client_id(self) -> str:
        """What this member is called in its group. Known once it was started."""
        self._needed()
        assert self._instance is not None
        return self._instance.client_id

    # Running

    async def start(self) -> None:
        """Join the group. Raises `ClosedError` after `stop`, `RouteError` when no name server answers within
        `client.patience_seconds`, `AnswerError` when a broker refuses an expression. Twice does no harm."""
        if self._stopped:
            raise ClosedError(f"the consumer of group {self.group} was stopped; make a new one")
        if self._instance is not None:
            return
        instance = await self._lease.open()
        begun = PopBeginnings(self.group, instance, last=self._from == "last")

        async def look() -> None:
            await look_up(instance, self.group, self.topics)
            await check_filters(instance, self.group, self._subscriptions.by_topic.values())
            await begun.find(self.topics)

        try:
            await instance.patience.through(look)
        except BaseException:
            await self._lease.close(instance)
            raise
        self._instance, self._begun = instance, begun
        first = 0 if self._from == "first" else 1
        self._calls = PopCalls(self.group, instance, self._clock, init_mode=first, ordered=self._ordered)
        self._loops = MessageLoops(self.group, instance, self._calls, self._clock)
        # Members do not share queues out, and every `receive` looks at the routes.
        instance.register_consumer(self.group, ConsumerRegistration(self._heartbeat_data))
        await instance.heartbeat_now()
        await begun.keep()

    async def stop(self) -> None:
        """Leave the group. What was received and not acknowledged comes again when its time is over. Twice
        does no harm."""
        if self._instance is not None:
            self._instance.remoting.check_loop()
        self._stopped = True
        if self._loops is not None:
            await self._loops.stop()
        instance, self._instance = self._instance, None
        self._calls = None
        if instance is not None:
            await instance.unregister_consumer(self.group)
            await self._lease.close(instance)

    # Parts of the above

    def _phase(self) -> str:
        return phase_of(running=self._calls is not None, stopped=self._stopped)

    def _heartbeat_data(self) -> ConsumerData:
        return ConsumerData(
            self.group,
            consume_type="CONSUME_ACTIVELY",
            message_model=MessageModel.CLUSTERING.value,
            subscription_data_set=self._subscriptions.subscriptions(),
        )

    async def _look(
        self, calls: PopCalls, options: _Options, seconds: float, end: float
    ) -> list[PoppedMessage]:
        """The first messages that there are until `end`, which is so many `seconds` from the beginning."""
        sources, missing = await self._sources.find(end)
        # All are asked before one is waited for.
        alone = len(sources) == 1 and not missing
        wait = min(seconds, max(0.0, end - self._clock.monotonic())) if alone else 0.0
        while True:
            began = self._clock.monotonic()
            messages = await self._ask_in_turn(calls, sources, options, wait, end)
            now = self._clock.monotonic()
            if messages or now >= end:
                return messages
            if wait and now - began < PAUSE_SECONDS:
                await self._clock.sleep(min(PAUSE_SECONDS, end - now))
            if missing:
                sources, missing = await self._sources.find(end)
            alone = len(sources) == 1 and not missing
            wait = seconds if alone else TURN_SECONDS

    async def _ask_in_turn(
        self, calls: PopCalls, sources: Sequence[PopSource], options: _Options, wait: float, end: float
    ) -> list[PoppedMessage]:
        """The messages of the first that has some. Raises what the last raised when all failed."""
        failed: MqframeError | None = None
        failures = 0
        for _ in sources:
            source = sources[self._turn % len(sources)]
            self._turn += 1
            left = max(0.0, end - self._clock.monotonic())
            if wait and not left:
                break
            topic, broker = source.topic, source.broker_name
            subscription = self._subscriptions.by_topic.get(topic)
            if subscription is None:
                continue  # given up meanwhile
            try:
                found = await self._kept_when_late(
                    calls.pop(
                        topic,
                        broker,
                        subscription.filter,
                        count_max=options.messages_max,
                        invisible_seconds=options.seconds,
                        wait_seconds=min(wait, left),
                        attempt_id=options.attempt_id,
                    )
                )
            except MqframeError as problem:
                if self._stopped:
                    raise  # it is our own end of the connection
                calls.outages.note(
                    "pop failed", broker, problem, group=self.group, topic=topic, broker=broker
                )
                failed, failures = problem, failures + 1
                continue
            calls.outages.over("pop failed", broker)
            if found.messages:
                return found.messages
        if failed is not None and failures == len(sources):
            raise failed
        return []

    async def _kept_when_late(self, work: Coroutine[Any, Any, PopResult]) -> PopResult:
        """The result of a pop. When nobody waits for it any more, its messages go to the next `receive`."""
        popping = asyncio.ensure_future(work)
        try:
            return await asyncio.shield(popping)
        except asyncio.CancelledError:
            popping.add_done_callback(self._keep)
            raise

    def _keep(self, popped: asyncio.Task[PopResult]) -> None:
        if not popped.cancelled() and popped.exception() is None:
            self._kept += popped.result().messages

    def _take_kept(self, count_max: int) -> list[PoppedMessage]:
        now = self._clock.monotonic()
        kept = [message for message in self._kept if now < message.deadline]
        self._kept = kept[count_max:]
        return kept[:count_max]

    async def _announce(self, instance: ClientInstance, begun: PopBeginnings, topic: str) -> None:
        try:
            await look_up(instance, self.group, [topic])
            await begun.find([topic])
        except MqframeError as problem:
            log.warning("topic was not looked up", group=self.group, topic=topic, reason=str(problem))
        await instance.heartbeat_now()
        await begun.keep()

    async def _guarded(self, work: Awaitable[T]) -> T:
        try:
            return await work
        except ConnectionLost as problem:
            if self._stopped:
                raise ClosedError(f"the consumer of group {self.group} was stopped") from problem
            raise

    def _needed(self) -> PopCalls:
        if self._calls is None:
            raise ClosedError(f"the consumer of group {self.group} is not running")
        return self._calls


def _check_wait(seconds: float) -> None:
    if not 0 <= seconds <= 300:
        raise FixError(f"await_duration is {seconds} s; 0 to 300 can be waited")
