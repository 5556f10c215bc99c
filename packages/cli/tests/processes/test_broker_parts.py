"""The broker of a process, of its settings."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from mqframe_cli.processes.broker_parts import COMPILED, BrokerParts, broker_of
from mqframe_cli.settings.configuration import load
from mqframe_election.broker.role_by_election import RoleByElection
from mqframe_replication.broker.role_by_operator import RoleByOperator

from mqframe.core.config.configuration import Resolved
from mqframe.core.errors import SettingError
from mqframe.hooks.manager import PluginManager
from mqframe.net.clock import SystemClock
from mqframe.store.upkeep.opening_progress import OpeningProgress


def settings(directory: Path, **more: Any) -> Resolved:
    items = [f"store.directory={directory}", "store.commit_log_file_bytes=1048576", "store.disk_limits=false"]
    items += ["broker.port=0", "broker.vip_port=false", *[f"{path}={value}" for path, value in more.items()]]
    return load("broker", {}, None, items)


def parts() -> BrokerParts:
    clock = SystemClock()
    return BrokerParts(clock, PluginManager(), None, OpeningProgress(clock.monotonic))


async def test_a_broker_by_itself_may_change_its_role_and_knows_the_process_s_name_servers(
    tmp_path: Path,
) -> None:
    host = broker_of(settings(tmp_path), ("127.0.0.1:1",), parts())
    roles = host.decider
    assert isinstance(roles, RoleByOperator)
    assert roles.sections.broker.nameservers[0] == "127.0.0.1:1"
    await host.start()
    assert host.address == host.broker.address
    roles.check(roles.sections.replication)
    await host.stop()
    await host.start()  # nobody holds the store
    await host.stop()


def test_an_elected_one_is_a_member_of_its_group(tmp_path: Path) -> None:
    more = {"replication.role": "ELECTED", "replication.id": 1}
    with pytest.raises(SettingError, match=r"needs election\.coordination"):
        broker_of(settings(tmp_path, **more), ("127.0.0.1:1",), parts())
    chosen = settings(tmp_path, **more, **{"election.coordination": "sqlite"})
    plugins = PluginManager().configured({"sqlite": {"file": str(tmp_path / "group.sqlite")}})
    host = broker_of(chosen, ("127.0.0.1:1",), parts()._replace(plugins=plugins))
    assert isinstance(host.decider, RoleByElection)


@pytest.mark.parametrize("installed", [False, True])
def test_the_log_says_that_there_is_no_compiled_code_unless_that_was_chosen(
    installed: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "mqframe.broker")
    missing = frozenset() if installed else frozenset({f"mqframe-{COMPILED}"})
    monkeypatch.setattr(PluginManager, "not_installed", lambda self: missing)
    broker_of(settings(tmp_path, **{"broker.services_blocked": COMPILED}), (), parts())
    assert caplog.messages == []
    broker_of(settings(tmp_path), (), parts())
    why = "mqframe-speedups is not installed; install it with: pip install mqframe-speedups"
    assert caplog.messages == ([] if installed else [f"no speedups why='{why}'"])
