"""Submitted messages, gathered into batches by compiled code where they are as they usually are."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from typing import Any, Final, Protocol

from msgspec.structs import astuple

from mqframe.core.messages.checks import plain_bytes_max
from mqframe.core.messages.message import Message
from mqframe.core.messages.properties import RESERVED
from mqframe.core.sending.answer import split_send_result
from mqframe.core.sending.in_flight import InFlightCount
from mqframe_speedups._native import Gatherer, InFlight
from mqframe_speedups.switch import is_off

COUNTED_MAX: Final = 2**62
"""Limits above are counted by Python."""


class Limits(Protocol):
    """What of a producer's settings counts for batches."""

    body_bytes_max: int
    compress_over_bytes: int
    batch_messages_max: int
    batch_bytes_max: int


class SubmittedLimit(Protocol):
    """What was submitted and has no result. `count`: of it; `waiters`: who waits for room, in their order."""

    waiters: Any

    @property
    def count(self) -> Any:
        """How much."""


def count(count_max: int, bytes_max: int) -> InFlightCount | InFlight:
    """As `InFlightCount`, of compiled code where it can count so far."""
    if is_off() or max(count_max, bytes_max) > COUNTED_MAX:
        return InFlightCount(count_max, bytes_max)
    return InFlight(count_max, bytes_max)


def gatherer(
    open_batches: dict[str, Any],
    known_route: Callable[[str], object],
    waiting: SubmittedLimit,
    new_future: Callable[[], object],
    item: Callable[..., object],
    limits: Limits,
) -> Gatherer | None:
    """What takes usual messages of a producer into `open_batches`, by topic, and makes these; `None` where
    Python has to take all.

    `known_route`: gives the route of a topic that is known; `new_future`: makes what waits for a result;
    `item`: makes what Python keeps of a message.
    """
    if not isinstance(waiting.count, InFlight):
        return None
    loop = getattr(new_future, "__self__", None)
    for_loop = isinstance(loop, asyncio.AbstractEventLoop)  # promises refer to it, and no collector sees that
    body_below = min(
        limits.compress_over_bytes,
        plain_bytes_max(limits.body_bytes_max, limits.compress_over_bytes) + 1,
        COUNTED_MAX,
    )
    bytes_max = min(limits.batch_bytes_max, COUNTED_MAX)
    return Gatherer(
        open_batches,
        known_route,
        waiting.count,
        waiting.waiters,
        weakref.ref(loop) if for_loop else new_future,
        split_send_result,
        Message,
        astuple,
        item,
        RESERVED,
        body_below,
        limits.batch_messages_max,
        bytes_max,
    )
