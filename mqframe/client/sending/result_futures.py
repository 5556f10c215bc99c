"""Futures of submitted messages, for asyncio and for threads, resolved a whole batch at a time."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, ClassVar

import msgspec

from mqframe.core.errors import MqframeError
from mqframe.core.messages.message import Message, MessageQueue, SendResult
from mqframe.core.sending.answer import split_send_result
from mqframe.hooks.interfaces import SendHook, SendOperation
from mqframe.hooks.isolate import finish_each


class Item(msgspec.Struct, gc=False):
    """A submitted message: who waits for its result, its size in bytes, the queue that it is bound to.

    `operation`: what hooks prepared, until they were told how it ended; `count`: of messages. What compiled
    code gathered for one topic can be added like one: `message` is its first.
    """

    count: ClassVar[int] = 1

    message: Message
    future: Any
    size: int
    queue: MessageQueue | None
    operation: SendOperation | None = None


class LaterItem(Item, gc=False):
    """One that is to be delivered later, and travels alone. `timed`: as of `SendBatch`."""

    timed: bool = False


class Items(list[Item]):
    """Submitted messages that travel together. Compiled code has a class that does the same."""

    def messages(self) -> Sequence[Message]:
        """Each message."""
        return [item.message for item in self]

    def settle(self, result: SendResult, ids: list[str]) -> list[tuple[Any, SendResult]]:
        """Who is to get which result, where `result` is that of all. Raises `BadAnswer`."""
        results = (result,) if len(self) == 1 else split_send_result(result, ids)
        return list(zip([item.future for item in self], results, strict=True))

    def body_bytes(self) -> int:
        """Bytes of all bodies."""
        return sum([len(item.message.body) for item in self])

    def bound(self) -> int:
        """How many are bound to a queue."""
        return sum([item.queue is not None for item in self])


def operations_of(items: Sequence[Item]) -> tuple[SendOperation, ...]:
    """What hooks prepared of `items`, all or none of which were prepared."""
    return tuple([item.operation for item in items if item.operation is not None])


def _finish(
    hooks: Sequence[SendHook],
    items: Sequence[Item],
    results: Sequence[tuple[Any, SendResult]] | None,
    problem: BaseException | None,
) -> None:
    """Tell `hooks` how the sends of `items` ended, each once."""
    for index, item in enumerate(items):
        operation, item.operation = item.operation, None
        if operation is not None:
            operation.result = None if results is None else results[index][1]
            operation.error = problem
            finish_each(hooks, operation)


class LoopResults:
    """For futures of asyncio, on their loop. Those that nobody waits for any more are passed over.

    `hooks`: are told of each result before who waits for it, as those of `ThreadResults`.
    """

    def __init__(self, hooks: Sequence[SendHook] = ()) -> None:
        self._hooks = hooks
        self.new = asyncio.get_running_loop().create_future

    def resolve(self, items: Items, of_all: SendResult, ids: list[str]) -> None:
        """Give each its result, as that of all says. Raises `BadAnswer`."""
        results = items.settle(of_all, ids)
        if self._hooks:
            _finish(self._hooks, items, results, None)
        for future, result in results:
            if not future.done():
                future.set_result(result)

    def fail(self, items: Sequence[Item], problem: MqframeError) -> None:
        """Give all the same error."""
        if self._hooks:
            _finish(self._hooks, items, None, problem)
        for item in items:
            if not item.future.done():
                item.future.set_exception(problem)


class SendFuture(Future[SendResult]):
    """The result of a submitted message, a `concurrent.futures.Future` that is cheap by the hundred thousand.

    All futures of a producer share one condition, notified once for each batch, instead of a lock and a queue
    of waiters each. It cannot be cancelled: the message may be on its way. `shown`: what it stands behind, if
    anything; who waits for several is told of that.
    """

    shown: Any = None

    def __init__(self, changed: threading.Condition) -> None:
        # The fields of the base class, which `concurrent.futures.wait` and `as_completed` look at.
        self._condition = changed
        self._state = "PENDING"
        self._result: SendResult | None = None
        self._exception: BaseException | None = None
        self._watched = False

    def __getattr__(self, name: str) -> Any:
        # Two lists that most futures never need; both are only asked for while the condition is held.
        if name not in ("_waiters", "_done_callbacks"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        made: list[Any] = []
        setattr(self, name, made)
        self._watched = True
        return made

    def cancel(self) -> bool:
        """Never possible."""
        return False

    def result(self, timeout: float | None = None) -> SendResult:
        """The result. Raises its error, or `TimeoutError` after `timeout` seconds."""
        problem = self.exception(timeout)
        if problem is not None:
            raise problem
        assert self._result is not None
        return self._result

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The error, or `None` when there is a result. Raises `TimeoutError` after `timeout` seconds."""
        if self._state != "FINISHED":
            until = None if timeout is None else time.monotonic() + timeout
            with self._condition:
                while self._state != "FINISHED":
                    # Each batch of the producer wakes all who wait; look whether it was this one.
                    left = None if until is None else until - time.monotonic()
                    if left is not None and left <= 0:
                        raise FutureTimeout
                    self._condition.wait(left)
        return self._exception

    def finish(self, result: SendResult | None, problem: BaseException | None) -> None:
        """Take the outcome; the caller holds the condition and notifies afterwards."""
        self._result = result
        self._exception = problem
        self._state = "FINISHED"
        if self._watched:
            for waiter in self._waiters:
                (waiter.add_result if problem is None else waiter.add_exception)(self.shown or self)

    def run_callbacks(self) -> None:
        """Call what waits for the end; the caller does not hold the condition."""
        if self._watched:
            self._invoke_callbacks()


class ThreadResults:
    """For `SendFuture`s; makes them, too. `changed`: notified once for each batch."""

    def __init__(self, hooks: Sequence[SendHook] = ()) -> None:
        self._hooks = hooks
        self._changed = threading.Condition()
        self.failed = 0
        """How many got an error."""

    def new(self) -> SendFuture:
        """A future that waits for its result."""
        return SendFuture(self._changed)

    def resolve(self, items: Items, of_all: SendResult, ids: list[str]) -> None:
        """Give each its result, as that of all says, and wake once all who wait. Raises `BadAnswer`."""
        results = items.settle(of_all, ids)
        if self._hooks:
            _finish(self._hooks, items, results, None)
        with self._changed:
            for future, result in results:
                future.finish(result, None)
            self._changed.notify_all()
        for future, _ in results:
            future.run_callbacks()

    def fail(self, items: Sequence[Item], problem: MqframeError) -> None:
        """Give all the same error, and wake once all who wait."""
        if self._hooks:
            _finish(self._hooks, items, None, problem)
        with self._changed:
            self.failed += len(items)
            for item in items:
                item.future.finish(None, problem)
            self._changed.notify_all()
        for item in items:
            item.future.run_callbacks()


Results = LoopResults | ThreadResults
