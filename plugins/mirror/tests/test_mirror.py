"""Mirrors between two clusters in this process: contents, order, loops, and ends at any moment."""

from __future__ import annotations

import asyncio
import random

import pytest
from mirror_scenes import BERLIN, TOKYO, MirrorScene, Mortal, marks, message
from mqframe_mirror import Mark, mark_of
from mqframe_mirror.rules.marks import PATH

from mqframe import AsyncProducer, AsyncTransactionProducer, MessageQueue
from mqframe.core.errors import FixError


async def test_copies_are_what_was_sent_and_lie_in_the_same_order() -> None:
    async with MirrorScene() as scene:
        producer = await scene.tokyo.open(
            AsyncProducer("shop", nameserver=scene.tokyo.nameserver, clock=scene.clock)
        )
        sent = message(
            b"\x00\xff" * 40_000, tag="paid", keys=["o-1", "o-2"], properties={"région": "café"}, flag=7
        )
        result = await scene.finish(producer.send(sent, queue=MessageQueue("orders", "broker-a", 1)))
        await scene.tokyo.send("orders", *[b"%d" % each for each in range(100)])
        await scene.copy_once()
        assert scene.berlin.bodies("orders", 0) == [b"%d" % each for each in range(100)]
        [copy] = scene.berlin.stored("orders", 1)
        [original] = scene.tokyo.stored("orders", 1)
        assert (copy.body, copy.tag, copy.keys, copy.flag) == (sent.body, "paid", ["o-1", "o-2"], 7)
        assert copy.properties["région"] == "café"
        assert copy.message_id == result.message_id == original.message_id
        assert mark_of(copy.properties) == Mark(TOKYO, "broker-a", 1, 0, original.born_timestamp)
        assert copy.properties[PATH] == TOKYO


async def test_what_comes_later_is_copied_while_it_runs() -> None:
    async with MirrorScene() as scene:
        mirror = await scene.begin()
        for each in (b"1", b"2", b"3"):
            await scene.tokyo.send("orders", each)
            await scene.copied(mirror)
            assert scene.berlin.bodies("orders", 0)[-1] == each


async def test_a_sharding_key_stays_in_order_and_says_itself() -> None:
    async with MirrorScene({"orders": 3}, brokers=(2, 1)) as scene:
        producer = await scene.tokyo.open(
            AsyncProducer("shop", nameserver=scene.tokyo.nameserver, clock=scene.clock)
        )
        for number in range(60):
            key = f"customer-{number % 7}"
            sent = message(f"{key}/{number}".encode(), properties={"customer": key})
            await scene.finish(producer.send(sent, sharding_key=key))
        await scene.copy_once()
        places: dict[str, set[int]] = {}
        numbers: dict[str, list[int]] = {}
        for each in scene.berlin.stored("orders"):
            key, _, number = each.body.decode().partition("/")
            places.setdefault(key, set()).add(each.queue_id)
            numbers.setdefault(key, []).append(int(number))
        assert all(len(found) == 1 for found in places.values())
        assert {key: sorted(found) for key, found in numbers.items()} == numbers
        assert sum(map(len, numbers.values())) == 60


async def test_delayed_messages_are_copied_when_they_are_due_and_come_at_once() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        producer = await scene.tokyo.open(
            AsyncProducer("shop", nameserver=scene.tokyo.nameserver, clock=scene.clock)
        )
        mirror = await scene.begin()
        await scene.finish(producer.send(message(b"level"), delay_level=2))
        await scene.finish(producer.send(message(b"timer"), delay=20.0))
        await scene.copied(mirror)
        assert scene.berlin.bodies("orders") == []
        await scene.until(lambda: scene.berlin.bodies("orders") == [b"level"])
        await scene.until(lambda: scene.berlin.bodies("orders") == [b"level", b"timer"])


async def test_transactions_are_copied_when_they_are_committed_and_never_else() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        producer = await scene.tokyo.open(
            AsyncTransactionProducer("shop", nameserver=scene.tokyo.nameserver, clock=scene.clock)
        )
        mirror = await scene.begin()

        async def half(body: bytes) -> None:
            async with producer.transaction(message(body)):
                await scene.copied(mirror)
                assert scene.berlin.bodies("orders") == []
                if body == b"rolled back":
                    raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await half(b"rolled back")
        await half(b"committed")
        await scene.until(lambda: scene.berlin.bodies("orders") == [b"committed"])


async def test_both_ways_at_once_nothing_comes_back() -> None:
    async with MirrorScene({"orders": 2}) as scene:
        there = await scene.begin()
        back = await scene.begin(back=True)
        for number in range(5):
            await scene.tokyo.send("orders", b"tokyo %d" % number)
            await scene.berlin.send("orders", b"berlin %d" % number)
            await scene.copied(there)
            await scene.copied(back)
        await scene.pass_time(30)
        for cluster in (scene.tokyo, scene.berlin):
            bodies = cluster.bodies("orders")
            for name in (b"tokyo", b"berlin"):
                assert [each for each in bodies if each.startswith(name)] == [
                    b"%s %d" % (name, number) for number in range(5)
                ]
            assert len(bodies) == 10
        assert sum(lane.tally.looped for lane in there.topics["orders"].lanes.values()) == 5


async def test_an_end_in_good_order_doubles_nothing() -> None:
    async with MirrorScene() as scene:
        for number in range(4):
            await scene.tokyo.send("orders", b"%d" % number)
            await scene.copy_once()
        assert scene.berlin.bodies("orders", 0) == [b"0", b"1", b"2", b"3"]


@pytest.mark.seeds(4, more=36)
async def test_killed_at_any_step_it_loses_and_doubles_nothing(seed: int) -> None:
    chance = random.Random(seed)
    async with MirrorScene({"orders": 2}, brokers=(2, 1)) as scene:
        for _ in range(12):
            for _ in range(chance.randrange(6)):
                queue_id, broker = chance.randrange(2), chance.choice(["broker-a", "broker-b"])
                bodies = [b"%d" % chance.randrange(1 << 30) for _ in range(chance.randrange(1, 9))]
                await scene.tokyo.send("orders", *bodies, queue_id=queue_id, broker=broker)
            mirror = await scene.begin(batch_messages=4, commit_seconds=0.5)
            mortal = Mortal(mirror, chance.randrange(1, 60), chance)
            end = asyncio.ensure_future(scene.copied(mirror))
            dead = asyncio.ensure_future(mortal.dead.wait())
            await asyncio.wait((end, dead), return_when=asyncio.FIRST_COMPLETED)
            end.cancel()
            dead.cancel()
            await asyncio.gather(end, dead, return_exceptions=True)
            await scene.kill(mirror)
        await scene.copy_once()
        check_whole(scene, brokers=2)


@pytest.mark.seeds(4, more=36)
async def test_brokers_that_are_killed_lose_and_double_nothing(seed: int) -> None:
    chance = random.Random(seed)
    async with MirrorScene({"orders": 2}) as scene:
        mirror = await scene.begin(batch_messages=4, commit_seconds=0.5)
        for _ in range(6):
            for queue_id in (0, 1):
                await scene.tokyo.send("orders", *[b"%d" % chance.randrange(1 << 30)] * 3, queue_id=queue_id)
            await scene.pass_time(chance.random())
            cluster = chance.choice([scene.tokyo, scene.berlin])
            await (cluster.cluster.kill_broker() if chance.random() < 0.5 else cluster.cluster.stop_broker())
            await scene.pass_time(chance.random() * 3)
            await cluster.cluster.start_broker()
            if chance.random() < 0.5:
                await scene.kill(mirror)
                mirror = await scene.begin(batch_messages=4, commit_seconds=0.5)
        await scene.copied(mirror)
        check_whole(scene)


def check_whole(scene: MirrorScene, brokers: int = 1) -> None:
    """Each queue of tokyo is in berlin: all of its messages, once, in order."""
    copies = scene.berlin.stored("orders")
    found = marks(copies)
    for broker in range(brokers):
        for queue_id in range(2):
            originals = scene.tokyo.stored("orders", queue_id, broker=broker)
            lane = f"broker-{'ab'[broker]}", queue_id
            there = [at for at, mark in enumerate(found) if mark.lane == lane]
            assert [found[at].offset for at in there] == list(range(len(originals)))
            assert [copies[at].body for at in there] == [each.body for each in originals]


async def test_all_progress_may_be_lost_as_copies_say_it_themselves() -> None:
    async with MirrorScene() as scene:
        await scene.tokyo.send("orders", b"1", b"2", b"3")
        await scene.copy_once()
        for cluster in (scene.tokyo, scene.berlin):
            await scene.finish(cluster_without(cluster, scene))
        await scene.tokyo.send("orders", b"4")
        await scene.copy_once()
        assert scene.berlin.bodies("orders", 0) == [b"1", b"2", b"3", b"4"]


async def cluster_without(cluster, scene: MirrorScene) -> None:
    """Have `cluster` forget the group of the mirror, with its offsets."""
    from mqframe import AsyncAdmin

    async with AsyncAdmin(nameserver=cluster.nameserver, clock=scene.clock) as admin:
        await admin.groups.delete(f"mirror-{TOKYO}-{BERLIN}", clean_offsets=True)


async def test_a_topic_made_anew_is_copied_from_its_beginning() -> None:
    from mqframe import AsyncAdmin

    async with MirrorScene({"orders": 1}) as scene:
        await scene.tokyo.send("orders", b"1", b"2", b"3")
        await scene.copy_once()
        admin = await scene.tokyo.open(AsyncAdmin(nameserver=scene.tokyo.nameserver, clock=scene.clock))
        await scene.finish(admin.topics.delete("orders"))
        await scene.tokyo.cluster.create_topic("orders", 1)
        await scene.tokyo.send("orders", b"4", b"5", b"6", b"7")
        await scene.copy_once()
        assert scene.berlin.bodies("orders") == [b"1", b"2", b"3", b"4", b"5", b"6", b"7"]


async def test_topics_that_come_later_are_copied_from_their_beginning() -> None:
    async with MirrorScene({"orders-eu": 1, "others": 1}) as scene:
        await scene.tokyo.send("orders-eu", b"before")
        await scene.pass_time(1)
        mirror = await scene.begin(topics=["orders-*"], start="last")
        await scene.tokyo.send("orders-eu", b"after")
        await scene.tokyo.cluster.create_topic("orders-us", 3)
        await scene.tokyo.send("orders-us", b"new", queue_id=2)
        await scene.until(lambda: "orders-us" in mirror.topics)
        await scene.copied(mirror)
        assert scene.berlin.bodies("orders-eu") == [b"after"]
        assert scene.berlin.bodies("orders-us", 2) == [b"new"]
        await scene.stop(mirror)
        await scene.tokyo.cluster.create_topic("orders-asia", 1)
        await scene.tokyo.send("orders-asia", b"while it was away")
        await scene.pass_time(5)
        await scene.copy_once(topics=["orders-*"], start="last")
        assert scene.berlin.bodies("orders-asia") == [b"while it was away"]
        assert scene.berlin.cluster.broker.service_port.topics.find("others") is None


async def test_topics_may_have_other_names() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        await scene.tokyo.send("orders", b"1")
        await scene.copy_once(rename="{cluster}_{topic}")
        assert scene.berlin.bodies("tokyo_orders") == [b"1"]
        await scene.copy_once(back=True, topics=["*"], rename="{cluster}_{topic}")
        assert scene.tokyo.cluster.broker.service_port.topics.find("berlin_tokyo_orders") is None


async def test_clusters_need_names_of_their_own() -> None:
    async with MirrorScene() as scene:
        mirror = await unnamed(scene, scene.berlin.nameserver)
        with pytest.raises(FixError, match="both clusters are called DefaultCluster"):
            await scene.finish(mirror.start())
        await scene.finish(mirror.stop())


async def test_a_cluster_is_not_copied_to_itself() -> None:
    async with MirrorScene() as scene:
        mirror = await unnamed(scene, scene.tokyo.nameserver, TOKYO, BERLIN)
        with pytest.raises(FixError, match="are one cluster"):
            await scene.finish(mirror.start())
        await scene.finish(mirror.stop())


async def unnamed(scene: MirrorScene, target: str, *names: str):
    from mqframe_mirror import ClusterSettings, Mirror, MirrorSettings

    first, second = names or ("", "")
    settings = MirrorSettings(
        source=ClusterSettings(nameserver=scene.tokyo.nameserver, name=first),
        target=ClusterSettings(nameserver=target, name=second),
        topics=["orders"],
    )
    return Mirror(settings, clock=scene.clock)
