"""A broker that is made anew in another role, on the same port and files."""

from __future__ import annotations

import socket
from pathlib import Path

import attrs
import pytest
from replicas import Pair, play, texts

from mqframe.broker.broker import Broker
from mqframe.broker.holder import BrokerHolder
from mqframe.broker.sections import BrokerSections
from mqframe.core.errors import GiveUpError, SettingError
from mqframe.replication.settings import ReplicationSettings
from mqframe.store.files.layout import Layout
from mqframe.store.log.closed_log import ClosedLog
from mqframe.store.upkeep.cutting import cut_log


def as_slave(holder: BrokerHolder, number: int = 3) -> ReplicationSettings:
    return attrs.evolve(holder.sections.replication, role="SLAVE", id=number)


def in_role(holder: BrokerHolder, replication: ReplicationSettings):
    return attrs.evolve(holder.sections, replication=replication)


def test_address_and_messages_stay(tmp_path: Path) -> None:
    async def scenario(pair: Pair) -> None:
        holder = await pair.hold("a", "ASYNC_MASTER")
        await pair.sent(holder.broker, *texts(0, 5))
        before, changed = holder.address, []
        holder.on_change = changed.append
        await holder.change(in_role(holder, as_slave(holder)))
        assert (holder.address, holder.sections.role, holder.trouble) == (before, "SLAVE", "")
        assert await pair.bodies(holder.broker) == texts(0, 5)
        assert (await pair.send(holder.broker, b"x")).code == 14
        await holder.change(in_role(holder, attrs.evolve(as_slave(holder), role="SYNC_MASTER", id=0)))
        assert changed[-1] is holder.broker
        assert len(changed) == 2
        assert (await pair.counters(holder.broker))["brokerActive"] != ""

    play(tmp_path, scenario)


def test_the_role_is_kept_until_another_one_is_configured(tmp_path: Path) -> None:
    async def scenario(pair: Pair) -> None:
        holder = await pair.hold("a", "ASYNC_MASTER")
        holder.change_soon(as_slave(holder))
        await holder.stop()
        pair.held.remove(holder)
        holder = await pair.hold("a", "ASYNC_MASTER")
        assert (holder.sections.role, holder.sections.broker_id) == ("SLAVE", 3)
        assert holder.changed_ms == pair.clock.now_ms()
        await holder.stop()
        pair.held.remove(holder)
        holder = await pair.hold("a", "SYNC_MASTER")
        assert holder.sections.role == "SYNC_MASTER"
        assert holder.changed_ms == 0

    play(tmp_path, scenario)


def test_a_change_by_a_program_is_not_kept(tmp_path: Path) -> None:
    async def scenario(pair: Pair) -> None:
        holder = await pair.hold("a", "ASYNC_MASTER")
        await holder.change(in_role(holder, as_slave(holder)))
        await holder.stop()
        pair.held.remove(holder)
        holder = await pair.hold("a", "ASYNC_MASTER")
        assert holder.sections.role == "ASYNC_MASTER"

    play(tmp_path, scenario)


def test_where_the_new_role_cannot_start_the_former_serves_again(tmp_path: Path) -> None:
    async def scenario(pair: Pair) -> None:
        holder = await pair.hold("a", "SLAVE")
        before = holder.address
        with socket.create_server(("127.0.0.1", 0)) as taken:
            wanted = attrs.evolve(as_slave(holder), role="ASYNC_MASTER", id=0, port=taken.getsockname()[1])
            with pytest.raises(GiveUpError, match=r"in its former role, SLAVE: .*in use"):
                await holder.change(in_role(holder, wanted), keep=True)
        assert (holder.address, holder.sections.role) == (before, "SLAVE")
        assert "in use" in holder.trouble
        assert "in use" in (await pair.counters(holder.broker))["roleTrouble"]
        await holder.stop()
        pair.held.remove(holder)
        assert (await pair.hold("a", "SLAVE")).sections.role == "SLAVE"

    play(tmp_path, scenario)


def test_when_no_role_can_start_whoever_runs_it_is_told(tmp_path: Path) -> None:
    async def scenario(pair: Pair) -> None:
        made, lost = [], []

        def make(sections: BrokerSections) -> Broker:
            if made:
                raise SettingError("nothing can be made any more")
            made.append(pair.make(sections))
            return made[0]

        holder = BrokerHolder(pair.sections("a", "ASYNC_MASTER", {}), make, pair.clock)
        holder.on_lost = lambda: lost.append(holder.trouble)
        await holder.start()
        with pytest.raises(GiveUpError, match="the broker serves no more"):
            await holder.change(in_role(holder, as_slave(holder)))
        assert lost == ["nothing can be made any more; nor in its former role: nothing can be made any more"]
        await holder.stop()

    play(tmp_path, scenario)


def test_a_role_that_does_not_go_with_the_settings_is_refused_before_anything_stops(tmp_path: Path) -> None:
    async def scenario(pair: Pair) -> None:
        holder = await pair.hold("a", "ASYNC_MASTER")
        broker = holder.broker
        with pytest.raises(SettingError, match="a slave needs a number of its own"):
            holder.check(as_slave(holder, 0))
        assert holder.broker is broker
        await pair.sent(broker, *texts(0, 1))

    play(tmp_path, scenario)


def test_metrics_and_readiness_are_those_of_the_broker_that_is_there(tmp_path: Path) -> None:
    async def scenario(pair: Pair) -> None:
        holder = await pair.hold("a", "ASYNC_MASTER")
        metrics = holder.measure()
        assert metrics.labels["node_id"] == "broker-a"
        names = {getattr(each, "name", "") async for each in metrics.families()}
        assert "mqframe_replication_slaves" in names
        await holder.change(in_role(holder, as_slave(holder)))
        names = {getattr(each, "name", "") async for each in metrics.families()}
        assert "mqframe_replication_following" in names
        assert "mqframe_replication_slaves" not in names
        assert (holder.is_registered, holder.refusal) == (True, "")

    play(tmp_path, scenario)


def test_something_is_done_while_nobody_has_the_directory(tmp_path: Path) -> None:
    async def scenario(pair: Pair) -> None:
        holder = await pair.hold("a", "ASYNC_MASTER")
        await pair.sent(holder.broker, *texts(0, 5))
        before = holder.broker.store.log.max_offset

        async def cut() -> None:
            with ClosedLog(Layout(tmp_path / "a")) as log:
                places = [record.physical_offset for record in log.records(log.files[0])]
            cut_log(tmp_path / "a", places[3], why="a test", now_ms=pair.clock.now_ms())

        await holder.change(holder.sections, between=cut)
        assert holder.broker.store.log.max_offset < before
        await pair.sent(holder.broker, *texts(7, 1))
        assert await pair.bodies(holder.broker) == [*texts(0, 3), *texts(7, 1)]

        async def fail() -> None:
            cut_log(tmp_path / "a", 1, why="a test", now_ms=pair.clock.now_ms())

        with pytest.raises(GiveUpError, match="no record of the log"):
            await holder.change(in_role(holder, as_slave(holder)), between=fail)
        assert holder.sections.role == "ASYNC_MASTER"
        await pair.sent(holder.broker, *texts(8, 1))

    play(tmp_path, scenario)
