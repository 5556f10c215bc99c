"""How many messages had expired: counted by topic, logged now and then, told to OpenTelemetry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from threading import Lock
from typing import Any, Final

from mqframe.core.clock import Clock
from mqframe.core.messages.log_fields import log_fields
from mqframe.core.messages.message import ReceivedMessage
from mqframe.log import get_logger

log = get_logger("client")

TOLD_AGAIN_SECONDS: Final = 60.0
"""Between two lines of the log about a topic."""
METRIC: Final = "mqframe.client.expired.messages"


class ExpiredCount:
    """Counts messages that nobody handled since they had expired. Any thread may call it.

    `meter_provider`: of OpenTelemetry, `None`: the global one. Without its API nothing is told there.
    """

    def __init__(self, meter_provider: Any = None) -> None:
        self._lock = Lock()
        self._counts: Counter[str] = Counter()
        self._told: dict[str, tuple[float, int]] = {}
        self._counter = _counter(meter_provider)

    def by_topic(self) -> dict[str, int]:
        """How many there were of each topic."""
        with self._lock:
            return dict(self._counts)

    def note(self, messages: Sequence[ReceivedMessage], group: str, then: str, clock: Clock) -> None:
        """`messages`, one at least, of one topic, had expired for `group`; `then`: what became of them."""
        topic, now = messages[0].topic, clock.monotonic()
        with self._lock:
            self._counts[topic] += len(messages)
            count = self._counts[topic]
            told_at, told = self._told.get(topic, (None, 0))
            news = told_at is None or now - told_at >= TOLD_AGAIN_SECONDS
            if news:
                self._told[topic] = now, count
        if self._counter is not None:
            about = {
                "messaging.system": "rocketmq",
                "messaging.destination.name": topic,
                "messaging.consumer.group.name": group,
                "mqframe.expired.then": then,
            }
            self._counter.add(len(messages), about)
        if news:
            fields = log_fields(messages[:1], group)
            log.warning("messages had expired", then=then, expired=count - told, in_all=count, **fields)


def _counter(provider: Any) -> Any:
    try:
        from opentelemetry import metrics
    except ModuleNotFoundError:
        return None
    meter = metrics.get_meter("mqframe_expiry", meter_provider=provider)
    return meter.create_counter(
        METRIC, "{message}", "Number of messages that were not handled since they had expired."
    )
