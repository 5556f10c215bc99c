"""The broker service `speedups`: when it has a shorter way, and what it shows of it."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from mqframe_index.settings import IndexSettings
from mqframe_index.store.indexing import FileIndexing
from mqframe_speedups.switch import SWITCH
from mqframe_testing.cluster_scene import ClusterScene
from twins import service_of

from mqframe import AsyncProducer, Message
from mqframe.core.codes import ResponseCode
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.measuring.family import Family
from mqframe.core.requests.messages import QueryMessage
from mqframe.core.storage.record import decode_records


async def shown(scene: ClusterScene) -> tuple[str | None, dict[Any, Any]]:
    """Its counter, and its metric by label."""
    service = service_of(scene.cluster.broker)
    family, _ = await service.metrics()
    assert isinstance(family, Family)
    return service.counters().get("speedups.sends"), dict(family.series)


async def test_it_counts_what_was_given_which_way() -> None:
    async with ClusterScene(topics={"orders": 1}) as scene:
        await sent(scene, 5)
        await scene.client.heartbeat("g", SubscriptionData(topic="orders"))
        for own in (None, "*"):
            answer = await scene.client.pull("orders", 0, sys_flag=4 if own else 0, subscription=own)
            assert [m.stored_body for m in decode_records(answer.body)] == [b"0", b"1", b"2", b"3", b"4"]
        service = service_of(scene.cluster.broker)
        _, family = await service.metrics()
        assert isinstance(family, Family)
        assert (family.name, dict(family.series)) == (
            "mqframe_speedups_given_messages_total",
            {("native",): 5, ("python",): 5},
        )
        assert service.counters()["speedups.pulls"] == "5"


async def sent(scene: ClusterScene, count: int) -> None:
    producer = await scene.open(AsyncProducer("shop", nameserver=scene.nameserver, clock=scene.clock))
    for number in range(count):
        await producer.send(Message("orders", b"%d" % number, keys=["all"], tag="a"))


async def test_it_counts_what_went_which_way() -> None:
    async with ClusterScene(topics={"orders": 1}) as scene:
        assert await shown(scene) == ("0", {("native",): 0, ("python",): 0})
        await sent(scene, 5)
        assert await shown(scene) == ("4", {("native",): 4, ("python",): 1})
        assert scene.bodies("orders") == [b"0", b"1", b"2", b"3", b"4"]


async def test_what_went_it_is_found_by_key() -> None:
    async with ClusterScene(topics={"orders": 1}, sections=[IndexSettings(slots=7, entries=40)]) as scene:
        await sent(scene, 5)
        answer = await scene.client.ok(QueryMessage("orders", "all", 32, 0, 2**63 - 1))
        found = [message.stored_body for message in decode_records(answer.body)]
        assert found == [b"4", b"3", b"2", b"1", b"0"]


async def test_it_is_switched_off_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(SWITCH, "0")
    caplog.set_level(logging.INFO, "mqframe.broker")
    async with ClusterScene(topics={"orders": 1}) as scene:
        assert "no speedups why='switched off in the environment'" in caplog.messages
        await sent(scene, 3)
        assert await shown(scene) == (None, {("native",): 0, ("python",): 3})


async def test_a_broker_says_why_sends_cannot_go_it(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mqframe_speedups.sends.NotesElsewhere", FileIndexing)  # as no index is
    caplog.set_level(logging.INFO, "mqframe.broker")
    async with ClusterScene(topics={"orders": 1}, sections=[IndexSettings(slots=7, entries=40)]):
        why = "the index of keys is not that of the service index"
        assert f"sends go without speedups why='{why}'" in caplog.messages


async def test_a_topic_that_is_made_again_begins_anew() -> None:
    async with ClusterScene(topics={"orders": 1}) as scene:
        await sent(scene, 3)
        await scene.cluster.broker.service_port.store.delete_topic("orders")
        scene.cluster.broker.service_port.topics.remove("orders")
        await scene.cluster.create_topic("orders", 1)
        await sent(scene, 2)
        assert scene.bodies("orders") == [b"0", b"1"]
        assert (await shown(scene))[0] == "3"


async def test_a_topic_that_is_not_there_any_more_is_refused() -> None:
    async with ClusterScene(topics={"orders": 1}) as scene:
        await sent(scene, 2)
        scene.cluster.broker.service_port.topics.remove("orders")
        answer = await scene.client.send("orders", b"x", "UNIQ_KEY\x01k\x02", default_topic="none")
        assert answer.code == ResponseCode.TOPIC_NOT_EXIST
