"""A slave's log that differs from its master's."""

from __future__ import annotations

import shutil
from pathlib import Path

from replicas import Pair, texts

from mqframe.broker.broker import Broker
from mqframe.store.files.layout import Layout
from mqframe.store.upkeep.cuts import cuts


async def differing(pair: Pair) -> Broker:
    """A master that came back with an older disk and took other messages; "b" has its former ones."""
    master = await pair.start("a", "ASYNC_MASTER")
    slave = await pair.start("b", "SLAVE")
    await pair.sent(master, *texts(0, 60))
    await pair.follows(master, slave)
    await pair.stop(master)
    shutil.copytree(pair.directory / "a", pair.directory / "older")
    master = await pair.start("a", "ASYNC_MASTER")
    await pair.sent(master, *texts(60, 70))
    await pair.follows(master, slave)
    for each in (slave, master):
        await pair.stop(each)
    master = await pair.start("older", "ASYNC_MASTER")
    await pair.sent(master, *texts(200, 90))
    return master


async def test_a_log_that_differs_is_cut_back_where_that_is_wanted(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master = await differing(pair)
        holder = await pair.hold("b", "SLAVE", diverged="cut")
        broker, address = holder.broker, holder.address
        await pair.settle(12)
        assert holder.broker is not broker
        assert holder.address == address
        await pair.follows(master, holder.broker)
        assert await pair.bodies(holder.broker) == [*texts(0, 60), *texts(200, 90)]
        end = master.store.log.max_offset
        assert pair.log("b")[:end] == pair.log("older")[:end]
        counters = await pair.counters(holder.broker)
        assert (counters["replicationCuts"], counters["replicationTrouble"]) == ("1", "")
        (cut,) = cuts(Layout(tmp_path / "b"))
        assert (cut.records, cut.why) == (70, f"it differed from {master.address}")
        assert not (tmp_path / "b/config/changedRole.json").exists()


async def test_nothing_is_cut_without_being_asked_for_nor_by_a_program_of_its_own(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        await differing(pair)
        before = pair.log("b")
        for held, settings, words in (
            (True, {}, "the logs differ"),
            (False, {"diverged": "cut"}, "It is not cut back: this broker runs in a program of its own"),
        ):
            make = pair.hold if held else pair.start
            one = await make("b", "SLAVE", **settings)
            await pair.settle(12)
            broker = one.broker if held else one
            assert words in (await pair.counters(broker))["replicationTrouble"]
            await one.stop()
            (pair.held if held else pair.running).remove(one)
            assert pair.log("b") == before


async def test_a_log_with_nothing_in_common_is_never_cut(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master = await pair.start("a", "ASYNC_MASTER")
        await pair.sent(master, *texts(0, 9))
        other = await pair.start("b", "ASYNC_MASTER")
        await pair.sent(other, *texts(50, 3))
        await pair.stop(other)
        before = pair.log("b").rstrip(b"\0")
        holder = await pair.hold("b", "SLAVE", diverged="cut")
        await pair.settle(31)
        assert "no record in common" in (await pair.counters(holder.broker))["replicationTrouble"]
        assert pair.log("b").rstrip(b"\0") == before  # the next file is made ahead
