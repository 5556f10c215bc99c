"""Listeners at work, by the queues that their messages are of; and queues of which none is to begin."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from threading import Lock
from typing import Any

from mqframe.client.consuming.push.consume_call import Bundle, ConsumeCall, ListenerCaller
from mqframe.client.consuming.push.listener import ListenedTopic
from mqframe.core.consuming.ordered_turn import OrderedTurn
from mqframe.core.messages.message import MessageQueue


class CallsByQueue:
    """Counts calls. `enter` and `leave` are for workers of any thread, all else for one loop."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._running: Counter[MessageQueue] = Counter()
        self._closed: set[MessageQueue] = set()
        self._changed: Callable[[], object] | None = None

    def enter(self, queue: MessageQueue) -> bool:
        """Count a call with messages of `queue`; whether it may begin. If so `leave` is to follow."""
        with self._lock:
            if queue in self._closed:
                return False
            self._running[queue] += 1
            return True

    def leave(self, queue: MessageQueue) -> None:
        """The call has ended."""
        with self._lock:
            self._running[queue] -= 1
            if not self._running[queue]:
                del self._running[queue]
            changed = self._changed
        if changed is not None:
            changed()

    def close(self, queues: Iterable[MessageQueue]) -> None:
        """Have no call begin with messages of `queues`."""
        with self._lock:
            self._closed.update(queues)

    def open(self, queues: Iterable[MessageQueue]) -> None:
        """Let calls begin again."""
        with self._lock:
            self._closed.difference_update(queues)

    async def ended(self, queues: Collection[MessageQueue]) -> None:
        """Wait until no call with messages of `queues`, which are closed, runs; one at a time waits."""
        loop, over = asyncio.get_running_loop(), asyncio.Event()

        def changed() -> None:
            with suppress(RuntimeError):  # the loop has ended, and nobody waits
                loop.call_soon_threadsafe(over.set)

        self._changed = changed
        try:
            while self._are_running(queues):
                await over.wait()
                over.clear()
        finally:
            self._changed = None

    def _are_running(self, queues: Collection[MessageQueue]) -> bool:
        with self._lock:
            return any(queue in self._running for queue in queues)


class CountingCaller(ListenerCaller):
    """Calls listeners as any, and has each call counted by `calls`. What these refuse is not begun: its
    messages stay held, for whoever gets the queue next."""

    def __init__(self, calls: CallsByQueue, *args: Any) -> None:
        super().__init__(*args)
        self._calls = calls

    def call(self, call: ConsumeCall) -> None:
        """Call a plain listener."""
        if self._calls.enter(call.held.queue):
            try:
                super().call(call)
            finally:
                self._calls.leave(call.held.queue)

    def call_each(
        self,
        bundle: Bundle,
        turn: OrderedTurn | None = None,
        newest: Callable[[str], ListenedTopic | None] = lambda topic: None,
    ) -> None:
        """Call a plain listener with one message after the other. What is under way is done in a moment."""
        if self._calls.enter(bundle.held.queue):
            try:
                super().call_each(bundle, turn, newest)
            finally:
                self._calls.leave(bundle.held.queue)

    async def call_async(self, call: ConsumeCall) -> None:
        """Await an `async def` listener."""
        if self._calls.enter(call.held.queue):
            try:
                await super().call_async(call)
            finally:
                self._calls.leave(call.held.queue)
