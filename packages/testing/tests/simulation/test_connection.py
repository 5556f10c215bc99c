"""Connections in memory: bytes in order, and ends behind them."""

from __future__ import annotations

import gc
import weakref
from random import Random

import pytest
from echo import PORT, Echo, run
from hypothesis import given
from hypothesis import strategies as st
from mqframe_testing.simulation import SimulatedLoop
from mqframe_testing.simulation.connection import READ_BYTES_MAX


async def connected(loop: SimulatedLoop) -> tuple[Echo, Echo]:
    near, far = Echo(), Echo()
    await loop.create_server(lambda: far, "127.0.0.1", PORT)
    await loop.create_connection(lambda: near, "127.0.0.1", PORT)
    return near, far


def test_bytes_go_both_ways_and_the_end_comes_behind_them() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        near, far = Echo(), Echo()
        server = await loop.create_server(lambda: far, "127.0.0.1", PORT)
        transport, _ = await loop.create_connection(lambda: near, "127.0.0.1", PORT)
        assert transport.get_extra_info("peername") == ("127.0.0.1", PORT)
        assert far.transport.get_extra_info("peername") == ("127.0.0.1", transport.port)
        transport.write(b"one")
        transport.write(b"two")
        await loop.settle()
        assert (far.heard, near.heard) == ([b"one", b"two"], [b"ONE", b"TWO"])
        far.transport.write(b"LAST")
        far.transport.close()
        assert far.transport.is_closing()
        await loop.settle()
        assert near.heard[-1] == b"LAST"
        assert (near.events, far.events) == (["lost"], ["lost"])
        assert loop.network.connections == []
        transport.write(b"to nobody")
        server.close()
        with pytest.raises(ConnectionRefusedError):
            await loop.create_connection(Echo, "127.0.0.1", PORT)

    run(scenario)


def test_whoever_has_closed_is_not_kept_by_a_side_that_does_not_read() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        near, far = await connected(loop)
        far.transport.pause_reading()
        near.transport.close()
        await loop.settle()
        assert near.events == ["lost"]
        assert loop.network.connections, "its end has not been read"
        kept = weakref.ref(near)
        del near
        gc.collect()
        assert kept() is None

    run(scenario)


def test_a_side_that_does_not_read_holds_the_other_up() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        near, far = await connected(loop)
        near.transport.set_write_buffer_limits(high=10)
        far.transport.pause_reading()
        assert not far.transport.is_reading()
        near.transport.write(b"X" * 11)
        await loop.settle()
        assert (near.events, far.heard, near.transport.get_write_buffer_size()) == (["pause"], [], 11)
        far.transport.resume_reading()
        await loop.settle()
        assert (near.events, far.heard) == (["pause", "resume"], [b"X" * 11])

    run(scenario)


def test_a_side_that_does_not_read_hears_of_the_end_when_it_has_read_all() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        near, far = await connected(loop)
        far.transport.pause_reading()
        near.transport.write(b"X")
        near.transport.close()
        await loop.settle()
        assert (near.events, far.events) == (["lost"], [])
        far.transport.resume_reading()
        await loop.settle()
        assert (far.heard, far.events) == ([b"X"], ["lost"])

    run(scenario)


def test_a_long_write_is_read_as_asyncio_reads_it() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        near, far = await connected(loop)
        near.transport.write(b"X" * (READ_BYTES_MAX + 1))
        await loop.settle()
        assert [len(each) for each in far.heard] == [READ_BYTES_MAX, 1]

    run(scenario)


@given(st.integers(), st.lists(st.binary(min_size=1, max_size=300), max_size=20), st.floats(0, 0.9))
def test_whatever_the_network_does_bytes_come_in_order_each_once(
    seed: int, writes: list[bytes], loss: float
) -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        near, far = await connected(loop)
        way = loop.network.way("outside", "outside")
        way.delay, way.loss = 3.0, loss
        far.data_received = far.heard.append  # type: ignore[method-assign]
        for each in writes:
            near.transport.write(each)
        await loop.clock.advance(1000)
        assert far.text == b"".join(writes)

    run(scenario, Random(seed))


def test_an_error_of_a_protocol_reaches_the_loop_and_not_the_writer() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        near, far = await connected(loop)

        def fail(data: bytes) -> None:
            raise RuntimeError("odd")

        far.data_received = fail  # type: ignore[method-assign]
        near.transport.write(b"X")
        await loop.settle()

    loop = run(scenario)
    assert ["RuntimeError('odd')" in problem for problem in loop.problems] == [True]


def test_a_listener_says_whether_it_listens() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        server = await loop.create_server(Echo, "127.0.0.1", PORT)
        assert server.is_serving()
        server.close()
        assert not server.is_serving()
        await loop.create_server(Echo, "127.0.0.1", PORT)
        assert not server.is_serving()

    run(scenario)
