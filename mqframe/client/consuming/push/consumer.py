"""The push consumer: listeners are called with the messages of their topics (behaviour.md §5, §6).

consumer = AsyncPushConsumer("billing", nameserver="127.0.0.1:9876")

@consumer.on("orders", "paid || refunded")
async def handle(message):
    ...

await consumer.run()
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any, TypeVar, overload

import attrs

from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.client.connection.identity import consumer_client
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.connection.lifecycle import InstanceLease, RunnableClient
from mqframe.client.connection.patient_start import start_or_end
from mqframe.client.consuming.group.allocation import AllocationChoice
from mqframe.client.consuming.group.consumer import GroupConsumer, Pausable
from mqframe.client.consuming.group.group_offsets import OffsetChoice, beginning
from mqframe.client.consuming.group.runtime import ConsumerRuntime
from mqframe.client.consuming.group.subscriptions import SubscriptionTable, next_version
from mqframe.client.consuming.push.listener import ListenedTopic, ListenerFunction, subscription
from mqframe.client.consuming.push.modes import consume_mode
from mqframe.client.consuming.push.plan import ConsumerPlan
from mqframe.client.consuming.push.routes import routed
from mqframe.client.consuming.push.typed_handler import BodyType, TypedHandler
from mqframe.client.settings import ClientSettings
from mqframe.core.consuming.consume_rules import MessageModel, OnDecode, decode_error_choice
from mqframe.core.errors import FixError
from mqframe.core.filtering.filter_expression import Sql
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import check_group, check_topic, is_pattern, retry_topic
from mqframe.hooks.client_parts import load_part
from mqframe.hooks.codecs import Codecs
from mqframe.hooks.manager import PluginManager
from mqframe.net.clock import LoopClock, SystemClock
from mqframe.net.settings import NetSettings

RebalanceListener = Callable[[str, Sequence[MessageQueue]], Any]
"""Called with a topic and some of its queues; a plain function, in a thread, or an `async def`."""
L = TypeVar("L", bound=ListenerFunction)
T = TypeVar("T", bound=TypedHandler)


class AsyncPushConsumer(GroupConsumer, RunnableClient):
    """A member of the consumer group `group`, whose listeners are called with messages.

    `allocate`: name, class or object of the allocation strategy, `allocate_options` its options.
    `ordered`: the messages of a queue are handed to listeners one batch after the other, and what fails is
    tried again in its place. `broadcasting`: every member gets every message, and failed ones are dropped.
    `mode`: how it gets at messages, "pull", or "pop", where brokers hand out single messages and no queues
    are shared out (`mqframe-plugin-pop`); `mode_options`: of that mode.
    `consume_from`: where a group begins that is new to a topic: "last", with what comes once it was started,
    "first", or a moment (`datetime`, or ms since 1970). Brokers before 5.0 begin a short queue at 0 all the
    same, and so does every broker a queue that was added later, unless it is long.
    `offset_store`: name, class or object; by default "remote", and "local" when broadcasting.
    `codec`: what the bodies for typed handlers were encoded by, a name, class or object; by default what the
    content type of each message says, else "json".
    `on_assigned`, `on_revoked`, `on_lost`: called with a topic and those of its queues that come, before they
    are read, that go to other members, when listeners are done with them and before this is saved, and that
    another member had already (`mqframe-plugin-steering`).
    `consume_hooks`, `rpc_hooks`: names, classes or objects. `settings`, `client`, `net`: everything else.
    `plugins`: the plugin manager, by default that of the process. What is not installed or not legal raises a
    `FixError` here, before anything is started.

    Only here: `instance`, a started client instance to share, which is left running and whose
    connections, routes and RPC hooks count; `clock`, for tests.
    """

    _section = "consumer"
    _plan: ConsumerPlan
    _loop: asyncio.AbstractEventLoop
    mode: str
    """How it gets at messages."""

    def __init__(
        self,
        group: str,
        *,
        nameserver: str = "",
        allocate: object = "averagely",
        allocate_options: object = None,
        broadcasting: bool = False,
        ordered: bool = False,
        mode: str = "pull",
        mode_options: object = None,
        consume_from: str | int | datetime = "last",
        offset_store: object = None,
        offset_store_options: object = None,
        codec: object = None,
        on_assigned: RebalanceListener | None = None,
        on_revoked: RebalanceListener | None = None,
        on_lost: RebalanceListener | None = None,
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
        model = MessageModel.BROADCASTING if broadcasting else MessageModel.CLUSTERING
        clock, plugins = clock or SystemClock(), plugins or PluginManager()
        settings = settings or ConsumerSettings()
        lease = InstanceLease(
            instance,
            consumer_client(client, nameserver, broadcasting=broadcasting),
            clock,
            net,
            plugins.create_all("rpc_hook", rpc_hooks),
        )
        self._subscriptions: dict[str, ListenedTopic] = {}
        plan = ConsumerPlan(
            group=group,
            model=model,
            begin=beginning(consume_from),
            clock=clock,
            allocation=AllocationChoice(plugins, allocate, allocate_options),
            hooks=plugins.create_all("consume_hook", consume_hooks),
            store=OffsetChoice(plugins, offset_store, offset_store_options, settings.offset_directory, model),
            settings=settings,
            subscriptions=SubscriptionTable(self._subscriptions),
            persist_seconds=lease.settings.persist_offsets_seconds,
            codecs=Codecs(plugins, codec),
            ordered=ordered,
        )
        sharing = {"allocate": allocate, "allocate_options": allocate_options, "offset_store": offset_store}
        if on_assigned or on_revoked or on_lost:
            plan = load_part("rebalance-listeners")(plan, on_assigned, on_revoked, on_lost)
        self.mode = mode
        plan, self._runtime_on = consume_mode(mode, mode_options, plan, sharing)
        super().__init__(plan, lease)
        self._suspended, self._ended = False, asyncio.Event()

    # Subscriptions

    @overload
    def on(
        self,
        topic: str,
        expression: str | Sql = "*",
        *,
        batch_max: int | None = None,
        on_decode_error: OnDecode = None,
    ) -> Callable[[L], L]: ...
    @overload
    def on(
        self,
        topic: str,
        expression: str | Sql = "*",
        *,
        type: object,
        codec: object = None,
        on_decode_error: OnDecode = None,
    ) -> Callable[[T], T]: ...
    @overload
    def on(
        self, topic: str, expression: str | Sql = "*", *, codec: object, on_decode_error: OnDecode = None
    ) -> Callable[[T], T]: ...
    def on(
        self,
        topic: str,
        expression: str | Sql = "*",
        *,
        batch_max: int | None = None,
        type: object = None,
        codec: object = None,
        on_decode_error: OnDecode = None,
    ) -> Callable[[Any], Any]:
        """Decorator: call the function with what `expression` chooses of `topic` (`subscribe`).

        A topic may have several functions, each for tags of its own: the consumer subscribes to all of these
        tags, and each message goes to its function. Raises `FixError`, naming both, for two that cannot be
        told apart: for one tag, for all messages, or by an expression.
        """
        if not is_pattern(topic):
            check_topic(topic)

        def register(function: Any) -> Any:
            self.subscribe(
                topic,
                expression,
                function,
                batch_max=batch_max,
                type=type,
                codec=codec,
                on_decode_error=on_decode_error,
                join=True,
            )
            return function

        return register

    @overload
    def subscribe(
        self,
        topic: str,
        expression: str | Sql,
        listener: L,
        *,
        batch_max: int | None = None,
        on_decode_error: OnDecode = None,
        join: bool = False,
    ) -> None: ...
    @overload
    def subscribe(
        self,
        topic: str,
        expression: str | Sql,
        listener: T,
        *,
        batch_max: int | None = None,
        type: object,
        codec: object = None,
        on_decode_error: OnDecode = None,
        join: bool = False,
    ) -> None: ...
    @overload
    def subscribe(
        self,
        topic: str,
        expression: str | Sql,
        listener: T,
        *,
        batch_max: int | None = None,
        codec: object,
        on_decode_error: OnDecode = None,
        join: bool = False,
    ) -> None: ...
    def subscribe(
        self,
        topic: str,
        expression: str | Sql,
        listener: Any,
        *,
        batch_max: int | None = None,
        type: object = None,
        codec: object = None,
        on_decode_error: OnDecode = None,
        join: bool = False,
    ) -> None:
        """Have `listener` called with messages of `topic`, or of all topics that a pattern such as "orders-*"
        means, those that come later included (`mqframe-plugin-steering`).

        `expression`: "*", tags joined by "||", or `Sql`. `listener` is a handler or a batch listener, a plain
        function, which runs in a thread, or an `async def`, which runs on the loop.

        A handler takes one message: `handle(message)`, or `handle(message: ReceivedMessage, context)`. The
        message is done when it returns, which it need not do with anything, and comes again when it raises;
        it may return a `ConsumeResult`. A batch listener, `listen(messages, context)`, always returns a
        `ConsumeResult`. Anything else, and an exception, counts as RECONSUME_LATER, and the log says so.

        With `type` or `codec` it is a typed handler, called with the value in the body, which is a `type`, by
        default what its first parameter is annotated with: `handle(value)`, `handle(value, message)` or
        `handle(value, message, context)`. `codec`: name, class or object, by default that of the consumer.

        `on_decode_error`: what becomes of a message at whose body a handler failed with a `DecodeError`:
        "dead_letter" at once, "retry" like any failure, or "drop"; by default as in the settings.

        `batch_max`: messages in one call of a batch listener at most, by default
        `consume_message_batch_max_size`. A second subscription of a topic replaces the first, unless it
        is to `join` it: then each message goes to the one whose tags it has. Raises
        `FixError` for what cannot listen: other parameters, a generator, another annotated result, a type
        that the codec cannot decode.
        """
        if not is_pattern(topic):
            check_topic(topic)
        plan, body = self._plan, None
        if type is not None or codec is not None:
            body = BodyType(type, plan.codecs.with_choice(codec))
        added = subscription(
            topic,
            expression,
            listener,
            batch_max,
            0,
            usual_max=plan.settings.consume_message_batch_max_size,
            body=body,
            on_decode_error=decode_error_choice(on_decode_error or plan.settings.on_decode_error),
        )
        if is_pattern(topic):
            self._follow(topic, lambda name: self._put(attrs.evolve(added, topic=name), join=True), join=join)
        else:
            self._put(added, join=join)

    def _put(self, added: ListenedTopic, *, join: bool) -> None:
        before = self._subscriptions.get(added.topic)
        added = attrs.evolve(added, version=next_version(before, self._plan.clock.now_ms()))
        for hook in reversed(self._plan.hooks):
            call = hook.wrap(added.function, added.topic, self._plan.clock, added.is_async, added.batch_max)
            added = attrs.evolve(added, function=call)
        if join and before is not None:
            added = routed(before, added, lambda: self._loop)
        self._subscriptions[added.topic] = added
        self._subscriptions_changed()

    def unsubscribe(self, topic: str) -> None:
        """Give `topic` up. Its queues are committed and go to other members."""
        if self._followed is not None and is_pattern(topic):
            self._followed.drop(topic)
        if self._subscriptions.pop(topic, None) is not None:
            self._subscriptions_changed()

    def suspend(self) -> None:
        """Pull nothing until `resume`; what was pulled is still consumed, and the queues are kept."""
        self._suspended = True
        if self._runtime is not None:
            self._runtime.queues.suspend_all()

    def resume(self, what: Collection[Pausable] | None = None) -> None:
        """Pull what was paused again; with nothing named, what `suspend` stopped."""
        if what is not None:
            self._set_paused(what, paused=False)
            return
        self._suspended = False
        if self._runtime is not None:
            self._runtime.queues.resume_all()

    @property
    def queues(self) -> list[MessageQueue]:
        """The queues of subscribed topics that this member owns now, sorted."""
        if self._runtime is None:
            return []
        hidden = retry_topic(self.group)
        return [queue for queue in self._runtime.queues.queues if queue.topic != hidden]

    # Running

    async def start(self) -> None:
        """Join the group. Raises `FixError` when there is no subscription, `ClosedError` after `stop`.

        Twice does no harm.
        """
        if not self._subscriptions and self._followed is None:
            raise FixError(f"the consumer of group {self.group} has no subscription; use `on` or `subscribe`")
        await self._join()

    async def stop(self) -> None:
        """Leave: pull nothing more, let running listeners finish, commit, unregister. Twice does no harm.

        Not to be called by a listener, which would wait for itself; it may call `end`.
        """
        self._stopped = True
        await self._leave(self._plan.settings.stop_seconds)
        self._ended.set()

    def end(self) -> None:
        """Make `run` return. What a listener calls, since `stop` would wait for it."""
        self._ended.set()

    async def run(self, *, fail_fast: bool = False) -> None:
        """`start`, work until SIGTERM, SIGINT, `end` or `stop` from elsewhere, then `stop`.

        While no name server answers it waits for one, and the log says so every few seconds; with `fail_fast`
        it raises `RouteError` instead. Only the main thread hears signals. A cancellation ends it, too.
        """
        loop = asyncio.get_running_loop()
        handled = []
        for number in (signal.SIGTERM, signal.SIGINT):
            try:
                loop.add_signal_handler(number, self._ended.set)
                handled.append(number)
            except (ValueError, RuntimeError, NotImplementedError):
                break  # not the main thread: whoever runs the loop there sees to signals
        try:
            await self._start_or_end(fail_fast=fail_fast)
            await self._ended.wait()
        finally:
            await self.stop()
            for number in handled:
                loop.remove_signal_handler(number)

    async def _start_or_end(self, *, fail_fast: bool) -> None:
        await start_or_end(self.start, self._ended, self._plan.clock, self.group, fail_fast=fail_fast)

    def _assemble(self, instance: ClientInstance) -> ConsumerRuntime:
        self._loop = asyncio.get_running_loop()
        runtime = self._runtime_on(instance)
        if self._suspended:
            runtime.queues.suspend_all()
        return runtime
