"""Topics that were deleted while a stream reads them: what was not read of them is gone."""

from __future__ import annotations

from collections.abc import Iterable

from mqframe.core.errors import FixError
from mqframe.core.messages.message import MessageQueue
from mqframe_spark.source.options import SourceOptions
from mqframe_spark.source.planning import report
from mqframe_spark.source.positions import Positions
from mqframe_spark.wire import Wire


def missing_of(known: Iterable[MessageQueue], found: Iterable[MessageQueue]) -> list[tuple[str, str]]:
    """Topics and brokers among the queues `known` that no queue of `found` has."""
    have = {(queue.topic, queue.broker_name) for queue in found}
    return sorted({(queue.topic, queue.broker_name) for queue in known} - have)


def is_registered(wire: Wire, broker: str) -> bool:
    """Whether name servers know the master `broker`: each registers a topic of its own name."""
    try:
        return wire.route(broker).master_address(broker) is not None
    except FixError:
        return False


def is_deleted(wire: Wire, queue: MessageQueue) -> bool:
    """Whether the broker of `queue` is there, but does not have its topic any more.

    A name server forgets a broker that is away, and its topics with it. Raises `RetryError` when none
    answers.
    """
    if not is_registered(wire, queue.broker_name):
        return False
    try:
        return queue not in wire.route(queue.topic).read_queues()
    except FixError:
        return True


class Deletions:
    """Reports each deleted topic of a broker once, as `options` want data loss to be reported."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._told: set[tuple[str, str]] = set()

    def report(self, gone: Iterable[tuple[str, str]], known: Positions) -> None:
        """`gone`: topics and brokers; `known`: how far their queues were read. Raises `DataLoss`."""
        for topic, broker in gone:
            if (topic, broker) in self._told:
                continue
            read = {
                queue.queue_id: offset
                for queue, offset in sorted(known.items())
                if (queue.topic, queue.broker_name) == (topic, broker)
            }
            report(
                self._options,
                f"messages may be missing: topic {topic} is gone from broker {broker}, deleted or closed to "
                f"readers; its queues were read up to {read}; leave it out of the options and use a new "
                "checkpointLocation, or set failOnDataLoss to false to go on without it",
            )
            self._told.add((topic, broker))
