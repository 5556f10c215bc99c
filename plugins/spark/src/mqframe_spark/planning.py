"""What the driver asks brokers: which queues there are, where they begin and end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from mqframe.core.errors import ConnectError, FixError, RetryError
from mqframe.core.message import MessageQueue
from mqframe.core.route import TopicRoute
from mqframe.log import get_logger
from mqframe_spark.options import LATEST, SourceOptions
from mqframe_spark.retrying import retrying
from mqframe_spark.wire import Wire, connect

log = get_logger("spark")


class Planner:
    """Asks for routes and offsets. Used on the driver only; `close` when done. Tests hand in the rest."""

    def __init__(
        self,
        options: SourceOptions,
        wire: Wire | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._sleep = sleep
        self._options = options
        self._wire = wire or connect(options.nameserver, options.group)

    def route(self) -> TopicRoute:
        """Where the topic lives now. Raises `FixError` when it does not exist or has no queue to read."""
        route = retrying(lambda: self._wire.route(self._options.topic), sleep=self._sleep)
        if not route.read_queues():
            raise FixError(
                f"option topic = {self._options.topic!r}: no broker lets its queues be read; check its "
                "permission and number of read queues"
            )
        return route

    def beginnings(self, queues: Iterable[MessageQueue]) -> dict[MessageQueue, int]:
        """The oldest offset of each of `queues`."""
        return {queue: self._ask(self._wire.min_offset, queue) for queue in queues}

    def heads(self, route: TopicRoute, *, patient: bool = False) -> dict[MessageQueue, int]:
        """The end of every queue that has a master.

        `patient`: leaves out, with a warning, the queues of brokers that cannot be reached, as long as one
        can; else raises.
        """
        found: dict[MessageQueue, int] = {}
        problem: RetryError | None = None
        by_broker: dict[str, list[MessageQueue]] = {}
        for queue in route.read_queues():
            by_broker.setdefault(queue.broker_name, []).append(queue)
        for broker, queues in by_broker.items():
            if patient and route.master_address(broker) is None:
                continue
            try:
                found |= {queue: self._ask(self._wire.max_offset, queue) for queue in queues}
            except ConnectError as error:
                if not patient:
                    raise
                log.warning("broker cannot be reached, its queues wait", broker=broker, reason=str(error))
                problem = error
        if problem is not None and not found:
            raise problem
        return found

    def initial(self) -> dict[MessageQueue, int]:
        """Where a stream begins that has no checkpoint."""
        route = self.route()
        if self._options.starting_offsets == LATEST:
            return self.heads(route)
        return self.beginnings(route.read_queues())

    def close(self) -> None:
        """Close the connections."""
        self._wire.close()

    def _ask(self, call: Callable[[MessageQueue], int], queue: MessageQueue) -> int:
        return retrying(lambda: call(queue), sleep=self._sleep)
