"""An index of keys of somebody else's: the broker feeds it, asks it, and gives it again what it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.core.errors import PluginError
from mqframe.core.requests.messages import QueryMessage
from mqframe.core.storage.record import decode_records
from mqframe.hooks.interfaces import (
    BrokerPort,
    BrokerService,
    KeyIndexing,
    KeyIndexPlace,
    KeyQuery,
    QueryFound,
    RecordLookup,
)
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.specs import hookimpl


class InMemory:
    """Log offsets by topic and key; gone with the process."""

    repeat_from = 0

    def __init__(self) -> None:
        self.offsets: dict[tuple[str, str], list[int]] = {}

    def add(self, topic: str, indexed: Sequence[tuple[int, Sequence[str]]], timestamp: int) -> None:
        for offset, keys in indexed:
            for key in keys:
                self.offsets.setdefault((topic, key), []).append(offset)

    def write(self) -> None:
        pass

    def recover(self, log: Any, noted: Any, start: int, *, torn: bool) -> int:
        return log.log_start

    def rewind(self, log_offset: int) -> None:
        for found in self.offsets.values():
            found[:] = [offset for offset in found if offset < log_offset]

    def rows(self) -> list[Any]:
        return []

    def due(self, *, thorough: bool) -> tuple[()]:
        return ()

    def synced(self, files: Any) -> None:
        return None

    def follow_log(self, log_start: int) -> int:
        return 0

    def query(self, asked: KeyQuery, find: RecordLookup) -> QueryFound:
        found = [find(offset) for offset in reversed(self.offsets.get(asked[:2], []))]
        return QueryFound([bytes(each[1]) for each in found if each is not None][: asked.most], 0, 0)

    def close(self) -> None:
        pass


class InMemoryIndexing(KeyIndexing):
    made: ClassVar[list[Any]] = []

    def open(self, place: KeyIndexPlace) -> InMemory:
        self.made.append(self.settings)
        return InMemory()


class Finder(BrokerService):
    KeyIndexing = InMemoryIndexing

    def __init__(self, port: BrokerPort) -> None:
        super().__init__()


class Broken(BrokerService):
    KeyIndexing = int


class Plugin:
    @hookimpl
    def register_broker_services(self) -> dict[str, Any]:
        return {"finder": Finder, "broken": Broken}


@pytest.fixture
def plugins() -> PluginManager:
    found = PluginManager(list)
    found.register(Plugin())
    return found


def test_the_first_service_that_brings_one_counts(plugins: PluginManager) -> None:
    assert plugins.brought(("delay_levels", "finder"), KeyIndexing) == ("finder", InMemoryIndexing)
    assert plugins.brought(("delay_levels",), KeyIndexing) is None
    with pytest.raises(PluginError, match="broken: KeyIndexing must be a class that inherits KeyIndexing"):
        plugins.brought(("broken",), KeyIndexing)


async def test_it_has_what_is_stored_and_after_a_start_what_the_log_holds(plugins: PluginManager) -> None:
    async def bodies(world: Any, key: str) -> list[bytes]:
        asked = QueryMessage(topic="t", key=key, max_num=9, begin_timestamp=0, end_timestamp=2**63 - 1)
        answer = await world.client.invoke(asked)
        return [message.stored_body for message in decode_records(answer.body)]

    InMemoryIndexing.made.clear()
    async with ClusterScene(topics={"t": 2}, plugins=plugins, broker={"services": ("finder",)}) as world:
        for number in range(3):
            await world.client.ok_send("t", f"KEYS\x01all k{number}\x02", body=b"%d" % number)
        assert await bodies(world, "all") == [b"2", b"1", b"0"]
        await world.cluster.restart_broker()
        assert await bodies(world, "all") == [b"2", b"1", b"0"]
        assert await bodies(world, "k1") == [b"1"]
        assert InMemoryIndexing.made == [None, None]
