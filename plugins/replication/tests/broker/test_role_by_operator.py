"""A broker that is made anew in another role, on the same port and files."""

from __future__ import annotations

import socket
from pathlib import Path

import attrs
import pytest
from mqframe_metrics import BrokerSource
from mqframe_replication.settings import ReplicationSettings
from mqframe_replication.store.closed_log import ClosedLog
from mqframe_replication.store.cutting import cut_log
from replicas import Held, Pair, texts

from mqframe.broker.broker import Broker
from mqframe.broker.roles.group_role import GroupRole
from mqframe.broker.sections import BrokerSections
from mqframe.core.errors import GiveUpError, SettingError
from mqframe.hooks.manager import PluginManager
from mqframe.store.files.layout import Layout


def as_slave(held: Held, number: int = 3) -> ReplicationSettings:
    return attrs.evolve(held.sections.replication, role="SLAVE", id=number)


def in_role(held: Held, replication: ReplicationSettings):
    return attrs.evolve(held.sections, replication=replication)


async def test_address_and_messages_stay(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        held = await pair.hold("a", "ASYNC_MASTER")
        await pair.sent(held.broker, *texts(0, 5))
        before, changed = held.address, []
        held.roles.on_change = changed.append
        await held.roles.change(in_role(held, as_slave(held)))
        assert (held.address, held.sections.role, held.roles.trouble) == (before, "SLAVE", "")
        assert await pair.bodies(held.broker) == texts(0, 5)
        assert (await pair.send(held.broker, b"x")).code == 14
        await held.roles.change(in_role(held, attrs.evolve(as_slave(held), role="SYNC_MASTER", id=0)))
        assert changed[-1] is held.broker
        assert len(changed) == 2
        assert (await pair.counters(held.broker))["brokerActive"] != ""


async def test_the_role_is_kept_until_another_one_is_configured(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        held = await pair.hold("a", "ASYNC_MASTER")
        held.roles.change_soon(as_slave(held))
        await held.stop()
        pair.held.remove(held)
        held = await pair.hold("a", "ASYNC_MASTER")
        assert (held.sections.role, held.sections.broker_id) == ("SLAVE", 3)
        assert held.roles.changed_ms == pair.clock.now_ms()
        await held.stop()
        pair.held.remove(held)
        held = await pair.hold("a", "SYNC_MASTER")
        assert held.sections.role == "SYNC_MASTER"
        assert held.roles.changed_ms == 0


async def test_a_change_by_a_program_is_not_kept(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        held = await pair.hold("a", "ASYNC_MASTER")
        await held.roles.change(in_role(held, as_slave(held)))
        await held.stop()
        pair.held.remove(held)
        held = await pair.hold("a", "ASYNC_MASTER")
        assert held.sections.role == "ASYNC_MASTER"


async def test_where_the_new_role_cannot_start_the_former_serves_again(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        held = await pair.hold("a", "SLAVE")
        before = held.address
        with socket.create_server(("127.0.0.1", 0)) as taken:
            wanted = attrs.evolve(as_slave(held), role="ASYNC_MASTER", id=0, port=taken.getsockname()[1])
            with pytest.raises(GiveUpError, match=r"in its former role, SLAVE: .*in use"):
                await held.roles.change(in_role(held, wanted), save=True)
        assert (held.address, held.sections.role) == (before, "SLAVE")
        assert "in use" in held.roles.trouble
        assert "in use" in (await pair.counters(held.broker))["roleTrouble"]
        await held.stop()
        pair.held.remove(held)
        assert (await pair.hold("a", "SLAVE")).sections.role == "SLAVE"


async def test_when_no_role_can_start_whoever_runs_it_is_told(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        made, lost = [], []

        def make(sections: BrokerSections, role: GroupRole | None) -> Broker:
            if made:
                raise SettingError("nothing can be made any more")
            made.append(pair.make(sections))
            return made[0]

        held = Held(pair.sections("a", "ASYNC_MASTER", {}), make, pair.clock)
        held.roles.on_lost = lambda: lost.append(held.roles.trouble)
        await held.host.start()
        with pytest.raises(GiveUpError, match="the broker serves no more"):
            await held.roles.change(in_role(held, as_slave(held)))
        assert lost == ["nothing can be made any more; nor in its former role: nothing can be made any more"]
        await held.stop()


async def test_a_role_that_does_not_go_with_the_settings_is_refused_before_anything_stops(
    tmp_path: Path,
) -> None:
    async with Pair(tmp_path) as pair:
        held = await pair.hold("a", "ASYNC_MASTER")
        broker = held.broker
        with pytest.raises(SettingError, match="a slave needs a number of its own"):
            held.roles.check(as_slave(held, 0))
        assert held.broker is broker
        await pair.sent(broker, *texts(0, 1))


async def test_metrics_and_readiness_are_those_of_the_broker_that_is_there(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        held = await pair.hold("a", "ASYNC_MASTER")
        metrics = BrokerSource(held.host)
        assert metrics.labels["node_id"] == "broker-a"
        names = {getattr(each, "name", "") async for each in metrics.families()}
        assert "mqframe_replication_slaves" in names
        await held.roles.change(in_role(held, as_slave(held)))
        names = {getattr(each, "name", "") async for each in metrics.families()}
        assert "mqframe_replication_following" in names
        assert "mqframe_replication_slaves" not in names
        assert (held.host.is_registered, held.host.refusal) == (True, "")


async def test_something_is_done_while_nobody_has_the_directory(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        held = await pair.hold("a", "ASYNC_MASTER")
        await pair.sent(held.broker, *texts(0, 5))
        before = held.broker.store.log.max_offset

        async def cut() -> None:
            with ClosedLog(Layout(tmp_path / "a")) as log:
                places = [record.physical_offset for record in log.records(log.files[0])]
            cut_log(
                tmp_path / "a",
                places[3],
                PluginManager().cut_backs(),
                why="a test",
                now_ms=pair.clock.now_ms(),
            )

        await held.roles.change(held.sections, between=cut)
        assert held.broker.store.log.max_offset < before
        await pair.sent(held.broker, *texts(7, 1))
        assert await pair.bodies(held.broker) == [*texts(0, 3), *texts(7, 1)]

        async def fail() -> None:
            cut_log(tmp_path / "a", 1, PluginManager().cut_backs(), why="a test", now_ms=pair.clock.now_ms())

        with pytest.raises(GiveUpError, match="no record of the log"):
            await held.roles.change(in_role(held, as_slave(held)), between=fail)
        assert held.sections.role == "ASYNC_MASTER"
        await pair.sent(held.broker, *texts(8, 1))
