"""PushConsumer: `AsyncPushConsumer` for plain threads.

Generated from mqframe.client.consuming.push.consumer, not to be edited:
run `python tools/generate_sync_api.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any, overload

from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.client.connection.sync_runner import SyncRunner
from mqframe.client.consuming.group.consumer import Pausable
from mqframe.client.consuming.push.consumer import AsyncPushConsumer, L, RebalanceListener, T
from mqframe.client.settings import ClientSettings
from mqframe.core.consuming.consume_rules import OnDecode
from mqframe.core.filtering.filter_expression import Sql
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import check_topic, is_pattern
from mqframe.hooks.manager import PluginManager
from mqframe.net.settings import NetSettings


class PushConsumer(SyncRunner[AsyncPushConsumer]):
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

    The work is done on a loop in a thread of its own; any thread may call any method. After a
    fork every method raises `ClosedError`.
    """

    _section = "consumer"

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
        plugins: PluginManager | None = None,
    ) -> None:
        super().__init__(
            AsyncPushConsumer(
                group,
                nameserver=nameserver,
                allocate=allocate,
                allocate_options=allocate_options,
                broadcasting=broadcasting,
                ordered=ordered,
                mode=mode,
                mode_options=mode_options,
                consume_from=consume_from,
                offset_store=offset_store,
                offset_store_options=offset_store_options,
                codec=codec,
                on_assigned=on_assigned,
                on_revoked=on_revoked,
                on_lost=on_lost,
                consume_hooks=consume_hooks,
                rpc_hooks=rpc_hooks,
                settings=settings,
                client=client,
                net=net,
                plugins=plugins,
            ),
            "consumer",
            group,
        )

    @property
    def group(self) -> str:
        """The consumer group."""
        return self._client.group

    @property
    def client_id(self) -> str:
        """What this member is called in its group. Known once it was started."""
        return self._do(lambda: self._client.client_id)

    def set_allocation(self, allocate: object, options: object = None) -> None:
        """Share queues by another strategy from now on: name, class or object, and its options.

        The queues are shared anew at once, without a stop. Every member must be told: as long as members
        share by different strategies, some queues have two members, which may see the same messages, or none,
        which come late; each member looks again every `rebalance_seconds`. Raises `PluginError`,
        `SettingError`; the present strategy stays then.
        """
        self._do(self._client.set_allocation, allocate, options)

    def pause(self, what: Collection[Pausable]) -> None:
        """Pull nothing more of `what` until `resume`; what was pulled of it is still handed out.

        Of queues that are ours, until they go to another member; of topics, and of all that functions listen
        to, whichever queues of it are ours. Raises `FixError` for what is not read here.
        """
        self._do(self._client.pause, what)

    @property
    def paused(self) -> list[MessageQueue]:
        """The queues that are ours and paused, sorted."""
        return self._do(lambda: self._client.paused)

    @property
    def mode(self) -> str:
        """How it gets at messages."""
        return self._client.mode

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
        self._do(
            self._client.subscribe,
            topic,
            expression,
            listener,
            batch_max=batch_max,
            type=type,
            codec=codec,
            on_decode_error=on_decode_error,
            join=join,
        )

    def unsubscribe(self, topic: str) -> None:
        """Give `topic` up. Its queues are committed and go to other members."""
        self._do(self._client.unsubscribe, topic)

    def suspend(self) -> None:
        """Pull nothing until `resume`; what was pulled is still consumed, and the queues are kept."""
        self._do(self._client.suspend)

    def resume(self, what: Collection[Pausable] | None = None) -> None:
        """Pull what was paused again; with nothing named, what `suspend` stopped."""
        self._do(self._client.resume, what)

    @property
    def queues(self) -> list[MessageQueue]:
        """The queues of subscribed topics that this member owns now, sorted."""
        return self._do(lambda: self._client.queues)

    def start(self) -> None:
        """Join the group. Raises `FixError` when there is no subscription, `ClosedError` after `stop`.

        Twice does no harm.
        """
        super().start()

    def stop(self) -> None:
        """Leave: pull nothing more, let running listeners finish, commit, unregister. Twice does no harm.

        Not to be called by a listener, which would wait for itself; it may call `end`.
        """
        super().stop()
