"""`mqframe replica`."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from command_runs import read, run
from mqframe_admin.rules.replica import Replica
from mqframe_replication.commands import replica_rows
from mqframe_testing.cluster import Cluster
from replicas import Pair, texts

HERE = ("DefaultCluster", "broker-a")


def test_a_broker_that_is_alone_has_no_slave(monkeypatch: pytest.MonkeyPatch) -> None:
    with Cluster() as cluster:
        monkeypatch.setenv("NAMESRV_ADDR", cluster.nameserver)
        (row,) = read("replica", "status")
        assert (row["broker"], row["id"], row["role"]) == ("broker-a", 0, "ASYNC_MASTER")
        assert row["log_end"] >= 0
        assert (row["behind_bytes"], row["state"]) == (None, "no slave is connected")
        assert [row] == read("replica", "status", "broker-a")
        run("replica", "status", "broker-z", code=2)


def test_states_are_told_in_words() -> None:
    replicas = [
        Replica(*HERE, 0, "m:1", "SYNC_MASTER", 900, slaves=2, in_sync=1),
        Replica(*HERE, 1, "s:1", "SLAVE", 900, 0, master="m:2"),
        Replica(*HERE, 2, "s:2", "SLAVE", 300, 600, 2_000, master="", trouble="the logs differ"),
        Replica(*HERE, 3, "s:3", "SLAVE", 100, 800, None),
        Replica(*HERE, 4, "s:4", trouble="no connection to s:4"),
    ]
    rows = replica_rows(replicas, now_ms=5_500)
    assert [(row["behind_bytes"], row["behind_s"], row["state"]) for row in rows] == [
        (None, None, "2 slaves, 1 in sync"),
        (0, 0.0, "follows m:2"),
        (600, 3.5, "the logs differ"),
        (800, None, ""),
        (None, None, "no connection to s:4"),
    ]


async def test_a_slave_that_differs_is_cut_back_and_follows_and_what_went_can_be_read(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master = await pair.start("master", "ASYNC_MASTER")
        slave = await pair.start("slave", "SLAVE")
        await pair.sent(master, *texts(0, 60))
        await pair.follows(master, slave)
        await pair.stop(master)
        shutil.copytree(tmp_path / "master", tmp_path / "older")
        master = await pair.start("master", "ASYNC_MASTER")
        await pair.sent(master, *texts(60, 70))
        await pair.follows(master, slave)
        for each in (slave, master):
            await pair.stop(each)
        master = await pair.start("older", "ASYNC_MASTER")
        await pair.sent(master, *texts(200, 90))
        slave = await pair.start("slave", "SLAVE")
        await pair.settle(12)
        assert "the logs differ" in (await pair.counters(slave))["replicationTrouble"]

        command = ("replica", "cut", "--data", str(tmp_path / "slave"), "--master", master.address)
        await asyncio.to_thread(run, *command, code=2)  # a broker uses it
        await pair.stop(slave)
        made = await asyncio.to_thread(read, *command)
        assert made["records"] == 70
        again = await asyncio.to_thread(read, *command)
        assert (again["from"], again["records"], again["file"]) == (made["from"], 0, "")
        slave = await pair.start("slave", "SLAVE")
        await pair.follows(master, slave)
        assert (
            pair.log("slave")[: master.store.log.max_offset]
            == pair.log("older")[: master.store.log.max_offset]
        )
        assert await pair.bodies(slave) == [*texts(0, 60), *texts(200, 90)]

        (row,) = read("store", "cuts", str(tmp_path / "slave"))
        assert (row["records"], row["queues"], row["file"]) == (70, "t:0:60-129", made["file"])
        assert row["why"] == f"it differed from {master.address}"
        shown = read("store", "show", "cut", made["file"], "--limit", "70")
        assert [each["body"].encode() for each in shown] == texts(60, 70)
        lines = run("store", "export", made["file"], "t").splitlines()
        assert len(lines) == 70
        assert run("store", "export", made["file"], "u") == ""


async def test_a_log_with_nothing_in_common_is_not_cut(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master = await pair.start("master", "ASYNC_MASTER")
        await pair.sent(master, *texts(0, 3))
        other = await pair.start("other", "ASYNC_MASTER")
        await pair.sent(other, *texts(7, 3))
        await pair.stop(other)
        before = pair.log("other")
        command = ("replica", "cut", "--data", str(tmp_path / "other"), "--master", master.address)
        await asyncio.to_thread(run, *command, code=1)
        assert pair.log("other") == before
        assert read("store", "cuts", str(tmp_path / "other")) == []
        run("store", "show", "cut", str(tmp_path / "other" / "abort"), code=2)


async def test_roles_change_by_command(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        names = ("--nameserver", pair.names.address)
        master = await pair.hold("a", "ASYNC_MASTER")
        slave = await pair.hold("b", "SLAVE")
        await pair.sent(master.broker, *texts(0, 3))
        await pair.follows(master.broker, slave.broker)
        end = master.broker.store.log.max_offset
        words = ("replica", "promote", "broker-a", "--id", "1", *names)
        await pair.meanwhile(asyncio.to_thread(run, *words, code=2))  # the master is there
        words = ("replica", "demote", "broker-a", "--id", "2", *names)
        made = await pair.meanwhile(asyncio.to_thread(read, *words))
        assert made == {
            "broker": "broker-a", "address": master.address, "role": "SLAVE", "log_end": end, "ready": [1],
            "overruled": [],
        }  # fmt: skip
        words = ("replica", "promote", "broker-a", "--id", "1", "--sync", *names)
        made = await pair.meanwhile(asyncio.to_thread(read, *words))
        assert (made["address"], made["role"], "ready" in made) == (slave.address, "SYNC_MASTER", False)
        await pair.settle(12)
        rows = await pair.meanwhile(asyncio.to_thread(read, "replica", "status", *names))
        assert [(row["id"], row["role"], row["behind_bytes"]) for row in rows] == [
            (0, "SYNC_MASTER", None),
            (2, "SLAVE", 0),
        ]
