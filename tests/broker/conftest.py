"""A broker and a plain client of the protocol, on a clock that only the test moves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Self, TypeVar

from mqframe_testing.manual_clock import ManualClock

from mqframe.broker.due_task import TimedTask
from mqframe.broker.sending.internal_writer import InternalWriter
from mqframe.broker.sending.redelivery import Redelivery
from mqframe.broker.settings import BrokerSettings
from mqframe.broker.tables.identity import Identity
from mqframe.broker.tables.in_force import InForce
from mqframe.broker.tables.left_out import LeftOut
from mqframe.broker.tables.live_settings import LiveSection, LiveSettings
from mqframe.core.consuming.offset_table import OffsetTable
from mqframe.core.delay.levels import USUAL_DELAYS
from mqframe.core.delay.rules import DelayRules
from mqframe.core.errors import StoreUnavailable
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.storage.record import decode_record, decode_records
from mqframe.core.storage.stored import Stored
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings

S = TypeVar("S")


class LocalStore:
    """A broker's store and its writer, without the broker around them: what of a port many parts need."""

    def __init__(self, directory: Path, **options: Any) -> None:
        values = {"commit_log_file_bytes": 1 << 20, "queue_file_bytes": 20_000, "disk_limits": False}
        settings = StoreSettings(directory=directory, **(values | options))
        self.clock = ManualClock()
        self.store = MessageStore.open(settings, self.clock)
        self.delays = DelayRules(USUAL_DELAYS, self.clock.now_ms)
        identity = Identity(BrokerSettings(host="127.0.0.1"))
        self.writer = InternalWriter(self.store, self.delays, identity)
        self.left_out = LeftOut(self.clock, identity)
        self.redelivery = Redelivery(self.writer, self.left_out)
        self.identity = identity
        self.offsets = OffsetTable(self.clock)
        self.live = LiveSettings(BrokerSettings(), settings)
        self.in_force = InForce(self.live)
        self.directory = directory

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.store.stop()

    def settings(self, kind: type[S]) -> LiveSection[S]:
        """As of a `BrokerPort`."""
        return self.live.section(kind)

    def offered(self, name: str) -> None:
        """As of a `BrokerPort`: there is nobody who offers anything."""

    def due_task(self, work: Callable[[], Awaitable[int | None]], name: str) -> TimedTask:
        """As of a `BrokerPort`."""
        return TimedTask(self.clock, work, name)

    def put(self, topic: str, body: bytes = b"body", queue_id: int = 0, **more: Any) -> Stored:
        """Store a message; keyword arguments in capitals are properties."""
        properties = {name: str(value) for name, value in more.items() if name.isupper()}
        rest = {name: value for name, value in more.items() if not name.isupper()}
        values = {"born_timestamp": self.clock.now_ms(), "heed_delay": False, **rest}
        stored = self.writer.put(topic, queue_id, body, properties, **values)
        self.store.dispatch.now()
        return stored

    def at(self, offset: int) -> ReceivedMessage:
        """The message that begins at log offset `offset`."""
        record = self.store.search.record_at(offset, unconfirmed=True)
        assert record is not None
        return decode_record(record)

    def messages(self, topic: str, queue_id: int = 0) -> list[ReceivedMessage]:
        """All messages of a queue, in order."""
        self.store.dispatch.now()
        found = self.store.reads.get(topic, queue_id, 0, 10_000, bytes_max=1 << 30)
        return [message for part in found.parts for message in decode_records(part)]

    def bodies(self, topic: str, queue_id: int = 0) -> list[bytes]:
        return [message.body for message in self.messages(topic, queue_id)]

    def take_only(self, count: int | None) -> None:
        """Have the store take `count` single messages more and refuse others; `None`: it takes all again."""
        if count is None:
            del self.store.writes.put
            return
        real, left = self.store.writes.put, iter(range(count))

        def put(incoming: Any) -> Stored:
            if next(left, None) is None:
                raise StoreUnavailable("the disk is full")
            return real(incoming)

        self.store.writes.put = put  # type: ignore[method-assign]
