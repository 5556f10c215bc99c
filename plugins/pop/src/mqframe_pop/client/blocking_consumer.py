"""SimpleConsumer: `AsyncSimpleConsumer` for plain threads.

Generated from mqframe_pop.client.consumer, not to be edited:
run `python tools/generate_sync_api.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mqframe.client.connection.sync_api import SyncClient, looped
from mqframe.client.consuming.group.subscriptions import Expression
from mqframe.client.settings import ClientSettings
from mqframe.hooks.manager import PluginManager
from mqframe.net.settings import NetSettings
from mqframe_pop.client.consumer import AsyncSimpleConsumer
from mqframe_pop.rules.popped import PoppedMessage


class SimpleConsumer(SyncClient[AsyncSimpleConsumer]):
    """A member of the consumer group `group` whose progress brokers keep.

    `await_duration`: seconds that `receive` waits for the first message. `consume_from`: where a group begins
    that is new to a topic, "first", or "last": what comes once it was started. `ordered`: messages of a queue
    come in its order, and the queue is blocked until those before were acknowledged or their time was over.
    `rpc_hooks`, `client`, `net`, `plugins`: as of `PushConsumer`.

    The work is done on a loop in a thread of its own; any thread may call any method. After a
    fork every method raises `ClosedError`.
    """

    _section = "simple"

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
        plugins: PluginManager | None = None,
    ) -> None:
        super().__init__(
            AsyncSimpleConsumer(
                group,
                nameserver=nameserver,
                await_duration=await_duration,
                consume_from=consume_from,
                ordered=ordered,
                rpc_hooks=rpc_hooks,
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

    def subscribe(self, topic: str, expression: Expression = "*") -> None:
        """Receive what `expression` chooses of `topic`: "*", tags joined by "||", or `Sql`.

        A second subscription of a topic replaces the first.
        """
        self._do(self._client.subscribe, topic, expression)

    def unsubscribe(self, topic: str) -> None:
        """Receive nothing more of `topic`. What was received can still be acknowledged."""
        self._do(self._client.unsubscribe, topic)

    @property
    def topics(self) -> list[str]:
        """The subscribed topics, sorted."""
        return self._do(lambda: self._client.topics)

    def receive(
        self, max_messages: int = 16, invisible_duration: float = 30.0, await_duration: float | None = None
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
        return self._call(self._client.receive, max_messages, invisible_duration, await_duration)

    def messages(
        self, *, max_messages: int = 16, invisible_duration: float = 30.0, auto_ack: bool = True
    ) -> Iterator[PoppedMessage]:
        """Message by message, until the consumer is stopped; `for message in consumer` is this with
        defaults.

        Up to `max_messages` (32 at most) are fetched at a time. Each is hidden from all others of the group
        for `invisible_duration` seconds; what waits for its turn gets more in time. With `auto_ack` the one
        that the body of the loop is at does so, too, and is acknowledged when the next one is asked for;
        without, call `ack`, or have it come again when its time is over. The message at which a loop is left
        is not acknowledged, and those behind it go back at once. Servers that do not answer are waited for.
        Raises `FixError` and `AccessError` as `receive` does, and `ClosedError` unless the consumer runs.
        """
        return looped(
            self,
            self._client.messages(
                max_messages=max_messages, invisible_duration=invisible_duration, auto_ack=auto_ack
            ),
        )

    def __iter__(self) -> Iterator[PoppedMessage]:
        """`messages` with its defaults."""
        return looped(self, self._client.__aiter__())

    def ack(self, message: PoppedMessage) -> None:
        """The message is done. Raises `ReceiptError` when it was acknowledged before or its time is over."""
        self._call(self._client.ack, message)

    def ack_batch(self, messages: Sequence[PoppedMessage]) -> None:
        """The messages are done: one request for each broker.

        Raises `ReceiptError` for those that are not ours any more, after the others were acknowledged.
        """
        self._call(self._client.ack_batch, messages)

    def change_invisible_duration(self, message: PoppedMessage, seconds: float) -> str:
        """Hide the message for `seconds` from now on; its new receipt handle, which it carries already.

        More time for slow work, or less to have it delivered again soon. Raises `ReceiptError` when it was
        acknowledged before or its time is over.
        """
        return self._call(self._client.change_invisible_duration, message, seconds)

    @property
    def client_id(self) -> str:
        """What this member is called in its group. Known once it was started."""
        return self._do(lambda: self._client.client_id)

    def start(self) -> None:
        """Join the group. Raises `ClosedError` after `stop`, `RouteError` when no name server answers within
        `client.patience_seconds`, `AnswerError` when a broker refuses an expression. Twice does no harm.
        """
        super().start()

    def stop(self) -> None:
        """Leave the group. What was received and not acknowledged comes again when its time is over. Twice
        does no harm.
        """
        super().stop()
