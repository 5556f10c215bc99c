"""Brokers as an origin, asked over the wire."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from mqframe.core.cluster.route import TopicRoute
from mqframe.core.errors import ConnectError, FixError, RetryError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import DLQ_PREFIX, RETRY_PREFIX, is_system_topic
from mqframe.log import get_logger
from mqframe_spark.pull_window import PULL_MESSAGES
from mqframe_spark.retrying import retrying
from mqframe_spark.source.deletions import Deletions, is_registered, missing_of
from mqframe_spark.source.options import SourceOptions
from mqframe_spark.source.positions import Positions
from mqframe_spark.source.progress import commit_forward
from mqframe_spark.wire import Wire, connect

log = get_logger("spark")

T = TypeVar("T")


class BrokerOrigin:
    """See `Origin`. `wire` and `sleep` are handed in by tests."""

    def __init__(
        self,
        options: SourceOptions,
        wire: Wire | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._options = options
        self._sleep = sleep
        self._pauses = options.pauses
        self._deleted = Deletions(options)
        self._waiting: set[str] = set()
        self._wire = wire or connect(options.nameserver, options.group, options.access)

    def queues(self, *, patient: bool = False, known: Positions | None = None) -> list[MessageQueue]:
        """See `Origin`. A name server forgets a broker that is away, and topics with it."""
        known = known or {}
        for pause in (*self._pauses, None):
            found, problem = self._find(patient)
            missing = missing_of(known, found)
            registered = {broker: self._registered(broker) for _, broker in missing}
            if any(registered.values()):
                # A broker that came back between the two questions has its topics again.
                found, problem = self._find(patient)
                missing = missing_of(known, found)
            deleted = [pair for pair in missing if registered.get(pair[1])]
            self._deleted.report(deleted, known)
            if found or problem is None or (deleted and deleted == missing):
                break
            if pause is None:
                raise problem
            self._sleep(pause)
        return found

    def _find(self, patient: bool) -> tuple[list[MessageQueue], FixError | None]:
        """Queues that can be read, and what is wrong with topics without any. Raises it unless `patient`."""
        found: list[MessageQueue] = []
        problem: FixError | None = None
        for topic in self._topics():
            try:
                route = self._route(topic)
            except FixError as error:
                if not patient:
                    raise
                problem = error
                self._wait_for(topic, str(error))
                continue
            self._waiting.discard(topic)
            found += [
                queue
                for queue in route.read_queues()
                if not patient or route.master_address(queue.broker_name) is not None
            ]
        return sorted(found), problem

    def _wait_for(self, name: str, reason: str) -> None:
        """Say that a topic or a broker cannot be read now, once until it can."""
        if name not in self._waiting:
            self._waiting.add(name)
            log.warning("what cannot be reached waits, the rest goes on", name=name, reason=reason)

    def _registered(self, broker: str) -> bool:
        return self._retrying(lambda: is_registered(self._wire, broker))

    def _topics(self) -> Iterable[str]:
        if self._options.topics:
            return self._options.topics
        names = self._retrying(self._wire.topics)
        # What the system keeps for itself is read only by name.
        return sorted(
            name
            for name in names
            if self._options.wants(name)
            and not is_system_topic(name)
            and not name.startswith((RETRY_PREFIX, DLQ_PREFIX))
        )

    def _route(self, topic: str) -> TopicRoute:
        route = self._retrying(lambda: self._wire.route(topic))
        if not route.read_queues():
            raise FixError(
                f"option topic = {topic!r}: no broker lets its queues be read; check its permission and "
                "number of read queues"
            )
        return route

    def beginnings(self, queues: Iterable[MessageQueue]) -> dict[MessageQueue, int]:
        """See `Origin`."""
        return {queue: self._ask(self._wire.min_offset, queue) for queue in queues}

    def heads(self, queues: Iterable[MessageQueue], *, patient: bool = False) -> dict[MessageQueue, int]:
        """See `Origin`. Of brokers that cannot be reached at least one must be, be it `patient`."""
        found: dict[MessageQueue, int] = {}
        problem: RetryError | None = None
        away: set[str] = set()
        for queue in queues:
            if queue.broker_name in away:
                continue
            try:
                found[queue] = self._ask(self._wire.max_offset, queue)
                self._waiting.discard(queue.broker_name)
            except ConnectError as error:
                if not patient:
                    raise
                away.add(queue.broker_name)
                self._wait_for(queue.broker_name, str(error))
                problem = error
        if problem is not None and not found:
            raise problem
        return {queue: end for queue, end in found.items() if queue.broker_name not in away}

    def at_time(self, queue: MessageQueue, timestamp_ms: int) -> int:
        """See `Origin`."""
        return self._retrying(lambda: self._wire.offset_at(queue, timestamp_ms))

    def of_group(self, queue: MessageQueue, group: str) -> int | None:
        """See `Origin`."""
        return self._retrying(lambda: self._wire.group_offset(group, queue))

    def groups_of(self, topic: str) -> list[str]:
        """See `Origin`; with those that only subscribe it."""
        return self._retrying(lambda: self._wire.groups_of(topic))

    def groups(self) -> list[str]:
        """See `Origin`."""
        return self._retrying(self._wire.groups)

    def bytes_of(self, queue: MessageQueue, start: int, end: int) -> int:
        """See `Origin`; from the first records, as brokers do not tell."""
        asked = [(start, min(end - start, PULL_MESSAGES))]
        found, *_ = self._retrying(lambda: self._wire.pull(queue, asked, "*"))
        count = found.next_offset - start
        return (end - start) * len(found.records) // count if count > 0 else 0

    def commit(self, group: str, queue: MessageQueue, offset: int) -> None:
        """See `Origin`."""
        commit_forward(self._wire, group, queue, offset, sleep=self._sleep, pauses=self._pauses)

    def _retrying(self, call: Callable[[], T]) -> T:
        return retrying(call, sleep=self._sleep, pauses=self._pauses)

    def close(self) -> None:
        """Close the connections."""
        self._wire.close()

    def _ask(self, call: Callable[[MessageQueue], int], queue: MessageQueue) -> int:
        try:
            return self._retrying(lambda: call(queue))
        except ConnectError as problem:
            raise ConnectError(
                f"topic {queue.topic}: broker {queue.broker_name} cannot be reached: {problem}"
            ) from problem
