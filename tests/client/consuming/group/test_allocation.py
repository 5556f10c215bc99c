"""Strategies that are exchanged while a consumer runs, by code and by a watched file."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest
from mqframe_testing.consuming import AllQueues, ClientScene, CollectingListener
from mqframe_testing.thread_pools import at_rest
from push_scenes import GROUP, PushScene, running

from mqframe import AsyncLitePullConsumer, AsyncPushConsumer, Producer, PushConsumer
from mqframe.client.consuming.group.allocation import AllocationChoice
from mqframe.core.errors import PluginError, SettingError
from mqframe.hooks.manager import PluginManager

MEMBERS = ["10.1.1.0@other", "10.1.1.1@m1"]


def ids(consumer: AsyncPushConsumer | AsyncLitePullConsumer) -> list[int]:
    return [queue.queue_id for queue in consumer.queues]


def write(path: Path, allocate: str, more: str = "") -> None:
    """Another file in the place of `path`, as tools that deploy configurations do it."""
    fresh = path.with_suffix(".new")
    fresh.write_text(
        f'[consumer]\ngroup = "{GROUP}"\nallocate = "{allocate}"\nconsume_from = "first"\n{more}'
    )
    os.replace(fresh, path)


def test_a_choice_that_cannot_be_made_leaves_the_present_one() -> None:
    choice = AllocationChoice(PluginManager(), AllQueues())
    before = choice.strategy
    with pytest.raises(PluginError, match="did you mean averagely"):
        choice.change("averagly")
    with pytest.raises(SettingError, match="virtual_nodes"):
        choice.change("consistent_hash", {"virtual_nodes": 0})
    assert choice.strategy is before


async def test_a_running_consumer_takes_another_strategy_at_once() -> None:
    async with PushScene(topics={"orders": 4}, allocate="averagely") as scene:
        scene.broker.members[GROUP] = MEMBERS
        listener = CollectingListener()
        async with running(scene, listener):
            assert ids(scene.consumer) == [2, 3]
            scene.consumer.set_allocation("averagely_by_circle")
            await scene.pass_time()
            assert ids(scene.consumer) == [1, 3]
            scene.consumer.set_allocation("by_config", {"queues": ["orders/broker-a/0"]})
            await scene.pass_time()
            assert ids(scene.consumer) == [0]
            with pytest.raises(PluginError):
                scene.consumer.set_allocation("nobody")
            scene.broker.put("orders", 0, b"goes on")
            await scene.pass_time(60.0)
            assert (ids(scene.consumer), listener.bodies) == ([0], [b"goes on"])


async def test_before_the_start_it_is_as_if_it_was_made_with_it() -> None:
    async with PushScene(topics={"orders": 4}, allocate="averagely") as scene:
        scene.broker.members[GROUP] = MEMBERS
        scene.consumer.set_allocation("averagely_by_circle")
        async with running(scene, CollectingListener()):
            assert ids(scene.consumer) == [1, 3]


async def test_a_lite_pull_consumer_takes_it_too() -> None:
    async with ClientScene({"orders": 4}) as scene:
        scene.broker.members["g"] = MEMBERS
        consumer = AsyncLitePullConsumer(
            "g", allocate="averagely", consume_from="first", instance=scene.instance, clock=scene.clock
        )
        consumer.subscribe("orders")
        await consumer.start()
        await scene.pass_time()
        assert [queue.queue_id for queue in consumer.assignment] == [2, 3]
        consumer.set_allocation("averagely_by_circle")
        await scene.pass_time()
        assert [queue.queue_id for queue in consumer.assignment] == [1, 3]
        await scene.finish(consumer.stop())


class TestWatch:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        path = tmp_path / "app.toml"
        write(path, "averagely")
        return path

    @staticmethod
    async def wait(scene, seconds: float) -> None:
        await scene.pass_time(seconds)
        await at_rest()  # the file is read in a thread
        await scene.pass_time()

    def consumer(self, scene, file: Path, **options) -> AsyncPushConsumer:
        made = AsyncPushConsumer.from_config(
            file, watch=5.0, instance=scene.instance, clock=scene.clock, **options
        )
        scene.consumer = made
        return made

    async def test_another_strategy_in_the_file_is_taken(self, file: Path) -> None:
        async with PushScene(topics={"orders": 4}) as scene:
            scene.broker.members[GROUP] = MEMBERS
            consumer = self.consumer(scene, file)
            async with running(scene, CollectingListener()):
                write(file, "averagely_by_circle")
                await self.wait(scene, 4.0)
                assert ids(consumer) == [2, 3]
                await self.wait(scene, 1.0)
                assert ids(consumer) == [1, 3]
                write(file, "by_config", '[plugins.by_config]\nqueues = ["orders/broker-a/0"]\n')
                await self.wait(scene, 5.0)
                assert ids(consumer) == [0]
                write(file, "by_config", '[plugins.by_config]\nqueues = ["orders/broker-a/1"]\n')
                await self.wait(scene, 5.0)
                assert ids(consumer) == [1]

    async def test_a_file_that_is_wrong_changes_nothing(
        self, file: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.ERROR, "mqframe"):
            async with PushScene(topics={"orders": 4}) as scene:
                scene.broker.members[GROUP] = MEMBERS
                consumer = self.consumer(scene, file)
                async with running(scene, CollectingListener()):
                    for text, said in (
                        ("[consumer\n", "app.toml"),
                        ('[consumer]\nallocate = "circle"\ngroup = "g"\n', "there is no allocation 'circle'"),
                    ):
                        file.write_text(text)
                        await self.wait(scene, 5.0)
                        assert said in caplog.records[-1].getMessage()
                        assert ids(consumer) == [2, 3]
                    file.unlink()
                    await self.wait(scene, 5.0)
                    assert ids(consumer) == [2, 3]
                    write(file, "averagely_by_circle")
                    await self.wait(scene, 5.0)
                    assert ids(consumer) == [1, 3]

    async def test_what_code_chose_stays_while_the_file_says_the_same(self, file: Path) -> None:
        async with PushScene(topics={"orders": 4}) as scene:
            scene.broker.members[GROUP] = MEMBERS
            consumer = self.consumer(scene, file)
            async with running(scene, CollectingListener()):
                consumer.set_allocation("averagely_by_circle")
                write(file, "averagely", "consume_threads = 3\n")
                await self.wait(scene, 5.0)
                assert ids(consumer) == [1, 3]

    async def test_nobody_looks_after_the_stop(self, file: Path, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.ERROR, "mqframe"):
            async with PushScene() as scene:
                consumer = self.consumer(scene, file)
                async with running(scene, CollectingListener()):
                    pass
                await scene.finish(consumer.stop(), 1.0)
                file.write_text("[consumer\n")
                await self.wait(scene, 60.0)
                assert not caplog.records

    def test_it_is_refused_where_nothing_changes(self, file: Path) -> None:
        with pytest.raises(SettingError, match="nothing of AsyncProducer changes"):
            Producer.from_config(file, group="g", nameserver="h:1", watch=1)
        with pytest.raises(SettingError, match=r"watch = -1: must be above 0"):
            PushConsumer.from_config(file, nameserver="h:1", watch=-1)
