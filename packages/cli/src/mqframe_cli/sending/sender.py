"""Sends what comes, not faster than asked for, and counts what was stored."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mqframe import Producer
    from mqframe.core.messages.message import SendResult
    from mqframe_cli.sending.records import Outgoing

WAITING_MAX: Final = 10_000
"""Messages on their way at once."""
ROWS_MAX: Final = 20
"""Results that are listed for people; of more there is one line."""


class SendSummary:
    """What became of the messages. `every`: keep a row for each, however many they are."""

    def __init__(self, *, every: bool) -> None:
        self._every = every
        self._queues: set[Any] = set()
        self._statuses: Counter[str] = Counter()
        self.rows: list[dict[str, Any]] = []

    @property
    def count(self) -> int:
        """Messages that were stored."""
        return self._statuses.total()

    def take(self, result: SendResult) -> None:
        """Count one."""
        self._queues.add(result.queue)
        self._statuses[result.status.name] += 1
        if self._every or self.count <= ROWS_MAX:
            self.rows.append(sent_row(result))

    def summary(self, seconds: float) -> str:
        """All of them in one line."""
        statuses = ", ".join(f"{name} {count:,}" for name, count in sorted(self._statuses.items()))
        return f"{self.count:,} messages in {len(self._queues)} queues, {seconds:.1f} s: {statuses}"


def due_in(count: int, rate: float | None, elapsed: float) -> float:
    """Seconds until the next message may be sent, after `count` in `elapsed` s, at `rate` a second."""
    return 0.0 if rate is None else max(0.0, count / rate - elapsed)


def send_all(producer: Producer, messages: Iterable[Outgoing], sent: SendSummary, rate: float | None) -> None:
    """Send `messages` in their order, `rate` a second at most. Raises what a send raises, and stops there.

    What was on its way then is waited for and counted.
    """
    waiting: deque[Future[SendResult]] = deque()
    started = time.monotonic()
    try:
        for number, each in enumerate(messages):
            if (pause := due_in(number, rate, time.monotonic() - started)) > 0:
                time.sleep(pause)
            if each.later:
                _settle(waiting, sent, leave=0)
                sent.take(producer.send(each.message, sharding_key=each.sharding_key, **each.later))
            else:
                waiting.append(producer.submit(each.message, sharding_key=each.sharding_key))
                _settle(waiting, sent, leave=WAITING_MAX)
    finally:
        _settle(waiting, sent, leave=0)


def _settle(waiting: deque[Future[SendResult]], sent: SendSummary, *, leave: int) -> None:
    while len(waiting) > leave or (waiting and waiting[0].done()):
        sent.take(waiting.popleft().result())


def sent_row(result: SendResult) -> dict[str, Any]:
    """What is shown of one send."""
    row = {
        "status": result.status.name,
        "message_id": result.message_id,
        "offset_message_id": result.offset_message_id,
        "broker": result.queue.broker_name,
        "queue": result.queue.queue_id,
        "offset": result.queue_offset,
    }
    return row | ({"recall_handle": result.recall_handle} if result.recall_handle else {})
