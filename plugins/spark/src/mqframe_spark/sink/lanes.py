"""Several requests under way at once, but those of one queue one after the other."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from mqframe.core.messages.message import MessageQueue
from mqframe_spark.sink.outgoing import Outgoing

Lane = deque[Outgoing]


class Lanes:
    """Carries out `send` for each request, `width` at a time, in threads.

    Requests for one queue are sent in their order, one at a time, so that a repeated try cannot overtake.
    Those that any queue may take go at once. After the first error nothing more is sent.
    """

    def __init__(self, send: Callable[[Outgoing], None], width: int) -> None:
        self._send = send
        self._threads = ThreadPoolExecutor(width, "mqframe-sink")
        self._room = threading.Semaphore(2 * width)
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._lanes: dict[MessageQueue, Lane] = {}
        self._pending = 0
        self._problem: BaseException | None = None

    def put(self, outgoing: Outgoing) -> None:
        """Have `outgoing` sent; waits while twice `width` are not done. Raises the error that one met."""
        self._room.acquire()
        with self._lock:
            if self._problem is not None:
                raise self._problem
            self._pending += 1
            if outgoing.queue is not None:
                lane = self._lanes.get(outgoing.queue)
                if lane is not None:
                    lane.append(outgoing)
                    return
                lane = self._lanes[outgoing.queue] = deque([outgoing])
                self._threads.submit(self._run_lane, outgoing.queue, lane)
                return
        self._threads.submit(self._run, outgoing)

    def finish(self) -> None:
        """Return when all are sent. Raises the first error."""
        with self._lock:
            while self._pending and self._problem is None:
                self._idle.wait()
            if self._problem is not None:
                raise self._problem

    def close(self) -> None:
        """Send nothing more, and return when what is under way has ended."""
        with self._lock:
            if self._pending and self._problem is None:
                self._problem = InterruptedError("the task ended")
        self._threads.shutdown()

    def _run_lane(self, queue: MessageQueue, lane: Lane) -> None:
        while True:
            self._run(lane[0])
            with self._lock:
                lane.popleft()
                if not lane:
                    del self._lanes[queue]
                    return

    def _run(self, outgoing: Outgoing) -> None:
        try:
            if self._problem is None:
                self._send(outgoing)
        except BaseException as problem:  # handed to the task's own thread, which raises it
            with self._lock:
                self._problem = self._problem or problem
        finally:
            with self._lock:
                self._pending -= 1
                self._idle.notify_all()
            self._room.release()
