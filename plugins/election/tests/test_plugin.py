"""The role of a group that elects its leader, as it is found by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from mqframe_election.broker.role_by_election import RoleByElection
from mqframe_election.settings import ElectionSettings
from mqframe_replication.settings import ReplicationSettings
from mqframe_testing.manual_clock import ManualClock

from mqframe.broker.sections import BrokerSections
from mqframe.broker.settings import BrokerSettings
from mqframe.core.errors import SettingError
from mqframe.hooks.manager import PluginManager
from mqframe.store.settings import StoreSettings


def sections(directory: Path, **election: str) -> BrokerSections:
    return BrokerSections(
        BrokerSettings(nameservers=("127.0.0.1:1",)),
        StoreSettings(directory=directory / "store"),
        replication=ReplicationSettings(role="ELECTED", id=1),
        added=(ElectionSettings(**election),),
    )


def test_its_elector_decides_with_the_engine_that_the_settings_name(tmp_path: Path) -> None:
    plugins = PluginManager().configured({"sqlite": {"file": str(tmp_path / "group.sqlite")}})
    chosen = sections(tmp_path, coordination="sqlite")
    role = plugins.create("broker_role", chosen.replication.plugin)
    decider = role.decider(chosen, ManualClock(), plugins, lambda: None)
    assert isinstance(decider, RoleByElection)
    assert not decider.leads
    with pytest.raises(SettingError, match=r"needs election\.coordination"):
        role.decider(sections(tmp_path), ManualClock(), plugins, lambda: None)


def test_a_broker_of_a_program_of_its_own_takes_no_part(tmp_path: Path) -> None:
    role = PluginManager().create("broker_role", "elected")
    assert role.group_role(sections(tmp_path)).log.copy is None
