"""Allocation strategies by the names that clients send."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from mqframe_assignment.broker.strategies import Strategies

from mqframe.hooks.interfaces import AllocationStrategy
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.specs import hookimpl


class Mine(AllocationStrategy):
    wire_name = "MINE"

    def allocate(self, group: str, client_id: str, queues: Any, clients: Any) -> list[Any]:
        return []


class Looking(Mine):
    """Looks before it decides."""

    wire_name = "LOOKING"

    async def prepare(self, port: Any, group: str, topic: str, queues: Any, clients: Any) -> None:
        raise AssertionError("brokers have nothing to look at")

    def basis(self, group: str, topic: str) -> str:
        return "nothing yet: as averagely"


class Plugin:
    """Counts what is made of it."""

    made = 0

    @hookimpl
    def register_allocation_strategies(self) -> dict[str, Any]:
        return {"MINE": self.make, "LOOKING": Looking, "misnamed": Mine, "broken": "no_such_module:Strategy"}

    def make(self) -> Mine:
        self.made += 1
        return Mine()


def test_a_strategy_is_made_once_and_only_when_it_is_asked_for() -> None:
    plugin, plugins = Plugin(), PluginManager(list)
    plugins.register(plugin)
    strategies = Strategies(plugins)
    assert plugin.made == 0
    first = strategies.find("MINE")
    assert isinstance(first, Mine)
    assert strategies.find("MINE") is first
    assert plugin.made == 1


def test_names_that_stand_for_nothing_that_can_be_made_give_none() -> None:
    plugins = PluginManager(list)
    plugins.register(Plugin())
    strategies = Strategies(plugins)
    assert [strategies.find(name) for name in (None, "", "AVG_BY_CIRCLE", "misnamed", "broken")] == [None] * 5


def test_rocketmq_s_names_stand_for_the_installed_plugins_unless_they_are_blocked() -> None:
    plugins = PluginManager()
    found = Strategies(plugins).find("AVG")
    assert found is not None
    assert found.wire_name == "AVG"
    plugins.block("allocation.averagely")
    assert Strategies(plugins).find("AVG") is None


def test_a_strategy_that_looks_first_is_used_and_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    plugins = PluginManager(list)
    plugins.register(Plugin())
    strategies = Strategies(plugins)
    with caplog.at_level(logging.WARNING, "mqframe"):
        assert isinstance(strategies.find("LOOKING"), Looking)
        strategies.find("LOOKING")
        strategies.find("MINE")
    (record,) = caplog.records
    assert "knows less here than in clients" in record.getMessage()
    assert "nothing yet: as averagely" in record.getMessage()
