"""LitePullConsumer: `AsyncLitePullConsumer` for plain threads.

Generated from mqframe_pull.lite_pull.consumer, not to be edited:
run `python tools/generate_sync_api.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime

from mqframe.client.connection.sync_api import SyncClient, called_in_thread, looped
from mqframe.client.consuming.group.consumer import Pausable
from mqframe.client.consuming.group.subscriptions import Expression
from mqframe.client.settings import ClientSettings
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.hooks.manager import PluginManager
from mqframe.net.settings import NetSettings
from mqframe_pull.lite_pull.consumer import AsyncLitePullConsumer
from mqframe_pull.lite_pull.queue_watch import AssignmentListener, QueuesListener, RevocationListener
from mqframe_pull.settings import LitePullSettings


class LitePullConsumer(SyncClient[AsyncLitePullConsumer]):
    """Messages on demand for the consumer group `group`.

    Either `subscribe` (queues are shared with the other members of the group, Java ones included) or `assign`
    (these queues, whatever others do); not both. `auto_commit`: a poll commits what earlier polls handed out,
    every `settings.auto_commit_seconds`, and so does a rebalance or `stop`; else only `commit` does. Several
    tasks may poll, but with `auto_commit` the poll of one counts the messages of the others as done with.

    `allocate`, `allocate_options`, `broadcasting`, `consume_from`, `offset_store`, `offset_store_options`,
    `consume_hooks`, `rpc_hooks`, `client`, `net`, `plugins`: as of `PushConsumer`. What is not installed
    or not legal raises a `FixError` here, before anything is started.

    The work is done on a loop in a thread of its own; any thread may call any method. After a
    fork every method raises `ClosedError`.
    """

    _section = "lite_pull"

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
        plugins: PluginManager | None = None,
    ) -> None:
        super().__init__(
            AsyncLitePullConsumer(
                group,
                nameserver=nameserver,
                allocate=allocate,
                allocate_options=allocate_options,
                broadcasting=broadcasting,
                consume_from=consume_from,
                auto_commit=auto_commit,
                offset_store=offset_store,
                offset_store_options=offset_store_options,
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
        self._do(
            self._client.subscribe,
            topic,
            expression,
            called_in_thread(on_assigned),
            called_in_thread(on_revoked),
        )

    def unsubscribe(self, topic: str) -> None:
        """Give `topic` up. Its queues are committed and go to other members."""
        self._do(self._client.unsubscribe, topic)

    def assign(
        self, queues: Collection[MessageQueue], expression: Expression | Mapping[str, Expression] = "*"
    ) -> None:
        """Pull exactly `queues` from now on; nobody is asked whether another member has them.

        `expression`: their filter, or filters by topic. Raises `FixError` after `subscribe`, and for no
        queues at all.
        """
        self._do(self._client.assign, queues, expression)

    def on_queue_change(self, topic: str, listener: QueuesListener) -> None:
        """Have `listener(topic, queues)` called when `topic` gets other queues, as the route polls find.

        One listener a topic; the last one counts. Once started, raises `RouteError` for an unknown topic.
        """
        self._call(self._client.on_queue_change, topic, called_in_thread(listener))

    def poll(self, timeout: float = 5.0, max_messages: int | None = None) -> list[ReceivedMessage]:
        """Messages of one queue in its order, as soon as there are some; empty after `timeout` seconds.

        `max_messages`: by default `settings.poll_messages_max`. Queues take turns. Raises `ClosedError` when
        the consumer does not run, `FixError` for numbers that make no sense, and `AccessError` in place of
        nothing when servers do not let its user read.
        """
        return self._call(self._client.poll, timeout, max_messages)

    def __iter__(self) -> Iterator[ReceivedMessage]:
        """Message by message, until the consumer is stopped: asking for the next is a poll of one message.

        So a message counts as done with when the next is asked for, or at `stop`; it does not when the loop
        ends with an error that the `with` block around it lets through.
        """
        return looped(self, self._client.__aiter__())

    def resume(self, what: Collection[Pausable]) -> None:
        """Pull again what `pause` was given."""
        self._do(self._client.resume, what)

    def seek(self, queue: MessageQueue, offset: int) -> None:
        """Go on at `offset` of `queue`; what was pulled of it is forgotten, `commit` will store `offset`.

        Raises `FixError` when the queue is not ours (perhaps it has just gone to another member), or does not
        hold that offset.
        """
        self._call(self._client.seek, queue, offset)

    def seek_to_begin(self, queue: MessageQueue) -> None:
        """Go on at the oldest message of `queue` that there still is."""
        self._call(self._client.seek_to_begin, queue)

    def seek_to_end(self, queue: MessageQueue) -> None:
        """Go on at the next message that `queue` will get."""
        self._call(self._client.seek_to_end, queue)

    def offset_for_timestamp(self, queue: MessageQueue, timestamp: int | datetime) -> int:
        """The offset of the first message of `queue` stored at `timestamp` or later.

        `timestamp`: a datetime with its zone, or ms since 1970. Raises `FixError` for another one.
        """
        return self._call(self._client.offset_for_timestamp, queue, timestamp)

    def commit(self, offsets: Mapping[MessageQueue, int] | None = None) -> None:
        """Store how far the group is: `offsets` (of the next message to be handled), else past all that polls
        handed out. Raises `FixError` for a queue that is not ours; what the offset store raises.
        """
        self._call(self._client.commit, offsets)

    def committed(self, queue: MessageQueue) -> int | None:
        """The offset that is stored for the group, `None` when there is none."""
        return self._call(self._client.committed, queue)

    def queues(self, topic: str) -> list[MessageQueue]:
        """All queues of `topic` that can be read, sorted. Raises `RouteError`."""
        return self._call(self._client.queues, topic)

    @property
    def assignment(self) -> list[MessageQueue]:
        """The queues that are pulled now, sorted."""
        return self._do(lambda: self._client.assignment)

    def start(self) -> None:
        """Join the group and begin to pull. Raises `ClosedError` after `stop`. Twice does no harm."""
        super().start()

    def stop(self) -> None:
        """Pull nothing more, commit (with `auto_commit`), leave the group. Twice does no harm.

        What the last poll handed out counts as done with, so stop after it was handled. An `with` block
        that ends with an error does not count it, and it is delivered again.
        """
        super().stop()
