"""Masters and slaves with access control, and over TLS."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import certificates
import pytest
import trustme
from certificates import Pems
from mqframe_replication.broker.port import ReplicationPort
from mqframe_replication.rules.stream import encode_report
from replicas import Pair, spoil, texts

from mqframe.core.errors import SettingError
from mqframe.core.requests.consumers import QueryConsumerOffset, UpdateConsumerOffset
from mqframe.hooks.interfaces import RpcHook
from mqframe.hooks.manager import PluginManager
from mqframe.net.access.settings import AccessSettings
from mqframe.net.settings import NetSettings

ACCESS = AccessSettings(
    authentication="acl2", authorization="acl2", initial_user="admin:secret", inner_credentials="inner:inside"
)


def keys(user: str, secret: str) -> RpcHook:
    hook: RpcHook
    [hook] = PluginManager().create_all("rpc_hook", [("acl", {"access_key": user, "secret_key": secret})])
    return hook


def as_admin(pair: Pair) -> None:
    pair.access = ACCESS
    pair.client.sign(keys("admin", "secret"))


@pytest.fixture(scope="module")
def pems(tmp_path_factory: pytest.TempPathFactory) -> Pems:
    return certificates.make(tmp_path_factory.mktemp("pems"))


def secured(pems: Pems, mode: str = "enforcing", **change: Any) -> NetSettings:
    """Of a broker that uses TLS, and takes it."""
    return NetSettings(
        tls=True,
        tls_ca_file=pems.ca,
        tls_server_mode=mode,
        tls_server_cert_file=pems.cert,
        tls_server_key_file=pems.key,
        **change,
    )


@pytest.mark.parametrize("role", ["ASYNC_MASTER", "SYNC_MASTER"])
async def test_a_slave_follows_a_master_with_access_control(tmp_path: Path, role: str) -> None:
    async with Pair(tmp_path) as pair:
        as_admin(pair)
        master = await pair.start("master", role, in_sync=1)
        await pair.sent(master, *texts(0, 100))
        slave = await pair.start("slave", "SLAVE")
        await pair.follows(master, slave)
        await pair.sent(master, *texts(100, 20))
        await pair.follows(master, slave)
        assert await pair.bodies(slave) == texts(0, 120)
        assert (await pair.counters(master))["replicationSlaves"] == "1"


@pytest.mark.parametrize("inner", ["inner:guessed", "nobody:inside", ""])
async def test_a_slave_that_the_master_does_not_know_gets_nothing_and_says_why(
    tmp_path: Path, inner: str
) -> None:
    async with Pair(tmp_path) as pair:
        as_admin(pair)
        master = await pair.start("master", "ASYNC_MASTER")
        await pair.sent(master, *texts(0, 10))
        pair.access = AccessSettings(
            authentication="acl2", initial_user="admin:secret", inner_credentials=inner
        )
        slave = await pair.start("slave", "SLAVE")
        await pair.settle(6)
        counters = await pair.counters(slave)
        assert counters["replicationFollows"] == "false"
        assert "Authentication failed" in counters["replicationTrouble"]
        assert slave.store.log.max_offset == 0
        assert (await pair.counters(master))["replicationSlaves"] == "0"


async def test_slaves_without_a_hello_do_not_follow_a_master_with_access_control(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Pair(tmp_path) as pair:
        as_admin(pair)
        master = await pair.start("master", "ASYNC_MASTER")
        await pair.sent(master, *texts(0, 10))
        port = int((await pair.counters(master))["replicationPort"])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(encode_report(0))
        await pair.settle()
        assert await reader.read() == b""
        assert "RocketMQ's slaves cannot: they follow masters without it only" in caplog.text
        writer.close()


def of_rocketmq(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have masters tell as little of their replication port as those of RocketMQ do."""
    counters = ReplicationPort.counters
    said = ("replicationProtocol",)
    monkeypatch.setattr(
        ReplicationPort, "counters", lambda part: {k: v for k, v in counters(part).items() if k not in said}
    )


async def test_a_slave_with_access_control_says_no_hello_to_a_master_of_rocketmq(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_rocketmq(monkeypatch)

    async with Pair(tmp_path) as pair:
        pair.client.sign(keys("admin", "secret"))
        master = await pair.start("master", "ASYNC_MASTER")
        await pair.sent(master, *texts(0, 10))
        pair.access = ACCESS
        slave = await pair.start("slave", "SLAVE")
        await pair.follows(master, slave)
        assert await pair.bodies(slave) == texts(0, 10)


@pytest.mark.parametrize("tls", [True, False])
async def test_a_master_of_rocketmq_hears_nothing_that_it_would_take_for_a_report(
    tmp_path: Path, pems: Pems, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tls: bool
) -> None:
    of_rocketmq(monkeypatch)

    async with Pair(tmp_path, secured(pems) if tls else None) as pair:
        master = await pair.start("master", "ASYNC_MASTER")
        slave = await pair.start("slave", "SLAVE", hello="as_needed" if tls else "always")
        await pair.settle(6)
        trouble = slave.counters()["replicationTrouble"]
        assert "does not say that it takes a hello, or TLS, at its replication port" in trouble
        assert "a slave is refused" not in caplog.text
        assert (await pair.counters(master))["replicationSlaves"] == "0"


async def test_a_slave_follows_a_master_whose_operators_have_a_port_of_their_own(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        as_admin(pair)
        pair.settings = {"operator_port": 0}
        master = await pair.start("master", "ASYNC_MASTER")
        await pair.sent(master, *texts(0, 10))
        assert await pair.bodies(master) == texts(0, 10)
        commit = UpdateConsumerOffset(consumer_group="g", topic="t", queue_id=0, commit_offset=7)
        assert (await pair.invoke(master, commit)).code == 0
        slave = await pair.start("slave", "SLAVE")
        await pair.follows(master, slave)
        await pair.stop(slave)
        await pair.sent(master, *texts(10, 10))
        slave = await pair.start("slave", "SLAVE")
        await pair.follows(master, slave)
        asked = await pair.invoke(slave, QueryConsumerOffset(consumer_group="g", topic="t", queue_id=0))
        assert asked.ext is not None
        assert asked.ext["offset"] == "7"


async def test_slaves_of_one_number_are_told_so_and_the_first_goes_on(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master = await pair.start("master", "ASYNC_MASTER", hello="always")
        await pair.sent(master, *texts(0, 10))
        slave = await pair.start("one", "SLAVE", hello="always")
        await pair.follows(master, slave)
        other = await pair.start("two", "SLAVE", hello="always")
        await pair.settle(6)
        assert (
            "replication.id (brokerId) = 1 is that of a slave that is connected from 127.0.0.1"
            in (other.counters()["replicationTrouble"])
        )
        await pair.sent(master, *texts(10, 10))
        await pair.follows(master, slave)
        await pair.stop(other)
        other = await pair.start("two", "SLAVE", hello="always", id=2)
        await pair.follows(master, other)
        assert await pair.bodies(other) == texts(0, 20) == await pair.bodies(slave)


async def test_a_part_that_a_slave_lacks_is_fetched_beside_the_connection_that_follows(
    tmp_path: Path,
) -> None:
    async with Pair(tmp_path) as pair:
        as_admin(pair)
        master = await pair.start("master", "ASYNC_MASTER")
        await pair.sent(master, *texts(0, 100))
        slave = await pair.start("slave", "SLAVE")
        await pair.follows(master, slave)
        await pair.stop(slave, kill=True)
        spoil(pair, "slave", texts(90, 1)[0])
        slave = await pair.start("slave", "SLAVE")
        await pair.settle(1)
        assert (await pair.counters(slave))["replicationFollows"] == "true"  # with one connection in all
        await pair.sent(master, *texts(100, 5))
        await pair.follows(master, slave)
        assert await pair.bodies(slave) == texts(0, 105)


async def test_a_slave_that_is_killed_and_comes_again_follows_at_once(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        as_admin(pair)
        master = await pair.start("master", "ASYNC_MASTER")
        slave = await pair.start("slave", "SLAVE")
        await pair.follows(master, slave)
        await pair.stop(slave, kill=True)
        await pair.sent(master, *texts(0, 5))
        slave = await pair.start("slave", "SLAVE")
        await pair.settle(1)
        await pair.follows(master, slave)
        assert await pair.bodies(slave) == texts(0, 5)


async def test_all_goes_over_tls_where_the_broker_has_it(tmp_path: Path, pems: Pems) -> None:
    async with Pair(tmp_path, secured(pems)) as pair:
        master = await pair.start("master", "SYNC_MASTER", in_sync=1)
        await pair.sent(master, *texts(0, 100))
        slave = await pair.start("slave", "SLAVE")
        await pair.follows(master, slave)
        await pair.stop(slave, kill=True)
        spoil(pair, "slave", texts(90, 1)[0])
        slave = await pair.start("slave", "SLAVE")
        await pair.sent(master, *texts(100, 5))
        await pair.follows(master, slave)
        assert await pair.bodies(slave) == texts(0, 105)


async def test_access_control_and_client_certificates_go_together_with_tls(
    tmp_path: Path, pems: Pems
) -> None:
    net = secured(
        pems,
        tls_cert_file=pems.cert,
        tls_key_file=pems.key,
        tls_server_client_auth="require",
        tls_server_ca_file=pems.ca,
    )

    async with Pair(tmp_path, net) as pair:
        as_admin(pair)
        master = await pair.start("master", "ASYNC_MASTER")
        await pair.sent(master, *texts(0, 10))
        slave = await pair.start("slave", "SLAVE")
        await pair.follows(master, slave)
        assert await pair.bodies(slave) == texts(0, 10)


async def test_certificates_are_followed_without_a_restart(tmp_path: Path) -> None:
    authority = trustme.CA()
    pems = certificates.issue(authority, tmp_path / "pems")

    async with Pair(tmp_path, secured(pems)) as pair:
        master = await pair.start("master", "ASYNC_MASTER")
        await pair.sent(master, *texts(0, 10))
        slave = await pair.start("slave", "SLAVE")
        await pair.follows(master, slave)
        await pair.stop(slave)
        fresh = certificates.make(tmp_path / "fresh")  # another authority: only who reads it again trusts it
        for name in ("ca", "key", "cert"):
            shutil.copy(getattr(fresh, name), getattr(pems, name))
        await pair.settle(60)
        slave = await pair.start("slave", "SLAVE")
        await pair.sent(master, *texts(10, 10))
        await pair.follows(master, slave)
        assert await pair.bodies(slave) == texts(0, 20)


@pytest.mark.parametrize("mode", ["permissive", "enforcing"])
async def test_partners_without_tls_follow_where_the_replication_port_has_none(
    tmp_path: Path, pems: Pems, mode: str
) -> None:
    async with Pair(tmp_path, secured(pems, mode)) as pair:
        master = await pair.start("master", "ASYNC_MASTER", tls="off")
        await pair.sent(master, *texts(0, 10))
        slave = await pair.start("slave", "SLAVE", tls="off")
        await pair.follows(master, slave)
        assert await pair.bodies(slave) == texts(0, 10)


async def test_a_slave_without_tls_is_named_by_a_master_that_takes_nothing_else(
    tmp_path: Path, pems: Pems, caplog: pytest.LogCaptureFixture
) -> None:
    async with Pair(tmp_path, secured(pems)) as pair:
        master = await pair.start("master", "ASYNC_MASTER")
        await pair.sent(master, *texts(0, 10))
        slave = await pair.start("slave", "SLAVE", tls="off")
        await pair.settle(6)
        assert (await pair.counters(slave))["replicationFollows"] == "false"
        assert "a refusal is in the master's log" in slave.counters()["replicationTrouble"]
        assert "a slave without TLS is refused: this replication port takes TLS only" in caplog.text


async def test_a_replication_port_with_certificates_that_cannot_be_used_does_not_start(
    tmp_path: Path, pems: Pems
) -> None:
    async with Pair(tmp_path) as pair:
        pair.net = NetSettings(tls_server_cert_file=str(tmp_path / "none"), tls_server_key_file=pems.key)
        with pytest.raises(SettingError, match="tls_server_cert_file"):
            await pair.start("master", "ASYNC_MASTER")


async def test_what_slaves_are_sent_in_a_second_is_capped(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master = await pair.start("master", "ASYNC_MASTER", flow_control=True, bytes_per_second_max=11_000)
        await pair.sent(master, *texts(0, 60))
        end = master.store.log.max_offset
        slave = await pair.start("slave", "SLAVE")
        got = []
        for _ in range(4):
            before = slave.store.log.max_offset
            await pair.settle(1)
            got.append(slave.store.log.max_offset - before)
        assert all(each <= 11_000 + 1500 for each in got)  # whole records count, and one was under way
        assert sum(got[1:]) >= 3 * 9_000
        assert slave.store.log.max_offset < end
        await pair.follows(master, slave)
        assert await pair.bodies(slave) == texts(0, 60)
