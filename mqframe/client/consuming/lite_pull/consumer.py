"""The lite pull consumer: the application asks for messages when it wants some, and moves in queues freely.

    async with AsyncLitePullConsumer("billing", nameserver="127.0.0.1:9876") as consumer:
        consumer.subscribe("orders", "paid || refunded")
        while messages := await consumer.poll():
            ...

Source: DefaultLitePullConsumer.java.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from types import TracebackType

from mqframe.client.consume_from import beginning
from mqframe.client.identity import consumer_client
from mqframe.client.instance import ClientInstance
from mqframe.client.interests import Expression, Interests
from mqframe.client.lite_membership import LiteMembership, LitePlan
from mqframe.client.lite_pull_options import AssignmentListener, QueuesListener
from mqframe.client.lite_pull_settings import LitePullSettings
from mqframe.client.offset_choice import OffsetChoice
from mqframe.client.offsets import QueueOffsets
from mqframe.client.queue_watch import QueueWatch
from mqframe.client.settings import ClientSettings
from mqframe.core.bodies import ConsumerData
from mqframe.core.consume_rules import MessageModel
from mqframe.core.errors import ClosedError, FixError
from mqframe.core.message import MessageQueue, ReceivedMessage
from mqframe.core.topics import check_group, check_topic
from mqframe.hooks.interfaces import AllocationStrategy, ConsumeContext, ConsumeHook
from mqframe.hooks.isolate import after_consume, before_consume
from mqframe.hooks.manager import PluginManager, default_manager
from mqframe.net.clock import LoopClock, SystemClock
from mqframe.net.settings import NetSettings


class AsyncLitePullConsumer:
    """Messages on demand for the consumer group `group`, on the running asyncio loop.

    Either `subscribe` (queues are shared with the other members of the group, Java ones included) or `assign`
    (these queues, whatever others do); not both. `auto_commit`: a poll commits what earlier polls handed out,
    every `settings.auto_commit_seconds`, and so does a rebalance or `stop`; else only `commit` does. Several
    tasks may poll, but with `auto_commit` the poll of one counts the messages of the others as done with.

    `allocate`, `allocate_options`, `broadcasting`, `consume_from`, `offset_store`, `offset_store_options`,
    `consume_hooks`, `rpc_hooks`, `client`, `net`, `instance`, `clock`, `plugins`: as of `AsyncPushConsumer`.
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
        consume_from: str | int | datetime = "last",
        auto_commit: bool = True,
        offset_store: object = None,
        offset_store_options: object = None,
        consume_hooks: Sequence[object] = (),
        rpc_hooks: Sequence[object] = (),
        settings: LitePullSettings | None = None,
        client: ClientSettings | None = None,
        net: NetSettings | None = None,
        instance: ClientInstance | None = None,
        clock: LoopClock | None = None,
        plugins: PluginManager | None = None,
    ) -> None:
        check_group(group)
        self.group = group
        self.model = MessageModel.BROADCASTING if broadcasting else MessageModel.CLUSTERING
        self.auto_commit = auto_commit
        self.settings = settings or LitePullSettings()
        self._start_at = beginning(consume_from)
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
        self._interests = Interests(group, self._clock.now_ms)
        self._assignments = QueueWatch()
        self._topics = QueueWatch()
        self._running: LiteMembership | None = None
        self._stopped = False

    # What is wanted

    def subscribe(
        self, topic: str, expression: Expression = "*", on_assigned: AssignmentListener | None = None
    ) -> None:
        """Want the messages of `topic` that `expression` chooses, from the queues that a rebalance gives us.

        `expression`: "*", tags joined by "||", or `Sql`. `on_assigned(topic, all queues, our queues)`: called
        after each change of ours. A second subscription of a topic replaces the first. Raises `FixError`
        after `assign`.
        """
        self._interests.subscribe(topic, expression)
        self._assignments.put(topic, on_assigned)
        if self._running is not None:
            self._running.interests_changed()

    def unsubscribe(self, topic: str) -> None:
        """Give `topic` up. Its queues are committed and go to other members."""
        known = self._interests.unsubscribe(topic)
        self._assignments.put(topic, None)
        if known and self._running is not None:
            self._running.interests_changed()

    def assign(
        self,
        queues: Collection[MessageQueue],
        expression: Expression | Mapping[str, Expression] = "*",
    ) -> None:
        """Pull exactly `queues` from now on; nobody is asked whether another member has them.

        `expression`: what is wanted of them, or that by topic. Raises `FixError` after `subscribe`, and for
        no queues at all.
        """
        wish = self._interests.assign(queues, expression)
        if self._running is not None:
            self._running.assign(wish)

    async def on_queue_change(self, topic: str, listener: QueuesListener) -> None:
        """Have `listener(topic, queues)` called when `topic` gets other queues, as the route polls find.

        One listener a topic; the last one counts. Once started, raises `RouteError` for an unknown topic.
        """
        check_topic(topic)
        self._topics.put(topic, listener)
        if self._running is not None:
            self._topics.note(topic, await self.queues(topic))

    # Messages

    async def poll(self, timeout: float = 5.0, max_messages: int | None = None) -> list[ReceivedMessage]:
        """Messages of one queue in its order, as soon as there are some; empty after `timeout` seconds.

        `max_messages`: by default `settings.poll_messages_max`. Queues take turns. Raises `ClosedError` when
        the consumer does not run, `FixError` for numbers that make no sense.
        """
        running = self._needed()
        count = self.settings.poll_messages_max if max_messages is None else max_messages
        if timeout < 0 or count < 1:
            raise FixError(f"poll(timeout={timeout}, max_messages={max_messages}): at least 0 s, 1 message")
        running.settle()
        messages = await running.pulls.take(timeout, count)
        if messages and self._hooks:
            context = ConsumeContext(self.group, messages, messages[0].queue, self.client_id)
            before_consume(self._hooks, context)
            # Nobody tells what becomes of them, so that they were taken counts as success.
            context.outcome, context.success = "success", True
            after_consume(self._hooks, context)
        return messages

    def pause(self, queues: Collection[MessageQueue]) -> None:
        """Pull nothing more of `queues`; what was pulled of them is still handed out."""
        self._set_paused(queues, True)

    def resume(self, queues: Collection[MessageQueue]) -> None:
        """Pull `queues` again."""
        self._set_paused(queues, False)

    # Where it stands

    async def seek(self, queue: MessageQueue, offset: int) -> None:
        """Go on at `offset` of `queue`; what was pulled of it is forgotten, `commit` will store `offset`.

        Raises `FixError` when the queue is not ours (perhaps it has just gone to another member), or does not
        hold that offset.
        """
        running = self._needed()
        self._ours(running, queue)
        offsets = QueueOffsets(running.instance)
        lowest, end = await asyncio.gather(offsets.min_offset(queue), offsets.max_offset(queue))
        if not lowest <= offset <= end:
            raise FixError(f"offset {offset} is not in {queue}, which goes from {lowest} to {end}")
        self._go(running, queue, offset)

    async def seek_to_begin(self, queue: MessageQueue) -> None:
        """Go on at the oldest message of `queue` that there still is."""
        running = self._needed()
        self._ours(running, queue)
        self._go(running, queue, await QueueOffsets(running.instance).min_offset(queue))

    async def seek_to_end(self, queue: MessageQueue) -> None:
        """Go on at the next message that `queue` will get."""
        running = self._needed()
        self._ours(running, queue)
        self._go(running, queue, await QueueOffsets(running.instance).max_offset(queue))

    async def offset_for_timestamp(self, queue: MessageQueue, timestamp: int | datetime) -> int:
        """The offset of the first message of `queue` stored at `timestamp` (ms since 1970) or later."""
        at = int(timestamp.timestamp() * 1000) if isinstance(timestamp, datetime) else timestamp
        return await QueueOffsets(self._needed().instance).offset_at(queue, at)

    async def commit(self, offsets: Mapping[MessageQueue, int] | None = None) -> None:
        """Store how far the group is: `offsets` (of the next message to be handled), else past all that polls
        handed out. Raises `FixError` for a queue that is not ours; what the offset store raises."""
        await self._needed().commit(offsets)

    async def committed(self, queue: MessageQueue) -> int | None:
        """The offset that is stored for the group, `None` when there is none."""
        return await self._needed().committed(queue)

    async def queues(self, topic: str) -> list[MessageQueue]:
        """All queues of `topic` that can be read, sorted. Raises `RouteError`."""
        return list((await self._needed().instance.route(topic)).read_queues())

    @property
    def assignment(self) -> list[MessageQueue]:
        """The queues that are pulled now, sorted."""
        return self._running.pulls.queues if self._running is not None else []

    @property
    def paused(self) -> list[MessageQueue]:
        """Those of `assignment` that are paused, sorted."""
        if self._running is None:
            return []
        return sorted(position.queue for position in self._running.pulls.positions if position.paused)

    @property
    def client_id(self) -> str:
        """What this member is called in its group. Known once it was started."""
        return self._needed().instance.client_id

    # Running

    async def start(self) -> None:
        """Join the group and begin to pull. Raises `ClosedError` when it runs or was stopped."""
        if self._stopped or self._running is not None:
            state = "was stopped" if self._stopped else "is running"
            raise ClosedError(f"the consumer of group {self.group} {state}; make a new one")
        instance = self._shared or ClientInstance.connect(
            self._client, self._clock, self._net, rpc_hooks=self._rpc_hooks
        )
        if self._shared is None:
            await instance.start()
        running = self._running = LiteMembership(self._plan(), instance)
        try:
            wish = self._interests.queues
            await running.join(self, subscribed=wish is None)
            if wish is not None:
                running.assign(wish)
            for topic in self._topics.topics:
                self._topics.note(topic, await self.queues(topic))
        except BaseException:
            self._running = None
            await running.leave()
            if self._shared is None:
                await instance.stop()
            raise

    async def stop(self) -> None:
        """Pull nothing more, commit (with `auto_commit`), leave the group. Twice does no harm.

        What the last poll handed out counts as done with, so stop after it was handled. An `async with` block
        that ends with an error does not count it, and it is delivered again.
        """
        await self._stop(settled=True)

    async def __aenter__(self) -> AsyncLitePullConsumer:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop(settled=kind is None)

    async def _stop(self, *, settled: bool) -> None:
        self._stopped = True
        running, self._running = self._running, None
        if running is not None:
            if settled:
                running.settle()
            await running.leave()
            if self._shared is None:
                await running.instance.stop()

    # What the client instance asks

    def consumer_data(self) -> ConsumerData:
        """What brokers are told with every heartbeat; of assigned queues they need not know."""
        return ConsumerData(
            self.group,
            self._start_at[0].value,
            consume_type="CONSUME_ACTIVELY",
            message_model=self.model.value,
            subscription_data_set=self._interests.subscriptions(),
        )

    def on_members_changed(self) -> None:
        """A broker says that members came or went."""
        if self._running is not None and self._interests.queues is None:
            self._running.rebalance.soon()

    def on_routes_changed(self) -> None:
        """Queues or brokers of a topic in use changed."""
        self.on_members_changed()
        running = self._running
        if running is None:
            return
        for topic in self._topics.topics:
            route = running.instance.routes.known(topic)
            if route is not None and self._topics.note(topic, queues := list(route.read_queues())):
                running.instance.spawn(self._topics.tell(topic, queues))

    def _assignment_changed(self) -> None:
        running = self._running
        if running is None:
            return
        for topic in self._assignments.topics:
            mine = [queue for queue in running.pulls.queues if queue.topic == topic]
            route = running.instance.routes.known(topic)
            if route is not None and self._assignments.note(topic, mine):
                running.instance.spawn(self._assignments.tell(topic, list(route.read_queues()), mine))

    # Parts of the above

    def _plan(self) -> LitePlan:
        return LitePlan(
            group=self.group,
            model=self.model,
            begin=self._start_at,
            settings=self.settings,
            clock=self._clock,
            strategy=self._strategy,
            make_store=lambda instance: self._store.make(instance, self.group),
            interests=self._interests.by_topic,
            auto_commit=self.auto_commit,
            hooks=self._hooks,
            assignment_changed=self._assignment_changed,
        )

    def _needed(self) -> LiteMembership:
        if self._running is None:
            raise ClosedError(f"the consumer of group {self.group} is not running")
        return self._running

    def _set_paused(self, queues: Collection[MessageQueue], paused: bool) -> None:
        running = self._needed()
        for queue in queues:
            self._ours(running, queue)
        for queue in queues:
            position = running.pulls.position(queue)
            if position is not None:
                position.paused = paused
                if not paused:
                    running.pulls.wake(queue)

    def _ours(self, running: LiteMembership, queue: MessageQueue) -> None:
        if running.pulls.position(queue) is None:
            shared = self._interests.queues is None
            why = "; perhaps another member of the group has it now" if shared else ""
            raise FixError(f"{queue} is not assigned to this consumer{why}")

    def _go(self, running: LiteMembership, queue: MessageQueue, offset: int) -> None:
        # It may have gone while the broker was asked.
        if not running.pulls.seek(queue, offset):
            self._ours(running, queue)
