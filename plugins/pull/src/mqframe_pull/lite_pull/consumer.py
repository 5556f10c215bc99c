"""The lite pull consumer: the application asks for messages when it needs some, and moves in queues freely.

    async with AsyncLitePullConsumer("billing", nameserver="127.0.0.1:9876") as consumer:
        consumer.subscribe("orders", "paid || refunded")
        while messages := await consumer.poll():
            ...

Source: DefaultLitePullConsumer.java.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Final

from mqframe.client.connection.identity import consumer_client
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.connection.lifecycle import InstanceLease
from mqframe.client.consuming.group.allocation import AllocationChoice
from mqframe.client.consuming.group.consumer import GroupConsumer, Pausable
from mqframe.client.consuming.group.group_offsets import OffsetChoice, beginning
from mqframe.client.consuming.group.offsets import AskedQueueOffsets
from mqframe.client.consuming.group.runtime import ConsumerRuntime
from mqframe.client.consuming.group.subscriptions import Expression, Subscriptions, SubscriptionTable
from mqframe.client.settings import ClientSettings
from mqframe.core.cluster.client_bodies import ConsumerData
from mqframe.core.consuming.consume_rules import MessageModel
from mqframe.core.errors import ClosedError, FixError
from mqframe.core.filtering.filter_expression import filter_of
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.core.messages.names import check_group, check_topic, is_pattern
from mqframe.core.moments import moment_ms
from mqframe.hooks.interfaces import ConsumeContext
from mqframe.hooks.isolate import after_each, before_each
from mqframe.hooks.manager import PluginManager
from mqframe.net.clock import LoopClock, SystemClock
from mqframe.net.settings import NetSettings
from mqframe_pull.lite_pull.assembly import LitePlan, lite_pull_runtime
from mqframe_pull.lite_pull.commits import PolledOffsets
from mqframe_pull.lite_pull.prefetch_buffer import PrefetchBuffer
from mqframe_pull.lite_pull.queue_watch import (
    AssignmentListener,
    QueuesListener,
    QueueWatch,
    RevocationListener,
    Revocations,
)
from mqframe_pull.settings import LitePullSettings

LOOP_SECONDS: Final = 60.0
"""For how long one poll of a loop waits; the loop goes on with the next."""


class AsyncLitePullConsumer(GroupConsumer):
    """Messages on demand for the consumer group `group`.

    Either `subscribe` (queues are shared with the other members of the group, Java ones included) or `assign`
    (these queues, whatever others do); not both. `auto_commit`: a poll commits what earlier polls handed out,
    every `settings.auto_commit_seconds`, and so does a rebalance or `stop`; else only `commit` does. Several
    tasks may poll, but with `auto_commit` the poll of one counts the messages of the others as done with.

    `allocate`, `allocate_options`, `broadcasting`, `consume_from`, `offset_store`, `offset_store_options`,
    `consume_hooks`, `rpc_hooks`, `client`, `net`, `plugins`: as of `AsyncPushConsumer`. What is not installed
    or not legal raises a `FixError` here, before anything is started.

    Only here: `instance` and `clock`, as of `AsyncPushConsumer`.
    """

    _section = "lite_pull"
    _plan: LitePlan
    _buffer: PrefetchBuffer  # from the start on
    _commits: PolledOffsets

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
        model = MessageModel.BROADCASTING if broadcasting else MessageModel.CLUSTERING
        clock, plugins = clock or SystemClock(), plugins or PluginManager()
        settings = settings or LitePullSettings()
        lease = InstanceLease(
            instance,
            consumer_client(client, nameserver, broadcasting=broadcasting),
            clock,
            net,
            plugins.create_all("rpc_hook", rpc_hooks),
        )
        self._subscriptions = Subscriptions(group, clock.now_ms)
        plan = LitePlan(
            group=group,
            model=model,
            begin=beginning(consume_from),
            clock=clock,
            allocation=AllocationChoice(plugins, allocate, allocate_options),
            hooks=plugins.create_all("consume_hook", consume_hooks),
            store=OffsetChoice(plugins, offset_store, offset_store_options, settings.offset_directory, model),
            settings=settings,
            subscriptions=SubscriptionTable(self._subscriptions.by_topic),
            assignment_changed=self._assignment_changed,
            revoked=self._revoke,
            auto_commit=auto_commit,
        )
        super().__init__(plan, lease)
        self._assignments = QueueWatch()
        self._revocations = Revocations(group, clock, settings.revoke_seconds)
        self._topics = QueueWatch()

    # Subscriptions

    def subscribe(
        self,
        topic: str,
        expression: Expression = "*",
        on_assigned: AssignmentListener | None = None,
        on_revoked: RevocationListener | None = None,
    ) -> None:
        """Subscribe what `expression` chooses of `topic`, from the queues that a rebalance assigns here.

        `topic`: or a pattern such as "orders-*", which means all topics that there are and that come later
        (`mqframe-plugin-steering`). `expression`: "*", tags joined by "||", or `Sql`. `on_assigned(topic, all
        queues, our queues)`: called after each change of ours. `on_revoked(topic, queues)`: awaited before we
        let go of `queues`, which a rebalance gave to other members, and at `stop`; polls return nothing of
        them meanwhile, and it may still `commit`. It is waited for within `settings.revoke_seconds`.
        A second subscription of a topic replaces the first. Raises `FixError` after `assign`.
        """
        if is_pattern(topic):
            self._refuse_after_assign()
            filter_of(expression)  # one that makes no sense is refused here
            self._follow(topic, lambda name: self.subscribe(name, expression, on_assigned, on_revoked))
            return
        self._subscriptions.subscribe(topic, expression)
        self._assignments.put(topic, on_assigned)
        self._revocations.put(topic, on_revoked)
        self._subscriptions_changed()

    def unsubscribe(self, topic: str) -> None:
        """Give `topic` up. Its queues are committed and go to other members."""
        if self._followed is not None and is_pattern(topic):
            self._followed.drop(topic)
        known = self._subscriptions.unsubscribe(topic)
        self._assignments.put(topic, None)
        self._revocations.put(topic, None)
        if known:
            self._subscriptions_changed()

    def assign(
        self,
        queues: Collection[MessageQueue],
        expression: Expression | Mapping[str, Expression] = "*",
    ) -> None:
        """Pull exactly `queues` from now on; nobody is asked whether another member has them.

        `expression`: their filter, or filters by topic. Raises `FixError` after `subscribe`, and for no
        queues at all.
        """
        if self._followed is not None:
            raise FixError(f"the consumer of group {self.group} uses `subscribe`, which excludes `assign`")
        queues = self._subscriptions.assign(queues, expression)
        if self._runtime is not None:
            self._runtime.assign(queues)

    async def on_queue_change(self, topic: str, listener: QueuesListener) -> None:
        """Have `listener(topic, queues)` called when `topic` gets other queues, as the route polls find.

        One listener a topic; the last one counts. Once started, raises `RouteError` for an unknown topic.
        """
        check_topic(topic)
        self._topics.put(topic, listener)
        if self._runtime is not None:
            self._topics.note(topic, await self.queues(topic))

    # Messages

    async def poll(self, timeout: float = 5.0, max_messages: int | None = None) -> list[ReceivedMessage]:
        """Messages of one queue in its order, as soon as there are some; empty after `timeout` seconds.

        `max_messages`: by default `settings.poll_messages_max`. Queues take turns. Raises `ClosedError` when
        the consumer does not run, `FixError` for numbers that make no sense, and `AccessError` in place of
        nothing when servers do not let its user read.
        """
        runtime = self._running()
        count = self._plan.settings.poll_messages_max if max_messages is None else max_messages
        if timeout < 0 or count < 1:
            raise FixError(f"poll(timeout={timeout}, max_messages={max_messages}): at least 0 s, 1 message")
        self._commits.settle()
        messages = await self._buffer.poll(timeout, count)
        if not messages and (refusal := runtime.instance.outages.take_refusal()):
            raise refusal
        hooks = self._plan.hooks
        if messages and hooks:
            context = ConsumeContext(self.group, messages, messages[0].queue, self.client_id)
            before_each(hooks, context)
            # Nobody says what becomes of them, so that they were polled counts as success.
            context.outcome, context.success = "success", True
            after_each(hooks, context)
        return messages

    async def __aiter__(self) -> AsyncGenerator[ReceivedMessage, None]:
        """Message by message, until the consumer is stopped: asking for the next is a poll of one message.

        So a message counts as done with when the next is asked for, or at `stop`; it does not when the loop
        ends with an error that the `async with` block around it lets through.
        """
        while True:
            try:
                messages = await self.poll(LOOP_SECONDS, 1)
            except ClosedError:
                if self._stopped:
                    return
                raise
            for message in messages:
                yield message

    def resume(self, what: Collection[Pausable]) -> None:
        """Pull again what `pause` was given."""
        self._set_paused(what, paused=False)

    # Where it stands

    async def seek(self, queue: MessageQueue, offset: int) -> None:
        """Go on at `offset` of `queue`; what was pulled of it is forgotten, `commit` will store `offset`.

        Raises `FixError` when the queue is not ours (perhaps it has just gone to another member), or does not
        hold that offset.
        """
        offsets = self._offsets_of(queue)
        lowest, end = await asyncio.gather(offsets.min_offset(queue), offsets.max_offset(queue))
        if not lowest <= offset <= end:
            raise FixError(f"offset {offset} is not in {queue}, which goes from {lowest} to {end}")
        self._go(queue, offset)

    async def seek_to_begin(self, queue: MessageQueue) -> None:
        """Go on at the oldest message of `queue` that there still is."""
        self._go(queue, await self._offsets_of(queue).min_offset(queue))

    async def seek_to_end(self, queue: MessageQueue) -> None:
        """Go on at the next message that `queue` will get."""
        self._go(queue, await self._offsets_of(queue).max_offset(queue))

    async def offset_for_timestamp(self, queue: MessageQueue, timestamp: int | datetime) -> int:
        """The offset of the first message of `queue` stored at `timestamp` or later.

        `timestamp`: a datetime with its zone, or ms since 1970. Raises `FixError` for another one.
        """
        at = moment_ms(timestamp, "timestamp")
        return await AskedQueueOffsets(self._running().instance).offset_at(queue, at)

    async def commit(self, offsets: Mapping[MessageQueue, int] | None = None) -> None:
        """Store how far the group is: `offsets` (of the next message to be handled), else past all that polls
        handed out. Raises `FixError` for a queue that is not ours; what the offset store raises."""
        self._running()
        await self._commits.commit(offsets)

    async def committed(self, queue: MessageQueue) -> int | None:
        """The offset that is stored for the group, `None` when there is none."""
        return await self._running().parts.offsets.committed(queue)

    async def queues(self, topic: str) -> list[MessageQueue]:
        """All queues of `topic` that can be read, sorted. Raises `RouteError`."""
        return list((await self._running().instance.route(topic)).read_queues())

    @property
    def assignment(self) -> list[MessageQueue]:
        """The queues that are pulled now, sorted."""
        return self._runtime.queues.queues if self._runtime is not None else []

    # Running

    async def start(self) -> None:
        """Join the group and begin to pull. Raises `ClosedError` after `stop`. Twice does no harm."""
        await self._join()

    async def stop(self) -> None:
        """Pull nothing more, commit (with `auto_commit`), leave the group. Twice does no harm.

        What the last poll handed out counts as done with, so stop after it was handled. An `async with` block
        that ends with an error does not count it, and it is delivered again.
        """
        await self._stop(settled=True)

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop(settled=kind is None)

    async def _stop(self, *, settled: bool) -> None:
        self._stopped = True
        if self._runtime is not None and self._revocations.topics:
            await self._runtime.parts.rebalance.stop()
            await self._revoke(self.assignment)
            for (
                topic
            ) in self._revocations.topics:  # they were told; a commit would come too late from here on
                self._revocations.put(topic, None)
        if settled and self._runtime is not None:
            self._commits.settle()
        await self._leave()

    # Parts of the above

    def _assemble(self, instance: ClientInstance) -> ConsumerRuntime:
        rebalances = self._subscriptions.queues is None
        self._buffer = PrefetchBuffer(self._plan.clock)
        runtime = lite_pull_runtime(self._plan, instance, self._buffer, rebalances=rebalances)
        self._commits = PolledOffsets(self._plan, runtime)
        return runtime

    async def _joined(self, runtime: ConsumerRuntime) -> None:
        if self._subscriptions.queues is not None:
            runtime.assign(self._subscriptions.queues)
        for topic in self._topics.topics:
            self._topics.note(topic, await self.queues(topic))

    async def _leave(self, seconds: float = 0.0) -> None:
        if self._runtime is not None:
            self._buffer.stop()
        await super()._leave(seconds)

    def _heartbeat_data(self) -> ConsumerData:
        return self._plan.heartbeat_data(self._subscriptions.subscriptions())

    def _routes_changed(self) -> None:
        super()._routes_changed()
        for topic, queues in self._known(self._topics):
            if self._topics.note(topic, queues):
                self._running().instance.spawn(self._topics.notify(topic, queues))

    def _assignment_changed(self) -> None:
        for topic, queues in self._known(self._assignments):
            mine = [queue for queue in self.assignment if queue.topic == topic]
            if self._assignments.note(topic, mine):
                self._running().instance.spawn(self._assignments.notify(topic, queues, mine))

    async def _revoke(self, queues: Sequence[MessageQueue]) -> None:
        await self._revocations.tell(queues, self._buffer)

    def _known(self, watch: QueueWatch) -> Iterator[tuple[str, list[MessageQueue]]]:
        """The topics of `watch` whose queues are known, with these; none unless the consumer runs."""
        for topic in watch.topics if self._runtime is not None else ():
            route = self._running().instance.routes.known(topic)
            if route is not None:
                yield topic, list(route.read_queues())

    def _refuse_after_assign(self) -> None:
        if self._subscriptions.queues is not None:
            raise FixError(f"the consumer of group {self.group} uses `assign`, which excludes `subscribe`")

    def _ours(self, running: ConsumerRuntime, queue: MessageQueue) -> None:
        if running.queues.get(queue) is None:
            shared = self._subscriptions.queues is None
            why = "; perhaps another member of the group has it now" if shared else ""
            raise FixError(f"{queue} is not assigned to this consumer{why}")

    def _offsets_of(self, queue: MessageQueue) -> AskedQueueOffsets:
        """What asks for the ends of `queue`, which must be ours."""
        running = self._running()
        self._ours(running, queue)
        return AskedQueueOffsets(running.instance)

    def _go(self, queue: MessageQueue, offset: int) -> None:
        running = self._running()
        # It may have gone while the broker was asked.
        if not running.queues.seek(queue, offset):
            self._ours(running, queue)
