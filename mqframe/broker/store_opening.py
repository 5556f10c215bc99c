"""How a broker comes to its store: opened at once, or recovered in a thread while the loop goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar

from mqframe.broker.chosen_services import service_names
from mqframe.broker.sections import BrokerSections
from mqframe.broker.shared_log import SharedLog
from mqframe.core.storage.log_reading import LogReading
from mqframe.hooks.interfaces.key_index import KeyIndexing, OpenIndex
from mqframe.hooks.manager import PluginManager
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

    def store(
        self, sections: BrokerSections, clock: LoopClock, shared: SharedLog, plugins: PluginManager
    ) -> MessageStore:
        """The store of `sections`. Raises `StoreError`, `PluginError`."""
        recovered = self.recovered or _recovery(sections, clock, plugins, None)()
        return MessageStore.of(
            recovered, clock, on_arrival=self.on_arrival, replicas=shared.replicas, copy=shared.copy
        )


def index_of(sections: BrokerSections, plugins: PluginManager) -> OpenIndex | None:
    """What opens the index of keys that a service brings; `None` where none does.

    Raises `PluginError`, `SettingError`.
    """
    found = plugins.brought(service_names(sections.broker, plugins), KeyIndexing)  # type: ignore[type-abstract]
    if found is None:
        return None
    service, indexing = found
    kind = plugins.settings_class(service)
    settings = None if kind is None else sections.of_service(kind)
    return indexing(settings).open


def _recovery(
    sections: BrokerSections, clock: LoopClock, plugins: PluginManager, progress: OpeningProgress | None
) -> Callable[[], RecoveredStore]:
    """What recovers the store of `sections`, in any thread. Raises `PluginError`, `SettingError`."""
    reading = plugins.brought(service_names(sections.broker, plugins), LogReading)
    return partial(
        recover_store,
        sections.store,
        clock,
        is_copy=sections.is_slave,
        progress=progress,
        delays=sections.delays,
        open_index=index_of(sections, plugins),
        log_reading=LogReading if reading is None else reading[1],
    )


async def made_beside(
    sections: BrokerSections,
    clock: LoopClock,
    make: Callable[[RecoveredStore], T],
    progress: OpeningProgress | None = None,
    plugins: PluginManager | None = None,
) -> T:
    """What `make` makes of the store of `sections`, which is recovered in a thread: that may take long.

    `progress`: is told how far it is; `plugins`: those of the broker. Whoever is cancelled waits for its end:
    else nobody could open the store again. Raises `StoreError`, and what `make` does; the directory is let go
    then.
    """
    work = _recovery(sections, clock, plugins or PluginManager(), progress)
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
