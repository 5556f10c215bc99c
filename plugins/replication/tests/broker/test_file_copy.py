"""The master's timer, and that of a slave which becomes master."""

from __future__ import annotations

from pathlib import Path

import pytest
from mqframe_delay.rules.timer_layout import CHECKPOINT
from mqframe_delay.settings import DelaySettings
from replicas import Pair

from mqframe.broker.broker import Broker
from mqframe.core.requests.admin import GetTimerMetrics
from mqframe.core.wire.loose_json import loads


async def timed(pair: Pair, broker: Broker, body: bytes, seconds: int) -> None:
    assert (await pair.send(broker, body, properties=f"TIMER_DELAY_SEC\x01{seconds}\x02")).code == 0


async def both(pair: Pair) -> tuple[Broker, Broker]:
    master = await pair.start("one", "ASYNC_MASTER")
    slave = await pair.start("two", "SLAVE")
    await pair.sent(master, b"at once")
    await pair.follows(master, slave)
    return master, slave


async def passes(pair: Pair, seconds: int) -> None:
    for _ in range(seconds):
        await pair.settle(1)


@pytest.mark.parametrize("kill", [False, True])
async def test_what_the_old_master_delivered_is_not_delivered_again_and_the_rest_once(
    tmp_path: Path, kill: bool
) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        for seconds in (5, 8, 20, 60, 75):
            await timed(pair, master, b"after %d" % seconds, seconds)
        await passes(pair, 35)
        await pair.follows(master, slave)
        delivered = [b"at once", b"after 5", b"after 8", b"after 20"]
        assert await pair.bodies(slave) == delivered
        await pair.stop(master, kill=True)
        await pair.stop(slave, kill=kill)
        promoted = await pair.start("two", "ASYNC_MASTER")
        await passes(pair, 20)
        assert await pair.bodies(promoted) == delivered
        await passes(pair, 60)
        assert await pair.bodies(promoted) == [*delivered, b"after 60", b"after 75"]


async def test_what_fell_due_while_no_master_was_there_is_delivered_then(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        await timed(pair, master, b"early", 4)
        await timed(pair, master, b"late", 30)
        await passes(pair, 15)
        await pair.stop(master, kill=True)
        await passes(pair, 60)
        await pair.stop(slave)
        promoted = await pair.start("two", "ASYNC_MASTER")
        await passes(pair, 5)
        assert await pair.bodies(promoted) == [b"at once", b"early", b"late"]


async def test_a_check_point_does_not_count_before_the_log_that_it_speaks_of(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        await timed(pair, master, b"early", 4)
        await pair.follows(master, slave)
        await pair.settle(3)
        await pair.stop(slave, kill=True)  # it has the message that waits, not the one that was delivered
        await passes(pair, 10)
        assert await pair.bodies(master) == [b"at once", b"early"]
        slave = await pair.start("two", "SLAVE", master="127.0.0.1:1")  # the log does not come
        await passes(pair, 30)
        await pair.stop(master, kill=True)
        await pair.stop(slave)
        promoted = await pair.start("two", "ASYNC_MASTER")
        await passes(pair, 5)
        assert await pair.bodies(promoted) == [b"at once", b"early"]


async def test_a_broker_that_was_master_goes_on_from_the_check_point_of_the_new_one(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        await timed(pair, master, b"after 5", 5)
        await timed(pair, master, b"after 90", 90)
        await passes(pair, 12)
        await pair.follows(master, slave)
        await pair.stop(master)
        await pair.stop(slave)
        second = await pair.start("two", "ASYNC_MASTER")
        demoted = await pair.start("one", "SLAVE")
        await timed(pair, second, b"after 15", 15)
        await passes(pair, 35)
        await pair.follows(second, demoted)
        delivered = [b"at once", b"after 5", b"after 15"]
        assert await pair.bodies(demoted) == delivered
        assert not (tmp_path / "one" / "timerwheel").exists()
        await pair.stop(second)
        await pair.stop(demoted)
        third = await pair.start("one", "ASYNC_MASTER")
        await passes(pair, 10)
        assert await pair.bodies(third) == delivered
        await passes(pair, 60)
        assert await pair.bodies(third) == [*delivered, b"after 90"]


async def test_the_slave_has_how_much_waits_and_how_far_the_timer_is(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        await timed(pair, master, b"after 90", 90)
        await passes(pair, 12)
        shown = loads(bytes((await pair.invoke(master, GetTimerMetrics())).body))
        assert shown["timingCount"]["t"]["count"] == 1
        await pair.stop(slave)
        saved = loads((tmp_path / "two" / "config" / "timermetrics").read_bytes())
        assert saved["timingCount"] == shown["timingCount"]
        raw = (tmp_path / "two" / "config" / "timercheck").read_bytes()
        read_time, position, queue_offset, taken_in, *_ = CHECKPOINT.unpack_from(raw)
        assert (position, queue_offset, taken_in) == (0, 0, 1)
        assert 0 <= pair.clock.now_ms() - read_time <= 65_000


async def test_a_master_without_a_timer_is_passed_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Pair(tmp_path) as pair:
        pair.services = (DelaySettings(timer_enabled=False),)
        master = await pair.start("one", "ASYNC_MASTER")
        pair.services = ()
        slave = await pair.start("two", "SLAVE")
        await pair.sent(master, b"at once")
        await pair.follows(master, slave)
        await passes(pair, 10)
        assert not (tmp_path / "two" / "config" / "timercheck").exists()
        assert "was not copied" not in caplog.text
