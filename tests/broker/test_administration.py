"""What operators may do with a broker reaches all that depends on it."""

from __future__ import annotations

import errno
from typing import Any

import pytest
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.broker.administration import Administration
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.codes import PERM_INHERIT
from mqframe.core.errors import FixedSetting, Refusal
from mqframe.hooks.interfaces import BrokerService
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.specs import hookimpl


def of(world: Any) -> Administration:
    found = world.cluster.broker.service_port.administration
    assert isinstance(found, Administration)
    return found


async def test_a_changed_setting_is_in_force_and_shown() -> None:
    limits = {"topic_queues_max": 7, "attributes_max": 3, "group_rules_max": 65}
    async with ClusterScene(topics={"t": 2}, broker=limits) as world:
        settings = of(world).settings
        lines = "autoCreateSubscriptionGroup=false\nfileReservedTime=5"
        assert settings.change(lines) == {"autoCreateSubscriptionGroup", "fileReservedTime"}
        assert {name: getattr(settings, name) for name in limits} == limits
        assert (settings.slave_reads, settings.server_side_reset) == (False, True)
        assert not settings.auto_create_groups
        assert world.store.settings.keep_hours == 5
        assert "changed while it ran" in settings.origins()["fileReservedTime"]
        assert world.cluster.broker.service_port.in_force.keep_hours == 5
        with pytest.raises(FixedSetting):
            settings.change("brokerName=other")


async def test_a_changed_permission_is_news_for_name_servers() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        administration = of(world)
        before = administration.tables.topics.changes
        administration.settings.change("brokerPermission=4")
        assert administration.tables.topics.changes > before
        assert world.cluster.broker.service_port.in_force.permission == 4


async def test_the_topic_that_new_ones_are_made_after_comes_with_the_setting() -> None:
    async with ClusterScene(topics={"t": 2}, broker={"auto_create_topics": False}) as world:
        administration = of(world)
        assert "TBW102" not in administration.tables.topics
        administration.settings.change("autoCreateTopicEnable=true")
        assert administration.tables.topics.need("TBW102").perm & PERM_INHERIT


async def test_a_deleted_topic_is_forgotten_everywhere() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        administration = of(world)
        await world.client.ok_send("t")
        await world.settle()
        administration.tables.offsets.commit("g", "t", 0, 1)
        waiting = world.client.pull("t", 1, sys_flag=6)
        await world.settle()
        assert administration.store.topics() == {"t"}
        await administration.delete_topic("t")
        assert (await waiting).remark == "topic t was deleted"
        assert administration.store.topics() == set()
        assert "t" not in administration.tables.topics
        assert administration.tables.offsets.query("g", "t", 0) is None
        assert administration.traffic.count("TOPIC_PUT_NUMS", "t") is None


async def test_a_topic_stays_whose_queues_do(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(topic: str) -> None:
        raise OSError(errno.EIO, "Input/output error")

    async with ClusterScene(topics={"t": 2}) as world:
        monkeypatch.setattr(world.store, "delete_topic", fail)
        with pytest.raises(OSError, match="Input/output"):
            await of(world).delete_topic("t")
        assert "t" in of(world).tables.topics


async def test_queues_go_and_leave_the_topic() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok_send("t")
        await world.settle()
        await of(world).store.delete_queues("t")
        assert of(world).store.topics() == set()
        assert "t" in of(world).tables.topics


async def test_the_store_is_cleaned_at_any_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    async with ClusterScene(topics={"t": 2}) as world:
        monkeypatch.setattr(world.store, "clean", lambda *, any_hour: asked.append(any_hour))
        of(world).store.clean()
        assert asked == [True]


async def test_a_deleted_group_is_counted_no_more_and_keeps_its_offsets() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        administration = of(world)
        await world.client.ok_send("t")
        await world.settle()
        await world.client.pull("t")
        administration.tables.groups.need("g", auto_create=True)
        administration.tables.offsets.commit("g", "t", 0, 1)
        assert administration.traffic.count("GROUP_GET_NUMS", "t@g") is not None
        administration.delete_group("g")
        assert "g" not in administration.tables.groups
        assert administration.traffic.count("GROUP_GET_NUMS", "t@g") is None
        assert administration.tables.offsets.query("g", "t", 0) == 1


class Heeding(BrokerService):
    """Hears of resets."""

    def __init__(self, port: Any) -> None:
        self.heard: list[tuple[str, str, int]] = []

    def offset_reset(self, group: str, topic: str, queue_id: int) -> None:
        self.heard.append((group, topic, queue_id))

    def offers(self) -> dict[str, Any]:
        return {"heeding.heard": lambda: self.heard}


async def test_a_reset_wakes_who_waits_and_notifies_services() -> None:
    class Plugin:
        @hookimpl
        def register_broker_services(self) -> dict[str, Any]:
            return {"heeding": Heeding}

    plugins = PluginManager()
    plugins.register(Plugin())

    async with ClusterScene(topics={"t": 2}, plugins=plugins, broker={"services": ("heeding",)}) as world:
        await world.client.ok_send("t")
        waiting = world.client.pull("t", 1, sys_flag=6)
        await world.settle()
        of(world).reset_offset("g", "t", 0, 0)
        answer = await waiting
        assert (answer.remark, answer.ext["nextBeginOffset"]) == ("OFFSET_RESET", "0")
        heard = world.cluster.broker.service_port.offered("heeding.heard")
        assert heard() == [("g", "t", 0)]


async def test_name_servers_know_of_a_topic_once_it_is_announced() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        of(world).tables.topics.ensure("new", 1)
        assert await of(world).announced() == []


async def test_a_topic_of_the_system_is_none_of_operators() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        of(world).check_topic(TopicConfig(topic_name="orders"))
        with pytest.raises(Refusal, match="topic TBW102 is the system's own"):
            of(world).check_topic(TopicConfig(topic_name="TBW102"))
