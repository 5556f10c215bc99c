"""A reader of logs of somebody else's: each start of the broker asks it, and Python reads what it leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.core.errors import PluginError
from mqframe.core.storage.record import decode_records
from mqframe.hooks.interfaces import BrokerPort, BrokerService, LogReading, LogRuns
from mqframe.hooks.interfaces.key_index import TakesKeys
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.specs import hookimpl


class Asked(LogReading):
    """Notes from where it is to read."""

    places: ClassVar[list[int]] = []
    indexes: ClassVar[list[TakesKeys | None]] = []

    def __init__(self, index: TakesKeys | None) -> None:
        super().__init__(index)
        self.indexes.append(index)

    def read(
        self, buffer: memoryview, at: int, base: int, apart: Sequence[str], *, crc: bool
    ) -> LogRuns | None:
        self.places.append(base + at)
        return super().read(buffer, at, base, apart, crc=crc)


class ReadingService(BrokerService):
    LogReading = Asked

    def __init__(self, port: BrokerPort) -> None:
        super().__init__()


class WrongReader(BrokerService):
    LogReading = int


class ReadingPlugin:
    @hookimpl
    def register_broker_services(self) -> dict[str, Any]:
        return {"reading": ReadingService, "wrong": WrongReader}


@pytest.fixture
def plugins() -> PluginManager:
    found = PluginManager(list)
    found.register(ReadingPlugin())
    return found


def test_the_first_service_that_brings_one_counts(plugins: PluginManager) -> None:
    assert plugins.brought(("delay_levels", "reading"), LogReading) == ("reading", Asked)
    assert plugins.brought(("delay_levels",), LogReading) is None
    with pytest.raises(PluginError, match="wrong: LogReading must be a class that inherits LogReading"):
        plugins.brought(("wrong",), LogReading)


async def test_a_start_asks_it(plugins: PluginManager) -> None:
    options = {"services": ("reading",)}
    async with ClusterScene(topics={"t": 1}, plugins=plugins, broker=options) as scene:
        for number in range(3):
            await scene.client.ok_send("t", f"a\x01{number}\x02")
        end = scene.cluster.broker.store.log.max_offset
        Asked.places.clear()
        Asked.indexes.clear()
        await scene.cluster.restart_broker()
        assert Asked.indexes == [scene.cluster.broker.store.files.key_index]
        assert Asked.places == [end]
        answer = await scene.client.pull("t")
        assert [m.properties["a"] for m in decode_records(answer.body)] == ["0", "1", "2"]
