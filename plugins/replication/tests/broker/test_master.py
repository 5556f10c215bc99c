"""A master: what it sends by itself, and what waits for its slaves."""

from __future__ import annotations

import asyncio
from pathlib import Path

from mqframe_replication.broker.master import in_sync_of
from mqframe_replication.rules.stream import encode_report, frame_head
from mqframe_replication.settings import ReplicationSettings
from replicas import Pair, port_of


async def test_what_no_request_brought_is_sent_soon(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
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


async def test_sends_that_wait_for_slaves_are_answered_when_the_broker_stops(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
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


def test_only_the_rule_of_a_sync_master_waits_for_slaves() -> None:
    assert in_sync_of(ReplicationSettings(role="ASYNC_MASTER")) is None
    rule = in_sync_of(ReplicationSettings(role="SYNC_MASTER", in_sync=2, min_in_sync=1, timeout_ms=1500))
    assert rule is not None
    assert (rule.timeout_seconds, rule.brokers) == (1.5, 1)
    assert rule.attach(100, lambda: None) == 100
    assert rule.confirmed(150) == 150  # nobody follows, and one is enough not to be refused
    assert rule.trouble(150) is not None
