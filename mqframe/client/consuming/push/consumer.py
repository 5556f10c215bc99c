"""The push consumer: listeners are called with the messages of their topics (system.md §5, §6).

consumer = AsyncPushConsumer("billing", nameserver="127.0.0.1:9876")

@consumer.on("orders", "paid || refunded")
async def handle(messages, context):
    return ConsumeResult.SUCCESS

await consumer.run()
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from mqframe.client.consume_from import beginning
from mqframe.client.consumer_settings import ConsumerSettings
from mqframe.client.identity import consumer_client
from mqframe.client.instance import ClientInstance
from mqframe.client.listener import ListenerFunction, Subscription, subscription
from mqframe.client.membership import ConsumerPlan, Membership
from mqframe.client.offset_choice import OffsetChoice
from mqframe.client.settings import ClientSettings
from mqframe.core.bodies import ConsumerData
from mqframe.core.consume_rules import MessageModel
from mqframe.core.errors import ClosedError, FixError
from mqframe.core.message import MessageQueue
from mqframe.core.message_choice import Sql
from mqframe.core.topics import check_group, check_topic, retry_topic
from mqframe.hooks.interfaces import AllocationStrategy, ConsumeHook
from mqframe.hooks.manager import PluginManager, default_manager
from mqframe.net.clock import LoopClock, SystemClock
from mqframe.net.settings import NetSettings

L = TypeVar("L", bound=ListenerFunction)


class AsyncPushConsumer:
    """A member of the consumer group `group`, on the running asyncio loop.

    `allocate`: name, class or object of the allocation strategy, `allocate_options` its options.
    `ordered`: the messages of a queue are handed to listeners one batch after the other, and what fails is
    tried again in its place. `broadcasting`: every member gets every message, and failed ones are dropped.
    `consume_from`: where queues begin that the group has no offset of: "last", "first", or a moment
    (`datetime`, or ms since 1970).
    `offset_store`: name, class or object; by default "remote", and "local" when broadcasting.
    `consume_hooks`, `rpc_hooks`: names, classes or objects. `settings`, `client`, `net`: everything else.
    `instance`: a started client instance to share; it is left running. `clock`, `plugins`: for tests.

    What is not installed or not legal raises a `FixError` here, before anything is started.
    """

    def __init__(
        self,
        group: str,
        *,
        nameserver: str = "",
        allocate: object = "averagely",
        allocate_options: object = None,
        broadcasting: bool = False,
        ordered: bool = False,
        consume_from: str | int | datetime = "last",
        offset_store: object = None,
        offset_store_options: object = None,
        consume_hooks: Sequence[object] = (),
        rpc_hooks: Sequence[object] = (),
        settings: ConsumerSettings | None = None,
        client: ClientSettings | None = None,
        net: NetSettings | None = None,
        instance: ClientInstance | None = None,
        clock: LoopClock | None = None,
        plugins: PluginManager | None = None,
    ) -> None:
        check_group(group)
        self.group = group
        self.model = MessageModel.BROADCASTING if broadcasting else MessageModel.CLUSTERING
        self.ordered = ordered
        self.settings = settings or ConsumerSettings()
        self._begin = beginning(consume_from)
        self._client = consumer_client(client, nameserver, broadcasting=broadcasting)
        self._net = net
        self._clock: LoopClock = clock or SystemClock()
        self._plugins = plugins or default_manager()
        self._strategy: AllocationStrategy = self._plugins.create("allocation", allocate, allocate_options)
        self._hooks: tuple[ConsumeHook, ...] = self._plugins.create_all("consume_hook", consume_hooks)
        self._rpc_hooks = self._plugins.create_all("rpc_hook", rpc_hooks)
        self._store = OffsetChoice(
            self._plugins,
            offset_store,
            offset_store_options,
            self.settings.offset_directory,
            broadcasting=broadcasting,
        )
        self._shared = instance
        self._subscriptions: dict[str, Subscription] = {}
        self._running: Membership | None = None
        self._suspended = False
        self._stopped = False
        self._stop_wanted = asyncio.Event()

    # Subscriptions

    def on(
        self, topic: str, expression: str | Sql = "*", *, batch_max: int | None = None
    ) -> Callable[[L], L]:
        """Decorator: call the function with the messages of `topic` that `expression` wants (`subscribe`)."""

        def take(function: L) -> L:
            self.subscribe(topic, expression, function, batch_max=batch_max)
            return function

        return take

    def subscribe(
        self,
        topic: str,
        expression: str | Sql,
        listener: ListenerFunction,
        *,
        batch_max: int | None = None,
    ) -> None:
        """Have `listener(messages, context)` called with messages of `topic`.

        `expression`: "*", tags joined by "||", or `Sql`. `listener` gives a `ConsumeResult`; anything else,
        and an exception, counts as RECONSUME_LATER. It may be an `async def`, which runs on the loop, or a
        plain function, which runs in a thread. `batch_max`: messages in one call at most, by default
        `consume_message_batch_max_size`. A second subscription of a topic replaces the first.
        """
        check_topic(topic)
        size = self.settings.consume_message_batch_max_size if batch_max is None else batch_max
        before = self._subscriptions.get(topic)
        version = self._clock.now_ms()
        if before is not None:
            version = max(version, before.version + 1)
        self._subscriptions[topic] = subscription(topic, expression, listener, size, version)
        self._subscriptions_changed()

    def unsubscribe(self, topic: str) -> None:
        """Give `topic` up. Its queues are committed and go to other members."""
        if self._subscriptions.pop(topic, None) is not None:
            self._subscriptions_changed()

    def suspend(self) -> None:
        """Pull nothing until `resume`; what was pulled is still consumed, and the queues are kept."""
        self._suspended = True
        if self._running is not None:
            self._running.pulls.suspend()

    def resume(self) -> None:
        """Pull again."""
        self._suspended = False
        if self._running is not None:
            self._running.pulls.resume()

    @property
    def queues(self) -> list[MessageQueue]:
        """The queues of subscribed topics that this member owns now, sorted."""
        if self._running is None:
            return []
        hidden = retry_topic(self.group)
        return [queue for queue in self._running.pulls.queues if queue.topic != hidden]

    @property
    def client_id(self) -> str:
        """What this member is called in its group. Known once it was started."""
        if self._running is None:
            raise ClosedError(f"the consumer of group {self.group} is not running")
        return self._running.instance.client_id

    # Running

    async def start(self) -> None:
        """Join the group. Raises `FixError` when there is no subscription, `ClosedError` after `stop`."""
        if self._stopped or self._running is not None:
            state = "was stopped" if self._stopped else "is running"
            raise ClosedError(f"the consumer of group {self.group} {state}; make a new one")
        if not self._subscriptions:
            raise FixError(f"the consumer of group {self.group} has no subscription; use `on` or `subscribe`")
        instance = self._shared or ClientInstance.connect(
            self._client, self._clock, self._net, rpc_hooks=self._rpc_hooks
        )
        if self._shared is None:
            await instance.start()
        running = self._running = Membership(self._plan(), instance)
        if self._suspended:
            running.pulls.suspend()
        try:
            await running.join(self)
        except BaseException:
            self._running = None
            await running.leave(0.0)
            if self._shared is None:
                await instance.stop()
            raise

    async def stop(self) -> None:
        """Leave: pull nothing more, let running listeners finish, commit, unregister. Twice does no harm."""
        self._stopped = True
        running, self._running = self._running, None
        if running is not None:
            await running.leave(self.settings.stop_seconds)
            if self._shared is None:
                await running.instance.stop()
        self._stop_wanted.set()

    def end(self) -> None:
        """Make `run` return. What a listener calls, since `stop` would wait for it."""
        self._stop_wanted.set()

    async def run(self) -> None:
        """`start`, work until SIGTERM, SIGINT, `end`, `stop` from elsewhere or cancellation, then `stop`."""
        loop = asyncio.get_running_loop()
        handled = []
        for number in (signal.SIGTERM, signal.SIGINT):
            try:
                loop.add_signal_handler(number, self._stop_wanted.set)
                handled.append(number)
            except (ValueError, RuntimeError, NotImplementedError):
                break  # not the main thread: whoever runs the loop there sees to signals
        try:
            await self.start()
            await self._stop_wanted.wait()
        finally:
            await self.stop()
            for number in handled:
                loop.remove_signal_handler(number)

    async def __aenter__(self) -> AsyncPushConsumer:
        await self.start()
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.stop()

    # What the client instance asks

    def consumer_data(self) -> ConsumerData:
        """What brokers are told with every heartbeat; the group's retry topic belongs to it in clustering."""
        running = self._running
        all_wanted = self._subscriptions.values() if running is None else running.wanted()
        wanted = sorted(all_wanted, key=lambda each: each.topic)
        return ConsumerData(
            self.group,
            self._begin[0].value,
            message_model=self.model.value,
            subscription_data_set=[each.wanted.subscription(each.topic, each.version) for each in wanted],
        )

    def on_members_changed(self) -> None:
        """A broker says that members came or went."""
        if self._running is not None:
            self._running.rebalance.soon()

    def on_routes_changed(self) -> None:
        """Queues or brokers of a topic in use changed."""
        if self._running is not None:
            self._running.routes_changed()

    def _plan(self) -> ConsumerPlan:
        return ConsumerPlan(
            group=self.group,
            model=self.model,
            begin=self._begin,
            settings=self.settings,
            persist_seconds=self._client.persist_offsets_seconds,
            clock=self._clock,
            strategy=self._strategy,
            hooks=self._hooks,
            make_store=lambda instance: self._store.make(instance, self.group),
            subscriptions=self._subscriptions,
            ordered=self.ordered,
        )

    def _subscriptions_changed(self) -> None:
        if self._running is not None:
            self._running.subscriptions_changed()
