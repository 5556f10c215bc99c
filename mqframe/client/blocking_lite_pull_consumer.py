"""The blocking face of the lite pull consumer.

with LitePullConsumer("billing", nameserver="127.0.0.1:9876") as consumer:
    consumer.subscribe("orders", "paid || refunded")
    while messages := consumer.poll():
        ...
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, Unpack

from mqframe.client.interests import Expression
from mqframe.client.lite_pull_consumer import AsyncLitePullConsumer
from mqframe.client.lite_pull_options import AssignmentListener, LitePullOptions, QueuesListener
from mqframe.client.loop_face import LoopFace
from mqframe.core.message import MessageQueue, ReceivedMessage


class LitePullConsumer:
    """Messages on demand for the consumer group `group`. Arguments and errors: see `AsyncLitePullConsumer`.

    Messages are fetched ahead in a thread of its own; any thread may call any method. Listeners run in other
    threads and may call them too, but for `stop`. After a fork every method raises `ClosedError`.
    """

    def __init__(self, group: str, **options: Unpack[LitePullOptions]) -> None:
        self._consumer = AsyncLitePullConsumer(group, **options)
        self._face = LoopFace(f"the consumer of group {group}", self._consumer, f"mqframe-lite-{group[:100]}")

    @property
    def group(self) -> str:
        """The consumer group."""
        return self._consumer.group

    @property
    def client_id(self) -> str:
        """What this member is called in its group. Known once it was started."""
        return self._consumer.client_id

    # What is wanted

    def subscribe(
        self, topic: str, expression: Expression = "*", on_assigned: AssignmentListener | None = None
    ) -> None:
        """Want what `expression` chooses of `topic`, from the queues that a rebalance gives us."""
        listener = _in_thread(on_assigned) if on_assigned is not None else None
        self._face.do(lambda: self._consumer.subscribe(topic, expression, listener))

    def unsubscribe(self, topic: str) -> None:
        """Give `topic` up. Its queues are committed and go to other members."""
        self._face.do(lambda: self._consumer.unsubscribe(topic))

    def assign(
        self, queues: Collection[MessageQueue], expression: Expression | Mapping[str, Expression] = "*"
    ) -> None:
        """Pull exactly `queues` from now on; nobody is asked whether another member has them."""
        self._face.do(lambda: self._consumer.assign(queues, expression))

    def on_queue_change(self, topic: str, listener: QueuesListener) -> None:
        """Have `listener(topic, queues)` called when `topic` gets other queues. Needs a started consumer."""
        self._face.call(lambda: self._consumer.on_queue_change(topic, _in_thread(listener)))

    # Messages

    def poll(self, timeout: float = 5.0, max_messages: int | None = None) -> list[ReceivedMessage]:
        """Messages of one queue in its order, as soon as there are some; empty after `timeout` seconds."""
        return self._face.call(lambda: self._consumer.poll(timeout, max_messages))

    def pause(self, queues: Collection[MessageQueue]) -> None:
        """Pull nothing more of `queues`; what was pulled of them is still handed out."""
        self._face.do(lambda: self._consumer.pause(queues))

    def resume(self, queues: Collection[MessageQueue]) -> None:
        """Pull `queues` again."""
        self._face.do(lambda: self._consumer.resume(queues))

    # Where it stands

    def seek(self, queue: MessageQueue, offset: int) -> None:
        """Go on at `offset` of `queue`; what was pulled of it is forgotten, `commit` will store `offset`."""
        self._face.call(lambda: self._consumer.seek(queue, offset))

    def seek_to_begin(self, queue: MessageQueue) -> None:
        """Go on at the oldest message of `queue` that there still is."""
        self._face.call(lambda: self._consumer.seek_to_begin(queue))

    def seek_to_end(self, queue: MessageQueue) -> None:
        """Go on at the next message that `queue` will get."""
        self._face.call(lambda: self._consumer.seek_to_end(queue))

    def offset_for_timestamp(self, queue: MessageQueue, timestamp: int | datetime) -> int:
        """The offset of the first message of `queue` stored at `timestamp` (ms since 1970) or later."""
        return self._face.call(lambda: self._consumer.offset_for_timestamp(queue, timestamp))

    def commit(self, offsets: Mapping[MessageQueue, int] | None = None) -> None:
        """Store how far the group is: `offsets`, else past all that polls handed out."""
        self._face.call(lambda: self._consumer.commit(offsets))

    def committed(self, queue: MessageQueue) -> int | None:
        """The offset that is stored for the group, `None` when there is none."""
        return self._face.call(lambda: self._consumer.committed(queue))

    def queues(self, topic: str) -> list[MessageQueue]:
        """All queues of `topic` that can be read, sorted. Raises `RouteError`."""
        return self._face.call(lambda: self._consumer.queues(topic))

    @property
    def assignment(self) -> list[MessageQueue]:
        """The queues that are pulled now, sorted."""
        return self._face.do(lambda: self._consumer.assignment)

    @property
    def paused(self) -> list[MessageQueue]:
        """Those of `assignment` that are paused, sorted."""
        return self._face.do(lambda: self._consumer.paused)

    # Running

    def start(self) -> None:
        """Join the group and begin to pull. Raises `ClosedError` when it runs or was stopped."""
        self._face.start()

    def stop(self) -> None:
        """Pull nothing more, commit (with `auto_commit`), leave the group. Twice does no harm."""
        self._face.stop()

    def __enter__(self) -> LitePullConsumer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._face.stop(lambda: self._consumer.__aexit__(kind, problem, trace))


def _in_thread(listener: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, None]]:
    # It may call the consumer, which would wait for its own loop there.
    async def called(*words: object) -> None:
        result = await asyncio.to_thread(listener, *words)
        if asyncio.iscoroutine(result):
            await result

    return called
