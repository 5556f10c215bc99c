"""Whoever is told of a change finds it after a crash, or was told that it is not saved."""

import errno
import os

import pytest

from mqframe.broker.admin.saved_changes import CHANGES
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.requests.admin import (
    DeleteSubscriptionGroup,
    DeleteTopicInBroker,
    GetSubscriptionGroupConfig,
    GetTopicConfig,
    UpdateAndCreateSubscriptionGroup,
    UpdateAndCreateTopic,
)
from mqframe.core.requests.nameserver import GetRouteinfoByTopic
from mqframe.core.wire.loose_json import dumps

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
def test_a_change_that_cannot_be_saved_is_no_success(run, full, request_, body):
    async def scenario(world):
        full.append(True)
        answer = await world.talker.invoke(request_, body)
        assert (answer.code, "cannot be saved" in answer.remark) == (1, True)
        full.clear()
        assert (await world.talker.invoke(request_, body)).code == 0

    run(scenario)


def test_what_is_not_saved_is_not_announced(run, full):
    async def scenario(world):
        full.append(True)
        await world.talker.invoke(NEW_TOPIC)
        request = GetRouteinfoByTopic(topic="new")
        assert (await world.talker.client.invoke(world.cluster.nameserver, request)).code == 17
        full.clear()

    run(scenario)


def test_what_was_answered_survives_a_kill(run):
    async def scenario(world):
        await world.talker.ok(NEW_TOPIC)
        await world.talker.ok(*GROUP)
        await world.talker.ok(DeleteTopicInBroker(topic="t"))
        await world.cluster.kill_broker()
        await world.cluster.start_broker()
        talker = world.join()
        await talker.ok(GetTopicConfig(topic="new"))
        await talker.ok(GetSubscriptionGroupConfig(group="h"))
        assert (await talker.invoke(GetTopicConfig(topic="t"))).code == 17
        await talker.ok(DeleteSubscriptionGroup(group_name="h"))
        await world.cluster.kill_broker()
        await world.cluster.start_broker()
        assert "h" not in world.cluster.broker.service_port.groups

    run(scenario)


def test_what_is_a_change_has_its_request_listed():
    assert len({kind.CODE for kind in CHANGES}) == len(CHANGES) == 8
