"""A broker that is alone, and stays that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mqframe_testing.cluster import SMALL_STORE
from mqframe_testing.manual_clock import ManualClock

from mqframe.broker.broker import Broker
from mqframe.broker.host import BrokerHost
from mqframe.broker.roles.alone import AloneRole
from mqframe.broker.roles.group_role import GroupRole
from mqframe.broker.sections import BrokerSections
from mqframe.broker.settings import BrokerSettings
from mqframe.core.requests.roles import PromoteBroker
from mqframe.hooks.manager import PluginManager
from mqframe.net.client import Client
from mqframe.store.settings import StoreSettings


async def test_it_is_found_by_name_and_serves_on_the_same_port_until_its_server_stops(tmp_path: Path) -> None:
    clock = ManualClock()
    made: list[GroupRole | None] = []

    def make(sections: BrokerSections, role: GroupRole | None) -> Broker:
        made.append(role)
        return Broker(sections, clock, PluginManager(list), role)

    store = StoreSettings(directory=tmp_path / "store", **SMALL_STORE)
    sections = BrokerSections(BrokerSettings(port=0), store)
    role = PluginManager(list).create("broker_role", sections.replication.plugin)
    lost: list[Any] = []
    host = BrokerHost(make, role.decider(sections, clock, PluginManager(list), lambda: lost.append(1)))
    await host.start()
    address = host.address
    assert (host.refusal, host.broker.is_registered) == ("", True)
    client = Client(clock)
    refused = await client.invoke(address, PromoteBroker(), timeout=3600)
    assert refused.remark is not None
    assert "pip install mqframe-plugin-replication" in refused.remark
    await client.close()
    await host.stop()
    assert (host.present, lost) == (None, [])
    await host.start()  # nobody holds the store
    assert host.address == address
    host.decider.abandon()
    await host.stop()
    assert [type(role) for role in made] == [AloneRole, AloneRole]


def test_so_is_a_broker_in_a_program_of_its_own() -> None:
    sections = BrokerSections(BrokerSettings(), StoreSettings(directory=Path("store")))
    role = PluginManager(list).create("broker_role", "none")
    assert isinstance(role.group_role(sections), AloneRole)
