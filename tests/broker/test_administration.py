"""What operators may do with a broker reaches all that depends on it."""

from __future__ import annotations

import errno
from typing import Any

import pytest

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


def test_a_changed_setting_is_in_force_and_shown(run: Any) -> None:
    async def scenario(world: Any) -> None:
        settings = of(world).settings
        lines = "autoCreateSubscriptionGroup=false\nfileReservedTime=5"
        assert settings.change(lines) == {"autoCreateSubscriptionGroup", "fileReservedTime"}
        assert (settings.topic_queues_max, settings.attributes_max) == (7, 3)
        assert (settings.slave_reads, settings.server_side_reset) == (False, True)
        assert not settings.auto_create_groups
        assert world.store.settings.keep_hours == 5
        assert "changed while it ran" in settings.origins()["fileReservedTime"]
        assert world.cluster.broker.service_port.in_force.keep_hours == 5
        with pytest.raises(FixedSetting):
            settings.change("brokerName=other")

    run(scenario, broker={"topic_queues_max": 7, "attributes_max": 3})


def test_a_changed_permission_is_news_for_name_servers(run: Any) -> None:
    async def scenario(world: Any) -> None:
        administration = of(world)
        before = administration.tables.topics.changes
        administration.settings.change("brokerPermission=4")
        assert administration.tables.topics.changes > before
        assert world.cluster.broker.service_port.in_force.permission == 4

    run(scenario)


def test_the_topic_that_new_ones_are_made_after_comes_with_the_setting(run: Any) -> None:
    async def scenario(world: Any) -> None:
        administration = of(world)
        assert "TBW102" not in administration.tables.topics
        administration.settings.change("autoCreateTopicEnable=true")
        assert administration.tables.topics.need("TBW102").perm & PERM_INHERIT

    run(scenario, broker={"auto_create_topics": False})


def test_a_deleted_topic_is_forgotten_everywhere(run: Any) -> None:
    async def scenario(world: Any) -> None:
        administration = of(world)
        await world.talker.ok_send("t")
        await world.settle()
        administration.tables.offsets.commit("g", "t", 0, 1)
        waiting = world.talker.pull("t", 1, sys_flag=6)
        await world.settle()
        assert administration.store.topics() == {"t"}
        await administration.delete_topic("t")
        assert (await waiting).remark == "topic t was deleted"
        assert administration.store.topics() == set()
        assert "t" not in administration.tables.topics
        assert administration.tables.offsets.query("g", "t", 0) is None
        assert administration.traffic.count("TOPIC_PUT_NUMS", "t") is None

    run(scenario)


def test_a_topic_stays_whose_queues_do(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(topic: str) -> None:
        raise OSError(errno.EIO, "Input/output error")

    async def scenario(world: Any) -> None:
        monkeypatch.setattr(world.store, "delete_topic", fail)
        with pytest.raises(OSError, match="Input/output"):
            await of(world).delete_topic("t")
        assert "t" in of(world).tables.topics

    run(scenario)


def test_queues_go_and_leave_the_topic(run: Any) -> None:
    async def scenario(world: Any) -> None:
        await world.talker.ok_send("t")
        await world.settle()
        await of(world).store.delete_queues("t")
        assert of(world).store.topics() == set()
        assert "t" in of(world).tables.topics

    run(scenario)


def test_the_store_is_cleaned_at_any_hour(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    async def scenario(world: Any) -> None:
        monkeypatch.setattr(world.store, "clean", lambda *, any_hour: asked.append(any_hour))
        of(world).store.clean()
        assert asked == [True]

    run(scenario)


def test_a_deleted_group_is_counted_no_more_and_keeps_its_offsets(run: Any) -> None:
    async def scenario(world: Any) -> None:
        administration = of(world)
        await world.talker.ok_send("t")
        await world.settle()
        await world.talker.pull("t")
        administration.tables.groups.need("g", auto_create=True)
        administration.tables.offsets.commit("g", "t", 0, 1)
        assert administration.traffic.count("GROUP_GET_NUMS", "t@g") is not None
        administration.delete_group("g")
        assert "g" not in administration.tables.groups
        assert administration.traffic.count("GROUP_GET_NUMS", "t@g") is None
        assert administration.tables.offsets.query("g", "t", 0) == 1

    run(scenario)


class Heeding(BrokerService):
    """Hears of resets."""

    def __init__(self, port: Any) -> None:
        self.heard: list[tuple[str, str, int]] = []

    def offset_reset(self, group: str, topic: str, queue_id: int) -> None:
        self.heard.append((group, topic, queue_id))

    def offers(self) -> dict[str, Any]:
        return {"heeding.heard": lambda: self.heard}


def test_a_reset_wakes_who_waits_and_notifies_services(run: Any) -> None:
    class Plugin:
        @hookimpl
        def register_broker_services(self) -> dict[str, Any]:
            return {"heeding": Heeding}

    plugins = PluginManager()
    plugins.register(Plugin())

    async def scenario(world: Any) -> None:
        await world.talker.ok_send("t")
        waiting = world.talker.pull("t", 1, sys_flag=6)
        await world.settle()
        of(world).reset_offset("g", "t", 0, 0)
        answer = await waiting
        assert (answer.remark, answer.ext["nextBeginOffset"]) == ("OFFSET_RESET", "0")
        heard = world.cluster.broker.service_port.offered("heeding.heard")
        assert heard() == [("g", "t", 0)]

    run(scenario, plugins=plugins, broker={"services": ("heeding",)})


def test_name_servers_know_of_a_topic_once_it_is_announced(run: Any) -> None:
    async def scenario(world: Any) -> None:
        of(world).tables.topics.ensure("new", 1)
        assert await of(world).announced() == []

    run(scenario)


def test_a_topic_of_the_system_is_none_of_operators(run: Any) -> None:
    async def scenario(world: Any) -> None:
        of(world).check_topic(TopicConfig(topic_name="orders"))
        with pytest.raises(Refusal, match="topic TBW102 is the system's own"):
            of(world).check_topic(TopicConfig(topic_name="TBW102"))

    run(scenario)
