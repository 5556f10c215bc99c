"""Records that wait to be sent, and the way they go: AsyncTraceDispatcher.java.

A record is dropped, and counted, when too many wait or too many messages are under way; whoever is traced
never waits. Records leave as soon as a batch is full, and every few seconds, one message for each topic that
they are about.
"""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import Final

from mqframe.core.config.settings import at_least, setting, settings, within
from mqframe.core.errors import FixError
from mqframe.core.messages.message import Message
from mqframe.core.messages.names import TRACE_TOPIC
from mqframe.hooks.interfaces import HookPort
from mqframe.log import get_logger
from mqframe_trace.records import TraceRecord, pack

log = get_logger("trace")
PRODUCER_GROUP: Final = "_INNER_TRACE_PRODUCER"
"""What the producer groups of traces begin with (TraceConstants.java)."""


@settings("plugins.trace")
class TraceOptions:
    """Options of both hooks."""

    topic: str = setting(TRACE_TOPIC, doc="the topic that traces go to")
    batch_records_max: int = setting(20, doc="records that leave together at once", check=within(1, 1000))
    waiting_records_max: int = setting(2048, doc="records that may wait; more are dropped", check=at_least(1))
    flush_seconds: float = setting(5.0, doc="longest that a record waits for others, s", check=at_least(0.01))


class Outbox:
    """Used by any number of threads. `dropped`: records that were given up."""

    def __init__(self, options: TraceOptions) -> None:
        self.options = options
        self.dropped = 0
        self._port: HookPort | None = None
        self._waiting: deque[tuple[str, TraceRecord]] = deque()
        self._lock = Lock()

    @property
    def port(self) -> HookPort | None:
        """The client's port; `None` before it starts and after it stopped."""
        return self._port

    def open(self, port: HookPort) -> None:
        """Begin to send. Raises `FixError` for a hook that watches another client already."""
        if self._port is not None:
            raise FixError("a trace hook watches one client; make another one for the next")
        self._port = port
        port.every(self.options.flush_seconds, self.flush)

    def close(self) -> None:
        """Send what waits, and take nothing more."""
        self.flush()
        self._port = None

    def append(self, topic: str, records: list[TraceRecord]) -> None:
        """Take `records` in, which are about messages of `topic`."""
        if self._port is None:
            self.dropped += len(records)
            return
        with self._lock:
            room = self.options.waiting_records_max - len(self._waiting)
            self.dropped += max(0, len(records) - room)
            self._waiting.extend((topic, record) for record in records[: max(0, room)])
            full = len(self._waiting) >= self.options.batch_records_max
        if full:
            self.flush()

    def flush(self) -> None:
        """Hand everything that waits over to be sent."""
        with self._lock:
            waiting, self._waiting = self._waiting, deque()
        by_topic: dict[str, list[TraceRecord]] = {}
        for topic, record in waiting:
            by_topic.setdefault(topic, []).append(record)
        for records in by_topic.values():
            size = self.options.batch_records_max
            for start in range(0, len(records), size):
                self._send(records[start : start + size])

    def _send(self, records: list[TraceRecord]) -> None:
        for body, keys in pack(records):
            message = Message(self.options.topic, body.encode(), keys=keys)
            if self._port is None or not self._port.send(message):
                self.dropped += len(records)
                log.info("traces dropped", dropped=self.dropped)
                return
