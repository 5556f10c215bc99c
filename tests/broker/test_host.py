"""The broker of a directory and a port, made anew as whoever decides its role wants it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import attrs
import pytest
from mqframe_replication.settings import ReplicationSettings
from replicas import Pair

from mqframe.broker.broker import Broker
from mqframe.broker.host import BrokerHost
from mqframe.broker.sections import BrokerSections
from mqframe.core.errors import GiveUpError, StoreError


class Decider:
    """Has a broker of `sections`, whatever happens."""

    host: BrokerHost

    def __init__(self, sections: BrokerSections) -> None:
        self.sections = sections
        self.pause = ""
        self.done: list[str] = []
        self.problem: Exception | None = None

    async def start(self) -> None:
        await self.host.make(self.sections)
        await self.host.serve()

    async def stop(self) -> None:
        self.done.append("stop")
        self.problem = await self.host.end()

    def abandon(self) -> None:
        self.done.append("abandon")


def hosted(pair: Pair, **settings: object) -> tuple[BrokerHost, Decider]:
    sections = pair.sections("a", "NONE", {})
    broker: Any = sections.broker
    decider = Decider(attrs.evolve(sections, broker=attrs.evolve(broker, **settings)))
    return BrokerHost(pair.make, decider), decider


async def test_there_is_a_broker_between_start_and_stop(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        host, decider = hosted(pair)
        assert (host.present, host.address, host.is_registered) == (None, "", False)
        assert host.refusal == "no broker serves here"
        with pytest.raises(StoreError, match="the role of this broker changes at the moment"):
            _ = host.broker
        await host.start()
        assert host.address == host.broker.address
        assert (host.is_registered, host.refusal) == (True, "")
        decider.pause = "its role changes"
        assert host.refusal == "its role changes"
        await host.stop()
        assert (host.present, decider.problem, decider.done) == (None, None, ["stop"])
        await host.start()  # nobody holds the store
        await host.stop()


async def test_what_is_measured_is_that_of_the_broker_that_is_there(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        host, decider = hosted(pair)
        await host.start()
        measured = host.measure()
        assert measured is host.broker.measure() is host.measure()
        await host.end(leave=False)
        assert host.measure() is None
        await decider.start()
        assert host.measure() is host.broker.measure() is not measured
        await host.stop()


async def test_ports_that_were_any_free_ones_are_the_same_for_the_next_broker(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        host, decider = hosted(pair, operator_port=0, vip_port=True)
        await host.start()
        same = host.on_its_ports(decider.sections)
        assert f":{same.broker.port}" == host.address[-6:]
        assert f":{same.broker.operator_port}" == host.broker.operator_address[-6:]
        assert (same.broker.vip_port, same.replication.port) == (False, 0)
        assert host.on_its_ports(same) == same
        elected = ReplicationSettings(role="ELECTED", id=1)
        group = host.on_its_ports(attrs.evolve(decider.sections, replication=elected))
        assert group.replication.port is None  # known by the broker's
        await host.stop()


class Slow:
    """A start that lasts until `end` is there."""

    def __init__(self, broker: Broker) -> None:
        self.end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.opened = asyncio.Event()
        self._start = broker.start
        broker.start = self.start  # type: ignore[method-assign]

    async def start(self) -> None:
        await self._start()
        self.opened.set()
        await self.end


async def test_a_start_goes_on_when_it_has_opened_what_is_waited_for(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        host, decider = hosted(pair)
        failed: list[BaseException] = []
        slow = Slow(await host.make(decider.sections))
        await host.serve_once(slow.opened, failed.append)
        assert not slow.end.done()
        assert host.present is not None
        slow.end.set_result(None)
        await pair.settle()
        assert failed == []
        assert await host.end() is None


async def test_a_start_that_fails_later_is_told_of_and_leaves_no_broker(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        host, decider = hosted(pair)
        failed: list[BaseException] = []
        broker = await host.make(decider.sections)
        slow = Slow(broker)
        await host.serve_once(slow.opened, failed.append)
        slow.end.set_exception(problem := GiveUpError("nobody confirms"))
        await pair.settle()
        assert (failed, host.present) == ([problem], None)
        await broker.stop()


async def test_a_start_that_fails_before_is_raised(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        host, decider = hosted(pair)
        broker = await host.make(decider.sections)

        async def start() -> None:
            raise OSError("no port")

        broker.start = start  # type: ignore[method-assign]
        with pytest.raises(OSError, match="no port"):
            await host.serve_once(asyncio.Event(), lambda problem: None)
        assert host.present is None
        await broker.stop()


async def test_whoever_is_cancelled_leaves_the_end_to_the_next_who_waits(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        host, decider = hosted(pair)
        await host.start()
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        stop = host.broker.stop

        async def slow(*, leave: bool = True) -> None:
            await ended
            await stop(leave=leave)
            raise StoreError("the disk is full")

        host.broker.stop = slow  # type: ignore[method-assign]
        ending = asyncio.ensure_future(host.end())
        await pair.settle()
        ending.cancel()
        await asyncio.wait([ending])
        assert ending.cancelled()
        ended.set_result(None)
        assert str(await host.end()) == "the disk is full"
        assert await host.end() is None
        await decider.start()
        await host.stop()


async def test_a_host_that_is_abandoned_lets_the_store_go(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        host, decider = hosted(pair)
        await host.start()
        await host.abandon()
        assert (host.present, decider.done) == (None, ["abandon"])
        again, _ = hosted(pair)
        await again.start()
        await again.stop()
