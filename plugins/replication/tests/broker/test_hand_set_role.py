"""What a role adds to a broker."""

from __future__ import annotations

from pathlib import Path

import pytest
from mqframe_replication.broker.hand_set_role import HandSetRole
from mqframe_replication.settings import ReplicationSettings
from replicas import Pair

from mqframe.broker.broker import Broker
from mqframe.core.cluster.broker_info import HaConnectionInfo, HaRuntimeInfo
from mqframe.core.errors import StoreError
from mqframe.core.requests.admin import ExchangeBrokerHaInfo, GetBrokerEpochCache, GetBrokerHaStatus
from mqframe.core.wire.loose_json import decode


@pytest.mark.parametrize(
    ("role", "counters"),
    [
        ("NONE", set()),
        (
            "ASYNC_MASTER",
            {"replicationPort", "replicationProtocol", "replicationSlaves", "replicationBehindBytes"},
        ),
        (
            "SYNC_MASTER",
            {
                "replicationPort",
                "replicationProtocol",
                "replicationSlaves",
                "replicationBehindBytes",
                "replicationInSync",
            },
        ),
        (
            "SLAVE",
            {
                "replicationFollows",
                "replicationTablesTrouble",
                "replicationTrouble",
                "replicationCuts",
                "replicationMissing",
            },
        ),
    ],
)
async def test_a_role_shows_in_the_counters_of_the_broker(
    tmp_path: Path, role: str, counters: set[str]
) -> None:
    async with Pair(tmp_path) as pair:
        broker = await pair.start("one", role)
        found = await pair.counters(broker)
        assert {name for name in found if name.startswith("replication")} == counters


async def test_all_roles_say_who_follows_whom(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        alone = await pair.start("alone", "NONE")
        assert await status(pair, alone) == HaRuntimeInfo()
        await pair.stop(alone)
        master = await pair.start("master", "SYNC_MASTER")
        slave = await pair.start("slave", "SLAVE")
        await pair.follows(master, slave)
        await pair.settle(2)
        await pair.sent(master, b"x")
        await pair.settle(1)
        end = master.store.log.max_offset
        told = await status(pair, master)
        [connection] = told.ha_connection_info
        # One frame with its head of 12 bytes, in the second before.
        assert connection == HaConnectionInfo(connection.addr, 0, True, end, end, end + 12)
        assert (told.master, told.in_sync_slave_nums, told.master_commit_log_max_offset) == (True, 1, end)
        said = await status(pair, slave)
        client = said.ha_client_runtime_info
        assert (said.master, said.ha_connection_info) == (False, [])
        assert (client.activated, client.max_offset, client.transferred_byte_in_second) == (
            True,
            end,
            end + 12,
        )
        assert pair.clock.now_ms() - client.last_read_timestamp == 1000
        assert client.last_write_timestamp == client.last_read_timestamp
        assert client.master_addr == f"127.0.0.1:{(await pair.counters(master))['replicationPort']}"
        await pair.settle(1)
        [connection] = (await status(pair, master)).ha_connection_info
        assert connection.transferred_byte_in_second == 0


async def status(pair: Pair, broker: Broker) -> HaRuntimeInfo:
    return decode(bytes((await pair.invoke(broker, GetBrokerHaStatus())).body), HaRuntimeInfo)


@pytest.mark.parametrize("role", ["NONE", "ASYNC_MASTER", "SLAVE"])
async def test_a_broker_of_no_elected_group_has_no_epochs(tmp_path: Path, role: str) -> None:
    async with Pair(tmp_path) as pair:
        refused = await pair.invoke(await pair.start("one", role), GetBrokerEpochCache())
        assert refused.code == 1
        assert refused.remark is not None
        assert "no epochs" in refused.remark


async def test_who_asks_for_the_master_is_told_by_the_master_alone(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        alone = await pair.start("alone", "NONE")
        refused = await pair.invoke(alone, ExchangeBrokerHaInfo())
        assert (refused.code, "nobody can copy" in (refused.remark or "")) == (1, True)
        await pair.stop(alone)
        master = await pair.start("master", "ASYNC_MASTER")
        slave = await pair.start("slave", "SLAVE")
        port = (await pair.counters(master))["replicationPort"]
        assert (await pair.invoke(master, ExchangeBrokerHaInfo())).ext == {
            "masterAddress": master.address, "masterHaAddress": f"127.0.0.1:{port}", "masterFlushOffset": "0",
        }  # fmt: skip
        told = ExchangeBrokerHaInfo(master_ha_address="127.0.0.1:1", master_address="127.0.0.1:2")
        for broker, words in ((master, "a master itself"), (slave, "by name servers")):
            refused = await pair.invoke(broker, told)
            assert (refused.code, words in (refused.remark or "")) == (1, True)


async def test_only_a_sync_master_lets_sends_wait(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        for role, code in (("NONE", 0), ("ASYNC_MASTER", 0), ("SYNC_MASTER", 11)):
            broker = await pair.start(role, role)
            assert (await pair.send(broker, b"x")).code == code
            await pair.stop(broker)


async def test_a_store_of_an_elected_group_is_written_by_no_master_of_its_own(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        (tmp_path / "a").mkdir()
        (tmp_path / "a/replica.json").write_text("{}")
        for role in ("NONE", "ASYNC_MASTER", "SYNC_MASTER"):
            with pytest.raises(StoreError, match=r"move epochFileCheckpoint and replica.json away"):
                await pair.start("a", role)
        (tmp_path / "a/replica.json").unlink()
        await pair.sent(await pair.start("a", "NONE"), b"x")


def test_only_a_master_that_waits_for_slaves_needs_more_than_its_disk() -> None:
    waits = ReplicationSettings(role="SYNC_MASTER", in_sync=3, timeout_ms=1500)
    replicas = HandSetRole(waits).log.replicas
    assert replicas is not None
    assert replicas.timeout_seconds == 1.5
    for settings in (ReplicationSettings(role="ASYNC_MASTER"), ReplicationSettings(role="SLAVE", id=1)):
        assert HandSetRole(settings).log.replicas is None
