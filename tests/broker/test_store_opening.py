"""A store that is recovered in a thread while the loop goes on."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import attrs
import pytest

from mqframe.broker.broker import Broker
from mqframe.broker.sections import BrokerSections
from mqframe.broker.settings import BrokerSettings
from mqframe.broker.shared_log import SharedLog
from mqframe.broker.store_opening import StoreOpening, made_beside
from mqframe.core.errors import StoreError
from mqframe.hooks.manager import PluginManager
from mqframe.net.clock import SystemClock
from mqframe.store.message_store import MessageStore
from mqframe.store.recovered_store import RecoveredStore
from mqframe.store.settings import StoreSettings
from mqframe.store.upkeep.opening_progress import OpeningProgress


class Held(OpeningProgress):
    """Holds up the thread that opens the store until it is `released`; `entered`: it has begun."""

    def __init__(self) -> None:
        self.entered, self.released = threading.Event(), threading.Event()
        super().__init__(lambda: 0.0)

    def end(self) -> None:
        self.entered.set()
        assert self.released.wait(600)


@pytest.fixture
def sections(tmp_path: Path) -> BrokerSections:
    store = StoreSettings(directory=tmp_path / "store", commit_log_file_bytes=1 << 20, disk_limits=False)
    return BrokerSections(BrokerSettings(port=0, vip_port=False), store)


async def test_the_loop_goes_on_while_a_thread_recovers(sections: BrokerSections) -> None:
    progress, clock = Held(), SystemClock()

    def make(recovered: RecoveredStore) -> Broker:
        assert threading.current_thread() is threading.main_thread()
        return Broker(sections, clock, recovered=recovered)

    making = asyncio.ensure_future(made_beside(sections, clock, make, progress))
    await asyncio.to_thread(progress.entered.wait)
    assert not making.done()  # and this loop runs
    progress.released.set()
    broker = await making
    await broker.start()
    assert broker.address
    await broker.stop()


async def test_whoever_is_cancelled_leaves_a_store_that_others_can_open(sections: BrokerSections) -> None:
    progress = Held()
    making = asyncio.ensure_future(made_beside(sections, SystemClock(), lambda _: None, progress))
    await asyncio.to_thread(progress.entered.wait)
    making.cancel()
    await asyncio.sleep(0)
    with pytest.raises(StoreError, match="in use by another broker"):
        MessageStore.open(sections.store, SystemClock())
    progress.released.set()
    with pytest.raises(asyncio.CancelledError):
        await making
    MessageStore.open(sections.store, SystemClock()).abandon()


async def test_where_the_broker_cannot_be_made_the_store_is_let_go(sections: BrokerSections) -> None:
    def make(recovered: RecoveredStore) -> None:
        raise KeyError("a plugin")

    with pytest.raises(KeyError, match="a plugin"):
        await made_beside(sections, SystemClock(), make)
    MessageStore.open(sections.store, SystemClock()).abandon()


async def test_a_store_that_cannot_be_opened_says_so(sections: BrokerSections) -> None:
    store = MessageStore.open(sections.store, SystemClock())
    with pytest.raises(StoreError, match="in use by another broker"):
        await made_beside(sections, SystemClock(), lambda _: None)
    store.abandon()


@pytest.mark.parametrize("beside", [False, True])
async def test_the_store_is_opened_with_the_delays_of_the_levels(
    sections: BrokerSections, beside: bool
) -> None:
    configured: Any = sections
    sections = attrs.evolve(configured, store=attrs.evolve(configured.store, delay_levels="1s 2s"))
    found: list[tuple[int, ...]] = []

    if beside:
        await made_beside(
            sections, SystemClock(), lambda recovered: found.append(recovered.files.queues.delays)
        )
    else:
        opened = StoreOpening(lambda *arrival: None).store(
            sections, SystemClock(), SharedLog(), PluginManager()
        )
        found.append(opened.files.queues.delays)
        opened.abandon()
    assert found == [(1000, 2000)]
