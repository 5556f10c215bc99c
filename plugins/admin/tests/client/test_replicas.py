"""Masters and slaves as operators are shown them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mqframe_testing.ports import lasting_port
from replicas import Pair, texts

from mqframe import AsyncAdmin
from mqframe.core.cluster.broker_info import HaClientRuntimeInfo
from mqframe.core.errors import FixError
from mqframe.core.requests.nameserver import RegisterBroker


def silent_client(*, activated: bool, **told: Any) -> HaClientRuntimeInfo:
    """As Apache's brokers tell it: whether the slave is connected is left out."""
    return HaClientRuntimeInfo(activated=False, **told)


async def test_of_a_slave_that_does_not_say_whether_it_is_connected_its_master_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mqframe_replication.broker.slave.HaClientRuntimeInfo", silent_client)
    monkeypatch.setattr("mqframe_replication.broker.slave.SlavePart.counters", lambda part: {})

    async with Pair(tmp_path) as pair:
        master = await pair.start("master", "SYNC_MASTER", in_sync=1)
        await pair.sent(master, *texts(0, 3))
        slave = await pair.start("slave", "SLAVE")
        async with AsyncAdmin(nameserver=pair.names.address, clock=pair.clock) as admin:
            assert (await admin.replicas.list())[1].trouble == "it is not connected to its master"
            await pair.follows(master, slave)
            await pair.settle()
            found = (await admin.replicas.list())[1]
            assert found.trouble == ""
            assert found.master == f"127.0.0.1:{(await pair.counters(master))['replicationPort']}"


async def test_a_slave_that_follows_and_one_that_does_not(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master = await pair.start("master", "SYNC_MASTER", in_sync=1)
        await pair.sent(master, *texts(0, 3))
        stored_ms = pair.clock.now_ms()
        slave = await pair.start("slave", "SLAVE")
        end = master.store.log.max_offset
        async with AsyncAdmin(nameserver=pair.names.address, clock=pair.clock) as admin:
            first, second = await admin.replicas.list()
            assert (first.broker, first.broker_id, first.role) == ("broker-a", 0, "SYNC_MASTER")
            assert (first.log_end, first.slaves, first.in_sync, first.behind_bytes) == (end, 0, 0, None)
            assert (second.broker_id, second.role, second.log_end) == (1, "SLAVE", 0)
            assert (second.behind_bytes, second.behind_since_ms) == (end, stored_ms)
            assert (second.master, second.trouble) == ("", "the broker has just started")

            await pair.follows(master, slave)
            await pair.settle()
            first, second = await admin.replicas.list("broker-a")
            assert (first.slaves, first.in_sync, first.trouble) == (1, 1, "")
            assert (second.log_end, second.behind_bytes, second.behind_since_ms) == (end, 0, None)
            assert second.master == f"127.0.0.1:{(await pair.counters(master))['replicationPort']}"
            assert second.trouble == ""

            nowhere = f"127.0.0.1:{lasting_port()}"
            gone = RegisterBroker("broker-a", nowhere, "DefaultCluster", "127.0.0.1:1", 2)
            answer = await pair.client.invoke(pair.names.address, gone, timeout=3600)
            assert answer.code == 0
            third = (await admin.replicas.list())[2]
            assert (third.broker_id, third.role, third.log_end, third.behind_bytes) == (2, "", None, None)
            assert f"no connection to {nowhere}" in third.trouble
            with pytest.raises(FixError, match="no broker named b is registered; known: broker-a"):
                await admin.replicas.list("b")
