"""Recalls of messages that wait for a given time."""

from __future__ import annotations

import base64

import pytest
from mqframe_delay.settings import DelaySettings
from mqframe_testing.cluster_scene import ClusterScene
from timed_messages import DAY, bodies, send

from mqframe.core.delay.recall_handle import recall_handle
from mqframe.core.requests.messages import RecallMessage

NOW = 1_700_000_000_000


async def test_what_is_recalled_does_not_come():
    async with ClusterScene(topics={"t": 2}) as world:
        handles = {name: await send(world, name, TIMER_DELAY_SEC=10) for name in "abc"}
        await world.clock.aadvance(1)
        answer = await world.client.ok(RecallMessage(topic="t", recall_handle=handles["b"]))
        assert answer.ext["MSG_REGION"] == "DefaultRegion"
        await world.clock.aadvance(10)
        assert bodies(world) == ["a", "c"]


async def test_a_recall_in_the_last_moment_counts():
    async with ClusterScene(topics={"t": 2}) as world:
        handle = await send(world, "a", TIMER_DELAY_SEC=2)
        await world.clock.aadvance(0.999)  # the handle's time is one ms after the slot began
        await world.client.ok(RecallMessage(topic="t", recall_handle=handle))
        await world.clock.aadvance(10)
        assert bodies(world) == []


@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        ({"recall_handle": ""}, 604, "invalid"),
        ({"recall_handle": "???"}, 604, "invalid"),
        ({"recall_handle": base64.b64encode(b"v2 t broker-a 1 u").decode()}, 604, "invalid"),
        ({"recall_handle": base64.b64encode(b"v1 t broker-a 1").decode()}, 604, "invalid"),
        ({"recall_handle": recall_handle("other", "broker-a", NOW + 5000, "u")}, 604, "topic not match"),
        ({"recall_handle": recall_handle("t", "broker-b", NOW + 5000, "u")}, 604, "broker-b"),
        ({"recall_handle": recall_handle("t", "broker-a", NOW - 1, "u")}, 604, "timestamp invalid"),
        ({"recall_handle": recall_handle("t", "broker-a", NOW + 3 * DAY * 1000, "u")}, 604, "timestamp"),
        ({"topic": "none", "recall_handle": "x"}, 17, "none"),
        (
            {
                "topic": "SCHEDULE_TOPIC_XXXX",
                "recall_handle": recall_handle("SCHEDULE_TOPIC_XXXX", "broker-a", NOW + 5000, "u"),
            },
            16,
            "the system's own",
        ),
    ],
)
async def test_a_recall_that_means_nothing_is_refused(fields, code, words):
    async with ClusterScene(topics={"t": 2}) as world:
        answer = await world.client.invoke(RecallMessage(**({"topic": "t"} | fields)))
        assert answer.code == code
        assert words in answer.remark
        assert world.store.queues.max_offset("rmq_sys_wheel_timer", 0) == 0


async def test_recalls_can_be_forbidden():
    async with ClusterScene(topics={"t": 2}, sections=[DelaySettings(recall=False)]) as world:
        handle = recall_handle("t", "broker-a", NOW + 5000, "u")
        answer = await world.client.invoke(RecallMessage(topic="t", recall_handle=handle))
        assert (answer.code, "recallMessageEnable" in answer.remark) == (16, True)


async def test_a_recall_that_does_not_reach_the_disk_is_no_success(monkeypatch):
    async with ClusterScene(topics={"t": 2}, store={"flush": "SYNC_FLUSH"}) as world:
        handle = await send(world, "one", TIMER_DELAY_SEC=60)

        def fail(file):
            raise OSError(5, "Input/output error")

        monkeypatch.setattr("mqframe.store.files.log_file.LogFile.sync", fail)
        recalled = await world.client.invoke(RecallMessage(topic="t", recall_handle=handle))
        assert (recalled.code, "not on disk in time" in recalled.remark) == (10, True)
