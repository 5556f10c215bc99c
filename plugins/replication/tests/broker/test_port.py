"""The replication port of a broker: what it shows of the slaves that are connected."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest
from mqframe_replication.broker.port import RefusalNotes, ReplicationPort
from mqframe_replication.rules.stream import encode_report, frame_head
from mqframe_testing.manual_clock import ManualClock
from replicas import Pair, port_of, replication_metrics

from mqframe.core.errors import TooFewReplicas


async def test_slaves_are_listed_with_how_far_they_are_behind(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
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


async def test_monitoring_is_shown_how_far_each_machine_is_behind(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
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


async def test_tables_are_noted_by_the_host_that_asked_for_them(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master = await pair.start("master", "ASYNC_MASTER")
        port = master.part(ReplicationPort)
        assert (port.log_end, port.tables_copied) == (master.store.log.max_offset, {})
        await pair.start("slave", "SLAVE")
        await pair.settle(12)
        assert list(port.tables_copied) == ["127.0.0.1"]


def test_refusals_are_said_once_and_that_they_are_over(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mqframe.replication")
    notes = RefusalNotes(ManualClock())
    notes.note(None)
    notes.note(TooFewReplicas("1 of at least 2 brokers are in sync"))
    notes.note(TooFewReplicas("1 of at least 2 brokers are in sync"))
    notes.note(None)
    said = [each.getMessage() for each in caplog.records]
    assert said == [
        "no messages are taken reason='1 of at least 2 brokers are in sync'",
        "messages are taken again after_seconds=0",
    ]
