"""When a message is due, and when it is too old."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

LATE_MS: Final = 1000
"""A message that is due this soon is handed out: a worker waits the rest more exactly than a broker."""


def due_ms(headers: Mapping[str, Any] | None) -> int | None:
    """When the task in `headers` is to run, ms since 1970; `None`: at once, or nobody here can tell.

    Celery puts the time into the header `eta`, with its offset from UTC. A time without one means the time
    zone of the worker, which only the worker knows: such a task waits there.
    """
    eta = (headers or {}).get("eta")
    if isinstance(eta, str):
        try:
            eta = datetime.fromisoformat(eta)
        except ValueError:
            return None  # the worker says what is wrong with it
    if not isinstance(eta, datetime) or eta.tzinfo is None:
        return None
    # Never early: what is left of a millisecond counts as a whole one.
    return -int(-eta.timestamp() * 1000 // 1)


def deliver_ms(due: int | None, now_ms: int, delay_max_ms: int) -> int | None:
    """When the broker is to hand out what is due at `due`; `None`: at once.

    What is further away than the broker can wait is handed out in between, and sent again from there.
    """
    if due is None or due <= now_ms:
        return None
    return min(due, now_ms + delay_max_ms)


def waits_again(due: int, stored_ms: int, now_ms: int, delay_max_ms: int) -> bool:
    """Whether a message that came before its time, as brokers wait no longer, is to be sent again.

    `stored_ms`: when it was sent. What came at once waits at the worker: its broker knows no such delays, and
    would send it round and round.
    """
    asked = min(due, stored_ms + delay_max_ms) - stored_ms
    return due - now_ms > LATE_MS and 2 * (now_ms - stored_ms) > asked


def since_ms(born_ms: int, headers: Mapping[str, Any] | None) -> int:
    """From when on a message grows old, ms since 1970: before it is due it is in no queue."""
    return max(born_ms, due_ms(headers) or 0)


def lifetime_ms(expiration: object, queue_ms: int | None) -> int | None:
    """The shorter of a message's own lifetime and that of messages of its queue, ms; `None`: for ever.

    `expiration`: the property of AMQP, ms as a text.
    """
    try:
        own = int(str(expiration)) if expiration is not None else None
    except ValueError:
        own = None
    known = [each for each in (own, queue_ms) if each is not None]
    return min(known) if known else None
