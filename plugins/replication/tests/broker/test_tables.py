"""The tables that a slave copies."""

from __future__ import annotations

from pathlib import Path

import pytest
from mqframe_admin.requests import (
    DeleteSubscriptionGroup,
    DeleteTopicInBroker,
    UpdateAndCreateSubscriptionGroup,
)
from replicas import Pair

from mqframe.core.cluster.topic_table import TopicTable
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.errors import BodyError
from mqframe.core.requests.admin import GetSubscriptionGroupConfig, GetTopicConfig, UpdateAndCreateTopic
from mqframe.core.wire.loose_json import dumps, loads


def topic(name: str, queues: int) -> UpdateAndCreateTopic:
    return UpdateAndCreateTopic(topic=name, read_queue_nums=queues, write_queue_nums=queues, perm=6)


async def test_topics_and_groups_that_come_change_and_go_do_so_at_the_slave(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master = await pair.start("master", "ASYNC_MASTER")
        await pair.invoke(master, topic("a", 2))
        await pair.invoke(master, topic("b", 2))
        group = SubscriptionGroupConfig(group_name="g", retry_max_times=3)
        assert (await pair.invoke(master, UpdateAndCreateSubscriptionGroup(), dumps(group))).code == 0
        slave = await pair.start("slave", "SLAVE")
        await pair.settle(2)
        assert (await pair.invoke(slave, GetTopicConfig(topic="b"))).code == 0
        found = loads(bytes((await pair.invoke(slave, GetSubscriptionGroupConfig(group="g"))).body))
        assert found["retryMaxTimes"] == 3
        await pair.invoke(master, topic("a", 5))
        assert (await pair.invoke(master, DeleteTopicInBroker(topic="b"))).code == 0
        assert (await pair.invoke(master, DeleteSubscriptionGroup(group_name="g"))).code == 0
        await pair.settle(10.1)
        changed = loads(bytes((await pair.invoke(slave, GetTopicConfig(topic="a"))).body))
        assert changed["readQueueNums"] == 5
        assert (await pair.invoke(slave, GetTopicConfig(topic="b"))).code == 17
        saved = loads((tmp_path / "slave" / "config" / "topics.json").read_bytes())
        assert "a" in saved["topicConfigTable"]


async def test_tables_stay_while_the_master_is_away_and_after_a_restart(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master = await pair.start("master", "ASYNC_MASTER")
        await pair.invoke(master, topic("a", 2))
        slave = await pair.start("slave", "SLAVE")
        await pair.settle(2)
        await pair.stop(master)
        await pair.settle(30)
        await pair.stop(slave)
        slave = await pair.start("slave", "SLAVE")
        assert (await pair.invoke(slave, GetTopicConfig(topic="a"))).code == 0


async def test_one_table_that_is_not_had_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Pair(tmp_path) as pair:
        master = await pair.start("master", "ASYNC_MASTER")
        await pair.invoke(master, topic("a", 2))

        def refuse(*table: object) -> None:
            raise BodyError("the table is odd")

        monkeypatch.setattr(TopicTable, "replace", refuse)
        slave = await pair.start("slave", "SLAVE")
        group = SubscriptionGroupConfig(group_name="g", retry_max_times=3)
        assert (await pair.invoke(master, UpdateAndCreateSubscriptionGroup(), dumps(group))).code == 0
        await pair.settle(2)
        assert (await pair.invoke(slave, GetTopicConfig(topic="a"))).code == 17
        assert (await pair.invoke(slave, GetSubscriptionGroupConfig(group="g"))).code == 0
