"""How a broker comes to its store: opened at once, or recovered in a thread while the loop goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar

from mqframe.broker.sections import BrokerSections
from mqframe.broker.shared_log import SharedLog
from mqframe.net.clock import LoopClock
from mqframe.store.appending.inline_dispatch import OnArrival
from mqframe.store.message_store import MessageStore
from mqframe.store.recovered_store import RecoveredStore, recover_store
from mqframe.store.upkeep.opening_progress import OpeningProgress

T = TypeVar("T")


class StoreOpening(NamedTuple):
    """`on_arrival`: hears of new messages; `recovered`: what was recovered of the store before."""

    on_arrival: OnArrival
    recovered: RecoveredStore | None = None

    def store(self, sections: BrokerSections, clock: LoopClock, shared: SharedLog) -> MessageStore:
        """The store of `sections`. Raises `StoreError`."""
        recovered = self.recovered
        if recovered is None:
            recovered = recover_store(
                sections.store, clock, is_copy=sections.is_slave, delays=sections.delays
            )
        return MessageStore.of(
            recovered, clock, on_arrival=self.on_arrival, replicas=shared.replicas, copy=shared.copy
        )


async def made_beside(
    sections: BrokerSections,
    clock: LoopClock,
    make: Callable[[RecoveredStore], T],
    progress: OpeningProgress | None = None,
) -> T:
    """What `make` makes of the store of `sections`, which is recovered in a thread: that may take long.

    `progress`: is told how far it is. Whoever is cancelled waits for its end: else nobody could open the
    store again. Raises `StoreError`, and what `make` does; the directory is let go then.
    """
    work = partial(
        recover_store,
        sections.store,
        clock,
        is_copy=sections.is_slave,
        progress=progress,
        delays=sections.delays,
    )
    recovering = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        recovered = await asyncio.shield(recovering)
    except asyncio.CancelledError:
        await asyncio.wait({recovering})
        if recovering.exception() is None:
            recovering.result().abandon()
        raise
    try:
        return make(recovered)
    except BaseException:
        recovered.abandon()
        raise
