"""A network that fails as told."""

from __future__ import annotations

import asyncio
from random import Random

import pytest
from echo import PORT, Echo, run
from mqframe_testing.simulation import Host, SimulatedLoop, Way


class Pair:
    """A client on host "near" and a server on host "far"."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self.near_host, self.far_host = Host(loop, "near"), Host(loop, "far")
        self.near, self.far = Echo(), Echo()
        self.loop = loop

    async def listen(self) -> None:
        await self.far_host.run(self.loop.create_server(lambda: self.far, "127.0.0.1", PORT))

    async def connect(self) -> None:
        await self.near_host.run(self.loop.create_connection(lambda: self.near, "127.0.0.1", PORT))


async def connected(loop: SimulatedLoop) -> Pair:
    pair = Pair(loop)
    await pair.listen()
    await pair.connect()
    return pair


def test_a_blocked_way_holds_everything_back_until_it_is_healed() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        pair = await connected(loop)
        loop.network.block("far", "near", one_way=True)
        pair.near.transport.write(b"one")
        await loop.clock.advance(1000)
        assert (pair.far.heard, pair.near.heard) == ([b"one"], [])
        loop.network.block("near", "far")
        loop.network.heal("other", "far")
        pair.near.transport.write(b"two")
        await loop.clock.advance(1000)
        assert (pair.far.heard, pair.near.heard) == ([b"one"], [])
        loop.network.heal()
        await loop.clock.advance(0)
        assert (pair.far.heard, pair.near.heard) == ([b"one", b"two"], [b"ONE", b"TWO"])
        assert loop.told == [
            "0.000 s: far > near is blocked",
            "1000.000 s: near <> far is blocked",
            "1000.000 s: other <> far is healed",
            "2000.000 s: all ways are healed",
        ]

    run(scenario)


@pytest.mark.parametrize("way", [("near", "far"), ("far", "near")])
def test_a_connection_is_opened_once_both_ways_are_open(way: tuple[str, str]) -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        pair = Pair(loop)
        await pair.listen()
        loop.network.block(*way, one_way=True)
        opening, given_up = asyncio.ensure_future(pair.connect()), asyncio.ensure_future(pair.connect())
        await loop.clock.advance(100)
        assert not opening.done()
        given_up.cancel()
        loop.network.heal("near", "far")
        await loop.clock.advance(0)
        assert opening.done()
        assert len(loop.network.between("far", "near")) == 1

    run(scenario)


def test_a_slow_way_takes_up_to_so_long_and_keeps_the_order() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        pair = await connected(loop)
        loop.network.delay("near", "far", 10, one_way=True)
        for letter in b"ABCDE":
            pair.near.transport.write(bytes([letter]))
        await loop.clock.advance(2)
        early.append(len(pair.far.heard))
        await loop.clock.advance(8)
        assert pair.far.text == b"ABCDE"

    early: list[int] = []
    for seed in range(20):
        run(scenario, Random(seed))
    assert len(set(early)) > 1


def test_a_slow_way_makes_opening_slow() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        pair = Pair(loop)
        await pair.listen()
        loop.network.delay("near", "far", 10)
        opening = asyncio.ensure_future(pair.connect())
        await loop.clock.advance(19)
        assert not opening.done()
        await loop.clock.advance(1)
        assert opening.done()

    run(scenario)  # without chance a delay takes all of its time


def test_what_a_lossy_way_loses_is_late_and_so_is_all_behind_it() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        pair = await connected(loop)
        loop.network.lose("near", "far", 0.5)
        seen = []
        for number in range(100):
            pair.near.transport.write(b"%02d" % number)
            await loop.clock.advance(0.01)
            seen.append(len(pair.far.text) // 2)
        assert any(had < number for number, had in enumerate(seen))
        await loop.clock.advance(100)
        assert pair.far.text == b"".join(b"%02d" % number for number in range(100))

    run(scenario, Random(3))


def test_a_cut_leaves_any_number_of_the_bytes_under_way_and_ends_both_sides() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        pair = await connected(loop)
        other = Echo()
        await loop.create_connection(lambda: other, "127.0.0.1", PORT)
        loop.network.delay("near", "far", 10)
        pair.near.transport.write(b"ABCDE")
        loop.network.cut("near", "far")
        await loop.settle()
        assert b"ABCDE".startswith(pair.far.text)
        lengths.add(len(pair.far.text))
        assert (pair.near.events, pair.far.events, other.events) == (["lost"], ["lost"], [])

    lengths: set[int] = set()
    for seed in range(60):
        run(scenario, Random(seed))
    assert lengths == set(range(6))


def test_nothing_that_waits_before_a_blocked_way_survives_a_cut() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        pair = await connected(loop)
        loop.network.block("near", "far", one_way=True)
        pair.near.transport.write(b"ABCDE")
        loop.network.cut("near", "far")
        await loop.settle()
        assert pair.far.text == b""

    for seed in range(10):
        run(scenario, Random(seed))


@pytest.mark.parametrize("size", range(8))
def test_a_connection_is_cut_at_the_byte_that_was_told(size: int) -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        pair = await connected(loop)
        loop.network.cut_after("near", "far", size)
        pair.near.transport.write(b"ABC")
        pair.near.transport.write(b"DEF")
        pair.near.transport.write(b"GHI")
        pair.near.transport.write(b"not any more")
        await loop.settle()
        assert pair.far.text == b"ABCDEFGHI"[:size]
        assert (pair.near.events, pair.far.events) == (["lost"], ["lost"])
        assert loop.network.way("near", "far").cut_after is None

    run(scenario, Random(size))


def test_a_host_that_loses_power_says_nothing_and_is_not_reached_until_it_is_back() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        pair = await connected(loop)
        pair.far.transport.write(b"X")
        loop.network.lose_power("far")
        await loop.clock.advance(1000)
        assert (pair.near.events, pair.near.heard, pair.far.events) == ([], [], [])
        pair.near.transport.write(b"Y")
        await loop.clock.advance(2)
        assert (pair.near.events, pair.far.heard) == (["lost"], [])
        loop.network.listeners.clear()
        opening = asyncio.ensure_future(pair.connect())
        await loop.clock.advance(1000)
        assert not opening.done()
        await pair.listen()
        await loop.clock.advance(0)
        assert opening.done()

    run(scenario, Random(1))


def test_ports_are_free_or_in_use() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        first = await loop.create_server(Echo, "127.0.0.1", 0)
        second = await loop.create_server(Echo, "127.0.0.1", 0)
        port = first.sockets[0].getsockname()[1]
        assert port != second.sockets[0].getsockname()[1]
        with pytest.raises(OSError, match="in use"):
            await loop.create_server(Echo, "127.0.0.1", port)
        first.close()
        await first.wait_closed()
        await loop.create_server(Echo, "127.0.0.1", port)

    run(scenario)


def test_ways_are_looked_at_and_changed_without_a_note() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        loop.network.double("a", "b", 0.25)
        assert loop.network.way("b", "a") == Way(doubles=0.25)
        loop.network.way("a", "b").delay = 2
        assert loop.network.way("a", "b") == Way(doubles=0.25, delay=2)
        assert loop.told == ["0.000 s: a <> b doubles 25%"]

    run(scenario)
