"""The blocking face of the push consumer: the asyncio one in a thread, its listeners in a pool of threads.

consumer = PushConsumer("billing", nameserver="127.0.0.1:9876")

@consumer.on("orders", "paid || refunded")
def handle(messages, context):
    return ConsumeResult.SUCCESS

consumer.run()      # until SIGTERM or SIGINT
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import TypeVar, Unpack

from mqframe.client.consumer_options import ConsumerOptions
from mqframe.client.identity import SameProcess
from mqframe.client.listener import ListenerFunction
from mqframe.client.loop_thread import LoopThread
from mqframe.client.push_consumer import AsyncPushConsumer
from mqframe.core.errors import ClosedError
from mqframe.core.message import MessageQueue
from mqframe.core.message_choice import Sql

L = TypeVar("L", bound=ListenerFunction)


class PushConsumer:
    """A member of the consumer group `group`. The options are those of `AsyncPushConsumer`.

    Listeners are called in `consume_threads` threads; an `async def` runs in the consumer's own loop, which
    it must not block. After a fork every method raises `ClosedError`.
    """

    def __init__(self, group: str, **options: Unpack[ConsumerOptions]) -> None:
        self._consumer = AsyncPushConsumer(group, **options)
        self._process = SameProcess("consumer")
        self._loop: LoopThread | None = None
        self._lock = threading.Lock()
        self._stopped = False
        # A signal handler may put into it at any moment, which an Event does not allow.
        self._ended: SimpleQueue[None] = SimpleQueue()

    @property
    def group(self) -> str:
        """The consumer group."""
        return self._consumer.group

    @property
    def client_id(self) -> str:
        """What this member is called in its group. Known once it was started."""
        return self._consumer.client_id

    @property
    def queues(self) -> list[MessageQueue]:
        """The queues that this member owns now, sorted."""
        return self._consumer.queues

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
        """Have `listener` called with messages of `topic`, as `AsyncPushConsumer.subscribe` tells."""
        self._do(lambda: self._consumer.subscribe(topic, expression, listener, batch_max=batch_max))

    def unsubscribe(self, topic: str) -> None:
        """Give `topic` up. Its queues are committed and go to other members."""
        self._do(lambda: self._consumer.unsubscribe(topic))

    def suspend(self) -> None:
        """Pull nothing until `resume`; what was pulled is still consumed, and the queues are kept."""
        self._do(self._consumer.suspend)

    def resume(self) -> None:
        """Pull again."""
        self._do(self._consumer.resume)

    def start(self) -> None:
        """Join the group and return. Raises `FixError` without subscription, `ClosedError` if used before."""
        self._process.check()
        with self._lock:
            if self._loop is not None or self._stopped:
                state = "was stopped" if self._stopped else "is running"
                raise ClosedError(f"the consumer of group {self.group} {state}; make a new one")
            loop = self._loop = LoopThread(f"mqframe-consumer-{self.group[:100]}")
        try:
            loop.call(self._consumer.start())
        except BaseException:
            self._loop = None
            loop.stop()
            raise

    def stop(self) -> None:
        """Leave: pull nothing more, let running listeners finish, commit, unregister. Twice does no harm.

        Not to be called by a listener, which would wait for itself; it may call `end`.
        """
        self._process.check()
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            try:
                loop.call(self._consumer.stop())
            finally:
                loop.stop()
        self._stopped = True
        self.end()

    def end(self) -> None:
        """Make `run` return, from wherever."""
        self._ended.put(None)

    def run(self) -> None:
        """`start`, work until SIGTERM, SIGINT or `end`, `stop`. Only the main thread hears signals."""
        with _signals(self.end):
            self.start()
            try:
                self._ended.get()
            finally:
                self.stop()

    def __enter__(self) -> PushConsumer:
        self.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self.stop()

    def _do(self, action: Callable[[], None]) -> None:
        self._process.check()
        loop = self._loop
        if loop is None:
            action()
            return

        async def there() -> None:
            action()

        loop.call(there())


@contextlib.contextmanager
def _signals(action: Callable[[], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda *_: action()) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
