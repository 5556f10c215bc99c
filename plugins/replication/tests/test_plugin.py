"""The roles that operators give, as they are found by name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mqframe_replication.broker.hand_set_role import HandSetRole
from mqframe_replication.broker.role_by_operator import RoleByOperator
from mqframe_replication.settings import ReplicationSettings
from mqframe_testing.manual_clock import ManualClock

from mqframe.broker.sections import BrokerSections
from mqframe.broker.settings import BrokerSettings
from mqframe.core.errors import PluginError
from mqframe.hooks.manager import PluginManager
from mqframe.store.settings import StoreSettings


def sections(directory: Path, role: str) -> BrokerSections:
    return BrokerSections(
        BrokerSettings(nameservers=("127.0.0.1:1",)),
        StoreSettings(directory=directory),
        replication=ReplicationSettings(role=role, id=1),
    )


@pytest.mark.parametrize("role", ["NONE", "ASYNC_MASTER", "SYNC_MASTER", "SLAVE"])
def test_each_is_decided_by_operators_while_a_server_runs(tmp_path: Path, role: str) -> None:
    chosen, plugins = sections(tmp_path, role), PluginManager()
    lost: list[Any] = []
    made = plugins.create("broker_role", chosen.replication.plugin)
    assert isinstance(made.group_role(chosen), HandSetRole)
    decider = made.decider(chosen, ManualClock(), plugins, lambda: lost.append(role))
    assert isinstance(decider, RoleByOperator)
    decider.on_lost()
    assert lost == [role]


@pytest.mark.parametrize(
    ("role", "distribution"),
    [("slave", "mqframe-plugin-replication"), ("elected", "mqframe-plugin-election")],
)
def test_a_role_of_a_missing_distribution_is_refused_with_what_to_install(
    role: str, distribution: str
) -> None:
    with pytest.raises(PluginError, match=f"not installed; .* pip install {distribution}$"):
        PluginManager(list).create("broker_role", role)


def test_what_serves_is_not_imported_to_know_the_roles_and_their_settings() -> None:
    code = (
        "import sys; from mqframe.hooks.manager import PluginManager; plugins = PluginManager();"
        "plugins.create('broker_role', 'slave'); import mqframe_replication.settings;"
        "print(sorted(name for name in sys.modules if name.startswith(('mqframe_replication.', 'typer'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['mqframe_replication.plugin', 'mqframe_replication.settings']\n"
