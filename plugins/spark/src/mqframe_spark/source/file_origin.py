"""Store directories as an origin: queue files say what there is; no broker is asked."""

from __future__ import annotations

from collections.abc import Iterable

from mqframe.core.errors import FixError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import DLQ_PREFIX, RETRY_PREFIX, is_system_topic
from mqframe.store.reader import StoreReader
from mqframe_spark.source.deletions import Deletions, missing_of
from mqframe_spark.source.options import SourceOptions
from mqframe_spark.source.positions import Positions
from mqframe_spark.source.progress import commit_forward
from mqframe_spark.wire import Wire, connect


class FileOrigin:
    """See `Origin`. What a running broker has not dispatched to its queue files yet does not count."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._stores = {store.broker: StoreReader(store.path, store.broker) for store in options.path}
        self._deleted = Deletions(options)
        self._progress: Wire | None = None

    def queues(self, *, patient: bool = False, known: Positions | None = None) -> list[MessageQueue]:
        """See `Origin`."""
        found = [
            MessageQueue(topic, broker, queue_id)
            for broker, store in self._stores.items()
            for topic in store.topics()
            if self._wanted(topic)
            for queue_id in store.queue_ids(topic)
        ]
        missing = set(self._options.topics) - {queue.topic for queue in found}
        self._deleted.report(missing_of(known or {}, found), known or {})
        if missing and not patient:
            folders = ", ".join(str(store.path) for store in self._options.path)
            raise FixError(f"option topic = {min(missing)!r}: no queue of it is in {folders}")
        return sorted(found)

    def _wanted(self, topic: str) -> bool:
        if self._options.topic_pattern and (
            is_system_topic(topic) or topic.startswith((RETRY_PREFIX, DLQ_PREFIX))
        ):
            return False
        return self._options.wants(topic)

    def beginnings(self, queues: Iterable[MessageQueue]) -> dict[MessageQueue, int]:
        """See `Origin`."""
        return {queue: self._range(queue)[0] for queue in queues}

    def heads(self, queues: Iterable[MessageQueue], *, patient: bool = False) -> dict[MessageQueue, int]:
        """See `Origin`."""
        return {queue: self._range(queue)[1] for queue in queues}

    def _range(self, queue: MessageQueue) -> tuple[int, int]:
        return self._store(queue).queue_range(queue.topic, queue.queue_id)

    def _store(self, queue: MessageQueue) -> StoreReader:
        try:
            return self._stores[queue.broker_name]
        except KeyError:
            raise FixError(
                f"option path: no folder is named {queue.broker_name}, of which offsets are given; name it "
                f"as {queue.broker_name}=folder"
            ) from None

    def at_time(self, queue: MessageQueue, timestamp_ms: int) -> int:
        """See `Origin`."""
        store = self._store(queue)
        low, high = store.queue_range(queue.topic, queue.queue_id)
        while low < high:
            middle = (low + high) // 2
            [message] = store.records(queue.topic, queue.queue_id, middle, middle + 1)
            if message.store_timestamp < timestamp_ms:
                low = middle + 1
            else:
                high = middle
        return low

    def of_group(self, queue: MessageQueue, group: str) -> int | None:
        """As the store's folder has it saved."""
        return self._store(queue).group_offset(group, queue.topic, queue.queue_id)

    def groups_of(self, topic: str) -> list[str]:
        """As the stores' folders have them saved."""
        return sorted({group for store in self._stores.values() for group in store.groups_of(topic)})

    def groups(self) -> list[str]:
        """As the stores' folders have them saved."""
        return sorted({group for store in self._stores.values() for group in store.groups()})

    def bytes_of(self, queue: MessageQueue, start: int, end: int) -> int:
        """See `Origin`; from the queue's entries."""
        return self._store(queue).queue_bytes(queue.topic, queue.queue_id, start, end)

    def commit(self, group: str, queue: MessageQueue, offset: int) -> None:
        """See `Origin`. Files take no progress: the broker that a folder is named after does."""
        if self._progress is None:
            self._progress = connect(self._options.nameserver, self._options.group, self._options.access)
        commit_forward(self._progress, group, queue, offset, pauses=self._options.pauses)

    def close(self) -> None:
        """Close the connections, if there are any."""
        if self._progress is not None:
            self._progress.close()
            self._progress = None
