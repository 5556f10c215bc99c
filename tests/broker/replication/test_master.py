"""The master's part of a broker."""

from __future__ import annotations

import asyncio
from pathlib import Path

from replicas import Pair, play

from mqframe.broker.broker import Broker
from mqframe.core.measuring.family import Family
from mqframe.core.replication.stream import encode_report, frame_head


async def port_of(pair: Pair, master: object) -> int:
    return int((await pair.counters(master))["replicationPort"])  # type: ignore[arg-type]


def test_slaves_are_listed_with_how_far_they_are_behind(tmp_path: Path) -> None:
    async def scenario(pair: Pair) -> None:
        master = await pair.start("master", "ASYNC_MASTER")
        await pair.sent(master, b"x" * 100)
        end = master.store.log.max_offset
        reader, writer = await asyncio.open_connection("127.0.0.1", await port_of(pair, master))
        writer.write(encode_report(end - 10))
        await pair.settle()
        assert await reader.readexactly(12) == frame_head(end - 10, 10)
        counters = await pair.counters(master)
        assert counters["replicationSlaves"] == "1"
        assert counters["replicationBehindBytes"].endswith(":10")
        writer.close()

    play(tmp_path, scenario)


def test_monitoring_is_shown_how_far_each_machine_is_behind(tmp_path: Path) -> None:
    async def scenario(pair: Pair) -> None:
        master = await pair.start("master", "ASYNC_MASTER")
        assert await replication_metrics(master) == {"mqframe_replication_slaves": {(): 0}}
        await pair.sent(master, b"x" * 100)
        second = master.store.log.max_offset
        await pair.settle(2)
        await pair.sent(master, b"y" * 100)
        await pair.settle(3)
        port = await port_of(pair, master)
        writers = []
        for reported in (second, master.store.log.max_offset):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(encode_report(reported))
            writers.append(writer)
        await pair.settle()
        assert await replication_metrics(master) == {
            "mqframe_replication_slaves": {(): 2},
            "mqframe_replication_behind_bytes": {("127.0.0.1",): master.store.log.max_offset - second},
            "mqframe_replication_behind_milliseconds": {("127.0.0.1",): 3000},
        }
        for writer in writers:
            writer.close()

    play(tmp_path, scenario)


async def replication_metrics(broker: Broker) -> dict[str, dict[tuple[str, ...], float]]:
    found = {}
    async for each in broker.measure().families():
        if isinstance(each, Family) and each.name.startswith("mqframe_replication") and each.series:
            found[each.name] = dict(each.series)
    return found


def test_what_no_request_brought_is_sent_soon(tmp_path: Path) -> None:
    async def scenario(pair: Pair) -> None:
        master = await pair.start("master", "ASYNC_MASTER")
        reader, writer = await asyncio.open_connection("127.0.0.1", await port_of(pair, master))
        writer.write(encode_report(0))
        await pair.settle()
        delayed = b"later"
        answer = await pair.send(master, delayed)
        assert answer.code == 0
        await pair.settle(0.005)
        sent = await reader.readexactly(12 + master.store.log.max_offset)
        assert sent[:12] == frame_head(0, master.store.log.max_offset)
        assert delayed in sent
        await pair.settle(5.2)
        assert await reader.readexactly(12) == frame_head(master.store.log.max_offset, 0)
        writer.close()

    play(tmp_path, scenario)


def test_sends_that_wait_for_slaves_are_answered_when_the_broker_stops(tmp_path: Path) -> None:
    async def scenario(pair: Pair) -> None:
        master = await pair.start("master", "SYNC_MASTER")
        _, writer = await asyncio.open_connection("127.0.0.1", await port_of(pair, master))
        writer.write(encode_report(0))
        await pair.settle()
        asked = asyncio.ensure_future(pair.send(master, b"x"))
        await pair.settle()
        assert not asked.done()
        await pair.stop(master)
        assert (await asked).code == 12
        writer.close()

    play(tmp_path, scenario)
