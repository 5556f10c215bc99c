"""Whoever is told of a change finds it after a crash, or was told that it is not saved."""

import asyncio
import errno
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.requests.admin import (
    DeleteSubscriptionGroup,
    DeleteTopicInBroker,
    GetSubscriptionGroupConfig,
    GetTopicConfig,
    InvokeBrokerToResetOffset,
    UpdateAndCreateSubscriptionGroup,
    UpdateAndCreateTopic,
)
from mqframe.core.requests.consumers import QueryConsumerOffset, UpdateConsumerOffset
from mqframe.core.requests.insight import CloneGroupOffset
from mqframe.core.requests.nameserver import GetRouteinfoByTopic
from mqframe.core.wire.loose_json import dumps
from mqframe.store.files.config_file import ConfigFile

NEW_TOPIC = UpdateAndCreateTopic(topic="new", read_queue_nums=1, write_queue_nums=1, perm=6)
GROUP = (UpdateAndCreateSubscriptionGroup(), dumps(SubscriptionGroupConfig(group_name="h")))
REQUESTS = [(NEW_TOPIC, b""), (DeleteTopicInBroker(topic="t"), b""), GROUP]


@pytest.fixture
def full(monkeypatch):
    """Lets every sync of a file below config/ fail while it is set."""
    broken = []
    real = os.fsync

    def fsync(descriptor):
        if broken and "/config/" in os.readlink(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.EIO, "Input/output error")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    return broken


@pytest.mark.parametrize(("request_", "body"), REQUESTS)
async def test_a_change_that_cannot_be_saved_is_no_success(full, request_, body):
    async with ClusterScene(topics={"t": 2}) as world:
        full.append(True)
        answer = await world.client.invoke(request_, body)
        assert (answer.code, "cannot be saved" in answer.remark) == (1, True)
        full.clear()
        assert (await world.client.invoke(request_, body)).code == 0


async def test_what_is_not_saved_is_not_announced(full):
    async with ClusterScene(topics={"t": 2}) as world:
        full.append(True)
        await world.client.invoke(NEW_TOPIC)
        request = GetRouteinfoByTopic(topic="new")
        assert (await world.client.client.invoke(world.cluster.nameserver, request)).code == 17
        full.clear()


async def test_what_was_answered_survives_a_kill():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok(NEW_TOPIC)
        await world.client.ok(*GROUP)
        await world.client.ok(DeleteTopicInBroker(topic="t"))
        await world.cluster.kill_broker()
        await world.cluster.start_broker()
        talker = world.connect()
        await talker.ok(GetTopicConfig(topic="new"))
        await talker.ok(GetSubscriptionGroupConfig(group="h"))
        assert (await talker.invoke(GetTopicConfig(topic="t"))).code == 17
        await talker.ok(DeleteSubscriptionGroup(group_name="h"))
        await world.cluster.kill_broker()
        await world.cluster.start_broker()
        assert "h" not in world.cluster.broker.service_port.groups


@pytest.fixture
def slow(monkeypatch):
    """A disk that takes what is saved of topics, by a thread, only when the test says so."""
    monkeypatch.setattr("mqframe_testing.cluster.AtOnce", lambda: ThreadPoolExecutor(1))
    return SlowDisk(monkeypatch)


class SlowDisk:
    def __init__(self, patch):
        self._real, self._open, self._waits = os.fsync, threading.Event(), threading.Semaphore(0)
        self._open.set()
        patch.setattr(os, "fsync", self._fsync)

    def _fsync(self, descriptor):
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith("/config/topics.json.tmp"):
            self._waits.release()
            assert self._open.wait(timeout=120)
        self._real(descriptor)

    async def stop(self, begin):
        """Take nothing more; returns when what `begin` starts waits for the disk, with that."""
        while self._waits.acquire(blocking=False):
            pass
        self._open.clear()
        begun = asyncio.ensure_future(begin)
        assert await asyncio.to_thread(self._waits.acquire, timeout=120)
        return begun

    def go_on(self):
        self._open.set()


@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
async def test_sends_to_a_topic_that_is_not_on_disk_yet_are_answered_when_it_is(slow, flush):
    async with ClusterScene(topics={"t": 2}, store={"flush": flush}) as world:
        second, third = world.connect(), world.connect()
        await second.ok_send("t")
        await third.ok_send("t")
        made = await slow.stop(world.client.send("by-itself"))
        again = asyncio.ensure_future(second.send("by-itself"))
        for _ in range(3):
            await third.ok_send("t")  # others, and other topics, are served as ever
        await world.settle_loop()
        assert (made.done(), again.done()) == (False, False)
        slow.go_on()
        assert [(await each).code for each in (made, again)] == [0, 0]
        saved = world.cluster.directory / "broker-a/config/topics.json"
        assert b'"by-itself"' in saved.read_bytes()


async def test_many_topics_made_at_once_share_a_save(slow, monkeypatch):
    async with ClusterScene(topics={"t": 2}) as world:
        saves = []
        monkeypatch.setattr(ConfigFile, "save", counting(ConfigFile.save, saves))
        first = await slow.stop(world.client.invoke(NEW_TOPIC))
        others = [world.connect() for _ in range(4)]
        requests = [
            UpdateAndCreateTopic(topic=f"n{number}", read_queue_nums=1, write_queue_nums=1, perm=6)
            for number in range(40)
        ]
        waiting = [asyncio.ensure_future(others[at % 4].invoke(each)) for at, each in enumerate(requests)]
        await others[0].client.invoke(world.cluster.nameserver, GetRouteinfoByTopic(topic="t"))
        while "n39" not in world.cluster.broker.service_port.topics:
            await asyncio.sleep(0)
        answer = await world.client.client.invoke(world.cluster.nameserver, GetRouteinfoByTopic(topic="n0"))
        assert answer.code == 17, "no name server hears of what is not saved"
        slow.go_on()
        assert [(await each).code for each in (first, *waiting)] == [0] * 41
        assert saves.count("topics.json") <= 3
        await world.client.ok(GetTopicConfig(topic="n39"))


def counting(real, saves):
    def save(file, content):
        saves.append(file.path.name)
        real(file, content)

    return save


async def test_a_broker_that_stops_saves_and_answers_before(slow):
    async with ClusterScene(topics={"t": 2}) as world:
        made = await slow.stop(world.client.send("by-itself"))
        stopping = asyncio.ensure_future(world.cluster.stop_broker())
        await world.settle_loop()
        assert (made.done(), stopping.done()) == (False, False)
        slow.go_on()
        assert (await made).code == 0
        await stopping
        saved = world.cluster.directory / "broker-a/config/topics.json"
        assert b'"by-itself"' in saved.read_bytes()


async def consumed(world, offset):
    """The group `g` is at `offset` of the topic `t`, and that is on disk."""
    for _ in range(9):
        await world.client.ok_send("t")
    await world.client.ok(*group("g"))
    await world.client.ok(UpdateConsumerOffset("g", "t", 0, offset))
    await world.client.ok(CloneGroupOffset(src_group="g", dest_group="first", topic="t", offline=True))


def group(name):
    return UpdateAndCreateSubscriptionGroup(), dumps(SubscriptionGroupConfig(group_name=name))


MOVES = [
    (CloneGroupOffset(src_group="g", dest_group="h", topic="t", offline=True), "h", 5),
    (
        InvokeBrokerToResetOffset(topic="t", group="g", timestamp=0, is_force=True, queue_id=0, offset=2),
        "g",
        2,
    ),
]


@pytest.mark.parametrize(("move", "name", "offset"), MOVES)
async def test_where_an_operator_moved_a_group_survives_a_kill(move, name, offset):
    async with ClusterScene(topics={"t": 2}) as world:
        await consumed(world, 5)
        await world.client.ok(*group("h"))
        await world.client.ok(move)
        await world.cluster.kill_broker()
        await world.cluster.start_broker()
        answer = await world.connect().ok(QueryConsumerOffset(name, "t", 0))
        assert answer.ext["offset"] == str(offset)


@pytest.mark.parametrize(("move", "name", "offset"), MOVES)
async def test_a_move_that_cannot_be_saved_is_no_success(full, move, name, offset):
    async with ClusterScene(topics={"t": 2}) as world:
        await consumed(world, 5)
        await world.client.ok(*group("h"))
        full.append(True)
        answer = await world.client.invoke(move)
        assert (answer.code, "cannot be saved" in answer.remark) == (1, True)
        full.clear()
