"""Operators change the roles of running brokers: nothing is lost, and what stands against it is said."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from replicas import Held, Pair, texts

from mqframe import AsyncAdmin
from mqframe.broker.broker import Broker
from mqframe.core.errors import AnswerError, FixError
from mqframe.core.requests.admin import GetAllConsumerOffset, GetAllSubscriptionGroupConfig
from mqframe.core.requests.consumers import QueryConsumerOffset, UpdateConsumerOffset
from mqframe.core.requests.roles import DemoteBroker, PromoteBroker

SLAVE, MASTER = "SLAVE", "ASYNC_MASTER"


def admin(pair: Pair) -> AsyncAdmin:
    return AsyncAdmin(nameserver=pair.names.address, clock=pair.clock)


async def two(pair: Pair, count: int = 20, role: str = MASTER) -> tuple[Held, Held]:
    master = await pair.hold("a", role)
    slave = await pair.hold("b", SLAVE)
    await pair.sent(master.broker, *texts(0, count))
    await pair.follows(master.broker, slave.broker)
    return master, slave


async def role_of(pair: Pair, broker: Broker) -> str:
    async with admin(pair) as client:
        return (await client.brokers.config(broker.address))["brokerRole"]


async def test_a_broker_moves_live_and_back_and_all_messages_and_offsets_are_there(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        first, second = await two(pair)
        sent = 20
        assert await pair.bodies(first.broker) == texts(0, 20)
        delayed = [b"later %d" % number for number in range(3)]
        for body in delayed:
            assert (await pair.send(first.broker, body, properties="DELAY\x014\x02")).code == 0
        places = first.address, second.address
        for old, new, old_id, new_id in ((first, second, 7, 1), (second, first, 1, 7)):
            commit = UpdateConsumerOffset("g", "t", 0, sent - 3)
            assert (await pair.invoke(old.broker, commit)).code == 0
            async with admin(pair) as client:
                done = await pair.meanwhile(client.replicas.demote("broker-a", old_id))
                assert (done.role, done.ready, done.objections) == (SLAVE, (new_id,), ())
                assert done.log_end == old.broker.store.log.max_offset == new.broker.store.log.max_offset
                assert (await pair.send(old.broker, b"nobody takes it")).code == 14
                done = await pair.meanwhile(client.replicas.promote("broker-a", new_id, role="SYNC_MASTER"))
                assert (done.role, done.objections) == ("SYNC_MASTER", ())
            assert (first.address, second.address) == places
            query = QueryConsumerOffset("g", "t", 0)
            assert (await pair.invoke(new.broker, query)).ext["offset"] == str(sent - 3)
            await pair.follows(new.broker, old.broker)
            await pair.settle(12)
            task = await pair.meanwhile(pair.send(new.broker, texts(sent, 1)[0]))
            assert task.code == 0, "the demoted one follows, and acknowledges"
            sent += 1
            await pair.follows(new.broker, old.broker)
            end = new.broker.store.log.max_offset
            assert pair.log("a")[:end] == pair.log("b")[:end]
        await pair.settle(30)
        found = await pair.bodies(first.broker)
        assert found[:22] == texts(0, 22)
        assert sorted(found[22:]) == delayed, "each delayed message came once"


@pytest.mark.parametrize("role", [MASTER, "NONE"])
async def test_a_master_without_slaves_stays_master(tmp_path: Path, role: str) -> None:
    async with Pair(tmp_path) as pair:
        master = await pair.hold("a", role)
        await pair.sent(master.broker, *texts(0, 1))
        async with admin(pair) as client:
            with pytest.raises(AnswerError, match="no slave is connected"):
                await pair.meanwhile(client.replicas.demote("broker-a", 1))
            await pair.sent(master.broker, *texts(1, 1))
            done = await pair.meanwhile(client.replicas.demote("broker-a", 1, force=True))
            assert done.objections == ("no slave is connected, so nobody has the messages that are here",)
            assert (done.ready, done.log_end) == ((), master.broker.store.log.max_offset)
            assert (await pair.send(master.broker, b"x")).code == 14
            done = await pair.meanwhile(client.replicas.promote("broker-a", 1, force=True))
            assert (done.role, done.log_end) == (MASTER, master.broker.store.log.max_offset)
            await pair.sent(master.broker, *texts(2, 1))
        assert await pair.bodies(master.broker) == texts(0, 3)


async def test_a_slave_that_does_not_answer_lets_the_master_stay_and_take_messages_again(
    tmp_path: Path,
) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await two(pair)
        slave.broker.store.replica.append_copy = lambda offset, data: None  # type: ignore[attr-defined]
        await pair.sent(master.broker, *texts(20, 2))
        async with admin(pair) as client:
            with pytest.raises(AnswerError, match=r"no slave has the whole log within 3000 ms: .* lacks 2"):
                await pair.meanwhile(client.replicas.demote("broker-a", 1, wait_seconds=3))
            await pair.settle(1)
            assert await role_of(pair, master.broker) == MASTER
        await pair.sent(master.broker, *texts(22, 2))
        assert await pair.bodies(master.broker) == texts(0, 24)


async def test_no_second_master_is_made_unless_it_is_forced(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await two(pair)
        async with admin(pair) as client:
            with pytest.raises(AnswerError, match=f"know a master of this name at {master.address}"):
                await pair.meanwhile(client.replicas.promote("broker-a", 1))
            assert await role_of(pair, slave.broker) == SLAVE
            with pytest.raises(FixError, match="no slave 2 of broker-a is registered; known: 1"):
                await client.replicas.promote("broker-a", 2)
            with pytest.raises(AnswerError, match="the role 'NONE' is none of a master"):
                await client.replicas.promote("broker-a", 1, role="NONE")
            assert "this broker is no slave" in (await pair.invoke(master.broker, PromoteBroker())).remark
            assert "a slave already" in (await pair.invoke(slave.broker, DemoteBroker(1))).remark


async def test_what_the_other_has_more_is_told_in_bytes(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await two(pair)
        before = master.broker.store.log.max_offset
        await slave.stop()
        pair.held.remove(slave)
        await pair.sent(master.broker, *texts(20, 3))
        more = master.broker.store.log.max_offset - before
        slave = await pair.hold("b", SLAVE, retry_ms=10**9)  # it connects only once
        slave.broker.store.replica.append_copy = lambda offset, data: None  # type: ignore[attr-defined]
        await pair.settle(2)
        async with admin(pair) as client:
            await pair.meanwhile(client.replicas.demote("broker-a", 2, wait_seconds=1, force=True))
            with pytest.raises(
                AnswerError, match=f"{master.address} goes on for {more} bytes, which would be"
            ):
                await pair.meanwhile(client.replicas.promote("broker-a", 1))
            done = await pair.meanwhile(client.replicas.promote("broker-a", 1, force=True))
            assert f"the master's log went on for {more} bytes at least" in done.objections
            assert done.log_end == before
        await pair.sent(slave.broker, *texts(50, 1))
        assert await pair.bodies(slave.broker) == [*texts(0, 20), *texts(50, 1)]


async def test_a_slave_is_promoted_when_its_master_is_gone(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await two(pair)
        await pair.settle(11)
        pair.held.remove(master)
        await master.broker.abandon()
        await pair.settle(1)
        async with admin(pair) as client:
            done = await pair.meanwhile(client.replicas.promote("broker-a", 1))
            assert (done.role, done.objections) == (MASTER, ())
        await pair.sent(slave.broker, *texts(20, 2))
        assert await pair.bodies(slave.broker) == texts(0, 22)


async def test_tables_are_waited_for_where_slaves_copy_them_by_themselves(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        _, slave = await two(pair)
        async with admin(pair) as client:
            before = pair.clock.monotonic()
            await pair.meanwhile(client.replicas.demote("broker-a", 2, tables_seconds=30))
            assert pair.clock.monotonic() - before <= 13
            await pair.meanwhile(client.replicas.promote("broker-a", 1))
            await pair.settle(12)
            answer = await pair.meanwhile(pair.invoke(slave.broker, DemoteBroker(1, tables_ms=1)))
            assert answer.code == 29
            assert "tables were not copied within 1 ms by 127.0.0.1" in answer.remark
            await pair.settle(2)
            assert await role_of(pair, slave.broker) == MASTER


async def test_messages_are_taken_while_tables_are_waited_for(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await two(pair)
        await pair.settle(1)
        async with admin(pair) as client:
            change = asyncio.ensure_future(client.replicas.demote("broker-a", 2, tables_seconds=30))
            await pair.settle(5)
            assert not change.done()
            await pair.sent(master.broker, *texts(20, 5))
            done = await pair.meanwhile(change)
            assert (done.role, done.ready, done.objections) == ("SLAVE", (1,), ())
            await pair.meanwhile(client.replicas.promote("broker-a", 1))
        assert await pair.bodies(slave.broker) == texts(0, 25)


async def test_a_slave_gives_its_tables_to_whoever_is_promoted(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        _, slave = await two(pair)
        for request in (GetAllConsumerOffset(), GetAllSubscriptionGroupConfig()):
            assert (await pair.invoke(slave.broker, request)).code == 0


async def test_a_broker_without_a_holder_keeps_its_role(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master = await pair.start("a", MASTER)
        answer = await pair.invoke(master, DemoteBroker(1, force=True))
        assert (answer.code, answer.remark) == (
            29,
            "the role is not changed: this broker runs in a program of its own, which says what its role is",
        )
        for wrong in (DemoteBroker(1, wait_ms=-1), DemoteBroker(1, tables_ms=10**9)):
            assert "waits are 0 to" in (await pair.invoke(master, wrong)).remark
