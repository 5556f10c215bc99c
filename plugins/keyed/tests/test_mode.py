"""The mode "keyed" as applications choose it."""

from __future__ import annotations

import threading
from collections import defaultdict

import pytest
from keyed_scenes import GROUP, LATER, OK, KeyedScene
from mqframe_admin.rules.retry_waits import listed_waits
from mqframe_keyed import KeyedOptions
from mqframe_testing.cluster import Cluster

from mqframe import AsyncAdmin, AsyncPushConsumer, Message, Producer, PushConsumer
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.errors import FixError, SettingError
from mqframe.hooks.interfaces import ConsumeContext, ConsumeHook


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"ordered": True}, FixError, "ordered makes no sense with mode"),
        ({"mode_options": {"key": "customer"}}, SettingError, "key = 'customer' of mode keyed: choose one"),
        ({"mode_options": {"keys": "tag"}}, SettingError, "there is no option keys of plugin keyed"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_starts(options, error, words: str) -> None:
    with pytest.raises(error, match=words):
        PushConsumer("g", mode="keyed", **options)


def test_options_are_a_table_or_an_object_and_may_come_from_a_configuration(tmp_path) -> None:
    assert PushConsumer("g", mode="keyed", mode_options=KeyedOptions(key="tag")).mode == "keyed"
    file = tmp_path / "mqframe.toml"
    text = '[consumer]\ngroup = "g"\nmode = "keyed"\nmode_options = {key = "tag", without_key = "together"}\n'
    file.write_text(text)
    assert AsyncPushConsumer.from_config(file).mode == "keyed"
    file.write_text(text.replace('"tag"', '"tags"'))
    with pytest.raises(SettingError, match="key = 'tags' of mode keyed"):
        PushConsumer.from_config(file)


async def test_operators_see_it_and_hooks_hear_that_there_is_an_order() -> None:
    told: list[tuple[list[bytes], bool, str]] = []

    class Watch(ConsumeHook):
        def after(self, context: ConsumeContext) -> None:
            told.append(([each.body for each in context.messages], context.ordered, context.outcome))

    async with KeyedScene() as scene:
        member = await scene.join(consume_hooks=[Watch])

        async def handle(message, context):
            return OK if message.reconsume_times else LATER

        scene.handles = handle
        await scene.put(b"a-0")
        await scene.until(lambda: len(told) == 2)
        assert told == [([b"a-0"], True, how) for how in ("failed", "success")]
        await scene.pass_time(15.0)
        async with AsyncAdmin(nameserver=scene.nameserver, clock=scene.clock) as admin:
            info = await scene.finish(admin.members.running_info(GROUP, member.consumer.client_id))
            assert info.properties["mode"] == "keyed"
            assert info.status_table["orders"].consume_failed_msgs == 1
            assert [held.locked for queue, held in info.queues.items() if queue.topic == "orders"] == [True]


async def test_a_group_says_how_long_its_keys_wait() -> None:
    async with KeyedScene() as scene:
        config = SubscriptionGroupConfig(
            GROUP, consume_message_orderly=True, group_retry_policy=listed_waits([9_000])
        )
        async with AsyncAdmin(nameserver=scene.nameserver, clock=scene.clock) as admin:
            await scene.finish(admin.groups.create(config))
        member = await scene.join()

        async def handle(message, context):
            return OK if message.reconsume_times else LATER

        scene.handles = handle
        await scene.put(b"a-0")
        await scene.until(lambda: len(member.got) == 2)
        assert member.times[1] - member.times[0] == pytest.approx(9.0, abs=0.5)


def test_a_blocking_consumer_does_the_same_in_real_time() -> None:
    seen: dict[str, list[int]] = defaultdict(list)
    done = threading.Event()
    with Cluster() as cluster:
        with Producer("shop", nameserver=cluster.nameserver, send_hooks=["sharding_key"]) as producer:
            for place in range(60):
                key = "abc"[place % 3]
                producer.send(Message("steps", f"{key}-{place}".encode()), sharding_key=key)
        consumer = PushConsumer("g", nameserver=cluster.nameserver, mode="keyed", consume_from="first")

        @consumer.on("steps")
        def handle(message) -> None:
            key, _, place = message.body.decode().partition("-")
            assert message.properties["MQFRAME_SHARDING_KEY"] == key
            seen[key].append(int(place))
            if sum(map(len, seen.values())) == 60:
                done.set()

        with consumer:
            assert done.wait(60)
    assert seen == {key: list(range(at, 60, 3)) for at, key in enumerate("abc")}
