"""Which broker pulls are sent to, and what a slave answers to those at offsets that it does not have."""

from __future__ import annotations

import asyncio
from pathlib import Path

from mqframe_admin.requests import GetBrokerConfig, UpdateBrokerConfig
from replicas import Pair, texts

from mqframe.broker.broker import Broker
from mqframe.core.codes import PullFlag
from mqframe.core.requests.messages import PullMessage
from mqframe.core.wire.frame import Frame


async def pull(pair: Pair, broker: Broker, offset: int, *, wait_ms: int = 0, count: int = 4) -> Frame:
    return await pair.invoke(
        broker,
        PullMessage(
            topic="t", consumer_group="g", queue_id=0, max_msg_nums=count, queue_offset=offset,
            sys_flag=PullFlag.SUBSCRIPTION | (PullFlag.SUSPEND if wait_ms else 0), commit_offset=0,
            suspend_timeout_millis=wait_ms, sub_version=0, subscription="*",
        ),
    )  # fmt: skip


def said(answer: Frame) -> tuple[int, int, int]:
    """Code, offset to go on at, suggested broker."""
    ext = answer.ext or {}
    return answer.code, int(ext["nextBeginOffset"]), int(ext["suggestWhichBrokerId"])


async def change(pair: Pair, broker: Broker, line: str) -> None:
    assert (await pair.invoke(broker, UpdateBrokerConfig(), line.encode())).code == 0


async def both(pair: Pair) -> tuple[Broker, Broker]:
    """A master with ten messages of 1,200 bytes and more, and a slave that has them; 5,000 bytes are near."""
    near = {"hot_bytes": 5000}
    master = await pair.start("master", "ASYNC_MASTER", near)
    await pair.sent(master, *texts(0, 10))
    slave = await pair.start("slave", "SLAVE", near)
    await pair.settle(1.1)
    await pair.follows(master, slave)
    return master, slave


async def test_who_reads_far_from_the_end_is_sent_to_a_slave_where_that_is_switched_on(
    tmp_path: Path,
) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        for broker in (master, slave):
            assert said(await pull(pair, broker, 0, count=1)) == (0, 1, 0)
            await change(pair, broker, "slaveReadEnable=true")
        for broker in (master, slave):
            assert said(await pull(pair, broker, 0, count=1)) == (0, 1, 1)
            assert said(await pull(pair, broker, 9)) == (0, 10, 0)
            assert said(await pull(pair, broker, 10)) == (19, 10, 0)
        # From offset 7 on lie some 4,000 bytes; a slave has less in memory than a master.
        assert said(await pull(pair, master, 7, count=1)) == (0, 8, 0)
        assert said(await pull(pair, slave, 7, count=1)) == (0, 8, 1)


async def test_a_slave_refuses_readers_where_it_was_told_so_while_it_follows_its_master(
    tmp_path: Path,
) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        assert said(await pull(pair, slave, 0)) == (0, 4, 0)
        await change(pair, slave, "slaveReadEnable=false")
        refused = await pull(pair, slave, 0)
        assert refused.code == 2
        assert "[REJECTREQUEST]" in (refused.remark or "")
        await pair.stop(master, kill=True)
        await pair.settle(0.1)
        assert said(await pull(pair, slave, 0)) == (0, 4, 0)


async def test_the_settings_are_shown_under_rocketmqs_keys(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master = await pair.start("master", "ASYNC_MASTER")
        shown = bytes((await pair.invoke(master, GetBrokerConfig())).body).decode().splitlines()
        assert {"slaveReadEnable=false", "offsetCheckInSlave=false", "brokerRole=ASYNC_MASTER"} <= set(shown)
        await change(pair, master, "slaveReadEnable=true\noffsetCheckInSlave=true")
        shown = bytes((await pair.invoke(master, GetBrokerConfig())).body).decode().splitlines()
        assert {"slaveReadEnable=true", "offsetCheckInSlave=true"} <= set(shown)


async def test_a_consumer_waits_at_a_slave_for_what_that_does_not_have(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        _, slave = await both(pair)
        waiting = asyncio.ensure_future(pull(pair, slave, 13, wait_ms=15_000))
        await pair.settle(0.5)
        assert not waiting.done()
        await pair.settle(6)
        assert said(await waiting) == (20, 13, 0)
        # Who does not wait is told where the queue ends.
        assert said(await pull(pair, slave, 13)) == (21, 10, 0)


async def test_a_consumer_that_waits_beyond_the_end_is_answered_when_the_slave_has_it(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        waiting = asyncio.ensure_future(pull(pair, slave, 11, wait_ms=15_000))
        await pair.settle(0.2)
        await pair.sent(master, *texts(10, 2))
        await pair.follows(master, slave)
        await pair.settle(0.1)
        assert said(await waiting) == (0, 12, 0)


async def test_offsets_are_corrected_at_a_slave_where_that_is_asked_for_and_always_at_a_master(
    tmp_path: Path,
) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        assert said(await pull(pair, master, 13, wait_ms=15_000)) == (21, 10, 0)
        await change(pair, slave, "offsetCheckInSlave=true")
        assert said(await pull(pair, slave, 13, wait_ms=15_000)) == (21, 10, 0)
