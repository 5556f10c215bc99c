"""Sends, reads and connections keep to quotas; time is moved by hand."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from mqframe_quotas.bodies import QuotaTable
from mqframe_quotas.requests import DeleteQuota, SetQuota
from mqframe_quotas.rules.limits import Quota
from mqframe_testing.protocol_client import send_request
from quota_worlds import Guest, states, world

from mqframe import AsyncProducer, AsyncPushConsumer, AsyncSimpleConsumer, Message
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.messages.batch import encode_element
from mqframe.core.requests.messages import SendBatchMessage
from mqframe.core.storage.record import decode_records
from mqframe.core.wire import loose_json

FLOODED = ("user:flood send_messages=20", "user:calm send_messages=20", "topic:* send_bytes=1000000")


def bodies(answer: Any) -> list[bytes]:
    """Of the messages in an answer."""
    return [each.body for each in decode_records(bytes(answer.body))]


async def test_a_send_over_its_quota_is_refused_and_not_stored() -> None:
    async with world("user:alice send_messages=2") as scene:
        alice, bob = Guest(scene, "alice"), Guest(scene, "bob")
        codes = [(await alice.send(body=b"a%d" % n)).code for n in range(3)]
        assert codes == [0, 0, 2]
        refused = await alice.send(body=b"a3")
        assert refused.remark == (
            "[QUOTA] user alice may send 2 messages a second at broker broker-a; send again in 500 ms"
            " (quota send_messages)"
        )
        assert (await bob.send(body=b"b0")).code == 0, "another one is not slowed"
        await scene.pass_time(0.5)
        assert (await alice.send(body=b"a4")).code == 0
        await scene.settle()
        assert scene.bodies("orders") == [b"a0", b"a1", b"b0", b"a4"]
        used, throttled, _ = (await states(scene))["user:alice"]
        assert (used["send_messages"], used["send_bytes"], throttled["send_messages"]) == (3, 6, 2)


async def test_bytes_are_limited_and_what_is_larger_than_the_burst_passes_in_the_end() -> None:
    async with world("topic:orders send_bytes=100") as scene:
        guest = Guest(scene, "")
        assert (await guest.send(body=b"x" * 60)).code == 0
        refused = await guest.send(body=b"y" * 250)
        assert (refused.code, refused.remark) == (
            2,
            "[QUOTA] topic orders may send 100 bytes a second at broker broker-a; send again in 600 ms"
            " (quota send_bytes)",
        )
        await scene.pass_time(0.6)
        assert (await guest.send(body=b"y" * 250)).code == 0
        owed = await guest.send(body=b"z")
        assert "send again in 1510 ms" in (owed.remark or "")
        assert (await guest.send("others", body=b"o")).code == 0


async def test_a_batch_pays_for_each_of_its_messages() -> None:
    async with world("group:p send_messages=10") as scene:
        fields = {**dict.fromkeys(("sys_flag", "flag", "queue_id"), 0), "batch": True}
        batch = SendBatchMessage(
            topic="orders", producer_group="p", default_topic="TBW102", default_topic_queue_nums=4,
            born_timestamp=0, properties="", **fields,
        )  # fmt: skip
        body = b"".join(encode_element(b"%d" % n, b"UNIQ_KEY\x01A%d\x02" % n) for n in range(8))
        assert (await scene.client.invoke(batch, body)).code == 0
        assert (await scene.client.invoke(batch, body)).code == 2
        assert [(await scene.client.send("orders")).code for _ in range(3)] == [0, 0, 2]
        await scene.settle()
        assert scene.bodies("orders") == [*(b"%d" % n for n in range(8)), b"body", b"body"]


async def test_what_one_way_senders_send_too_much_is_not_stored() -> None:
    async with world("group:p send_messages=1") as scene:
        for n in range(3):
            await scene.client.client.oneway(scene.client.address, send_request("orders"), b"%d" % n)
        await scene.settle()
        assert scene.bodies("orders") == [b"0"]


async def test_sends_in_flight_are_counted_until_their_answers() -> None:
    async with world("address:10.1.1.1 in_flight=2", store={"flush": "SYNC_FLUSH"}) as scene:
        guest = Guest(scene, "")
        sends = asyncio.gather(*(guest.send(body=b"%d" % n) for n in range(4)))
        answers = await scene.finish(sends)
        assert [each.code for each in answers] == [0, 0, 2, 2]
        assert answers[3].remark == (
            "[QUOTA] address 10.1.1.1 may have 2 sends in flight to broker broker-a, and has; send again in"
            " 50 ms (quota in_flight)"
        )
        assert (await states(scene))["address:10.1.1.1"][2] == {"connections": 0, "in_flight": 0}
        assert (await scene.finish(guest.send(body=b"4"))).code == 0
        gone = asyncio.ensure_future(guest.send(body=b"5"))
        await asyncio.sleep(0)
        guest.peer.close("it leaves")
        await asyncio.gather(gone, return_exceptions=True)
        await scene.settle()
        assert (await states(scene))["address:10.1.1.1"][2]["in_flight"] == 0
        assert scene.bodies("orders")[:3] == [b"0", b"1", b"4"]


async def test_a_pull_is_given_what_there_is_and_the_next_is_held_for_the_rest() -> None:
    async with world("group:g read_messages=10") as scene:
        await scene.send("orders", *(b"%d" % n for n in range(30)))
        first = await scene.client.pull("orders", 0)
        assert bodies(first) == [b"%d" % n for n in range(10)]
        second = asyncio.ensure_future(scene.client.pull("orders", 10))
        await scene.pass_time(0.09)
        assert not second.done()
        await scene.pass_time(0.02)
        assert bodies(await second) == [b"10"]
        await scene.pass_time(5.0)
        assert len(bodies(await scene.client.pull("orders", 11))) == 10
        used, throttled, _ = (await states(scene))["group:g"]
        assert (used["read_messages"], throttled["read_messages"]) == (21, 1)


async def test_a_pull_that_owes_too_much_is_told_to_ask_again_at_the_same_place() -> None:
    async with world("topic:orders read_bytes=10", hold_ms_max=1500) as scene:
        await scene.send("orders", b"x" * 500, b"next")
        assert bodies(await scene.client.pull("orders", 0)) == [b"x" * 500], "one is given always"
        held = asyncio.ensure_future(scene.client.pull("orders", 1))
        await scene.pass_time(1.4)
        assert not held.done()
        await scene.pass_time(0.2)
        answer = await held
        assert (answer.code, answer.ext["nextBeginOffset"], answer.ext["maxOffset"]) == (20, "1", "2")
        assert answer.remark.startswith(
            "[QUOTA] topic orders may be given 10 bytes a second at broker broker-a; read"
        )
        await scene.pass_time(200.0)
        assert bodies(await scene.client.pull("orders", 1)) == [b"next"]


async def test_a_pull_that_waits_for_messages_pays_when_they_come() -> None:
    async with world("group:g read_messages=1") as scene:
        waiting = asyncio.ensure_future(scene.client.pull("orders", 0, sys_flag=6))
        await scene.pass_time(3.0)
        assert not waiting.done()
        await scene.send("orders", b"0", b"1")
        await scene.settle()
        assert bodies(await waiting) == [b"0"]
        assert (await states(scene))["group:g"][0]["read_messages"] == 1
        follow = asyncio.ensure_future(scene.client.pull("orders", 1, sys_flag=6))
        await scene.settle()
        assert not follow.done()
        await scene.pass_time(1.0)
        assert bodies(await follow) == [b"1"]


async def test_held_pulls_go_with_their_connection_and_others_get_what_they_waited_for() -> None:
    async with world("group:g read_messages=1") as scene:
        await scene.send("orders", b"0", b"1")
        assert bodies(await scene.client.pull("orders", 0)) == [b"0"]
        other = scene.connect()
        gone = asyncio.ensure_future(other.pull("orders", 1))
        await scene.settle()
        await scene.disconnect(other)
        await asyncio.gather(gone, return_exceptions=True)
        await scene.settle()
        await scene.pass_time(1.0)
        assert bodies(await scene.client.pull("orders", 1)) == [b"1"]


async def test_pulls_are_answered_when_the_broker_stops() -> None:
    async with world("group:g read_messages=1") as scene:
        await scene.send("orders", b"0", b"1")
        await scene.client.pull("orders", 0)
        held = asyncio.ensure_future(scene.client.pull("orders", 1))
        await scene.settle()
        await scene.finish(scene.cluster.stop_broker())
        assert (await held).code == 20
        await scene.finish(scene.cluster.start_broker())


async def test_pops_are_held_too_and_lose_nothing() -> None:
    async with world("group:workers read_messages=5") as scene:
        await scene.send("orders", *(b"%d" % n for n in range(12)))
        consumer = await scene.open(
            AsyncSimpleConsumer(
                "workers", nameserver=scene.nameserver, clock=scene.clock, consume_from="first"
            )
        )
        consumer.subscribe("orders")
        found: list[bytes] = []
        begun = scene.clock.monotonic()
        while len(found) < 12:
            messages = await scene.finish(consumer.receive(max_messages=16))
            for message in messages:
                found.append(message.body)
                await scene.finish(consumer.ack(message))
        assert sorted(found, key=int) == [b"%d" % n for n in range(12)]
        assert scene.clock.monotonic() - begun >= 1.3


async def test_a_connection_too_many_is_refused_until_another_closes() -> None:
    async with world("address:127.0.0.1 connections=1") as scene:
        assert (await scene.client.send("orders")).code == 0
        other = scene.connect()
        refused = await other.send("orders")
        assert (refused.code, refused.remark) == (
            2,
            "[QUOTA] address 127.0.0.1 may have 1 connections to broker broker-a, and has; connect again in"
            " 1000 ms (quota connections)",
        )
        assert (await other.pull("orders")).code == 2
        with pytest.raises(AssertionError, match="quota connections"):
            await other.heartbeat("g", SubscriptionData(topic="orders"))
        await other.ok(SetQuota(), loose_json.dumps(Quota(kind="user", name="x")))
        await scene.disconnect(scene.client)
        await scene.settle()
        assert (await other.send("orders")).code == 0


async def test_quotas_are_set_and_deleted_while_they_hold() -> None:
    async with world("user:* send_messages=1") as scene:
        alice = Guest(scene, "alice")
        assert [(await alice.send()).code for _ in range(2)] == [0, 2]
        await scene.client.ok(SetQuota(), loose_json.dumps(Quota(kind="user", name="alice")))
        assert [(await alice.send()).code for _ in range(20)] == [0] * 20
        await scene.client.ok(DeleteQuota(kind="user", name="alice"))
        assert [(await alice.send()).code for _ in range(2)] == [0, 2]


async def test_a_held_pull_goes_on_when_its_quota_is_lifted() -> None:
    async with world("group:g read_messages=1") as scene:
        await scene.send("orders", b"0", b"1")
        await scene.client.pull("orders", 0)
        held = asyncio.ensure_future(scene.client.pull("orders", 1))
        await scene.settle()
        await scene.connect().ok(SetQuota(), loose_json.dumps(Quota(kind="group", name="g")))
        await scene.settle()
        assert bodies(await held) == [b"1"]


async def test_kept_quotas_outlive_a_restart() -> None:
    async with world() as scene:
        quota = Quota(kind="user", name="alice", send_messages=1)
        await scene.client.ok(SetQuota(), loose_json.dumps(quota))
        await scene.cluster.kill_broker()
        await scene.finish(scene.cluster.start_broker())
        alice = Guest(scene, "alice")
        assert [(await alice.send()).code for _ in range(2)] == [0, 2]
        saved = scene.cluster.directory / "broker-a" / "config" / "quotas.json"
        assert loose_json.decode(saved.read_bytes(), QuotaTable) == QuotaTable(quotas=[quota])


async def test_failed_messages_come_again_whatever_the_quotas() -> None:
    async with world("topic:* send_messages=1", "user:* send_messages=1", "group:* send_messages=1") as scene:
        await scene.client.heartbeat("g", SubscriptionData(topic="orders"))
        guest = Guest(scene, "alice")
        assert [(await guest.send("%RETRY%g")).code for _ in range(5)] == [0] * 5


async def test_a_flood_is_kept_to_its_quota_with_every_message_counted_and_slows_nobody_else() -> None:
    """One floods by many sends at once, one sends now and then; all that was acknowledged is there, once."""
    async with world(*FLOODED) as scene:
        flood = [Guest(scene, "flood", f"10.0.0.{n}:1") for n in range(5)]
        calm = Guest(scene, "calm", "10.0.1.1:1")
        sent: Counter[str] = Counter()
        acknowledged: list[bytes] = []

        async def send(guest: Guest, body: bytes) -> None:
            answer = await guest.send(body=body)
            sent[f"{guest.user} {answer.code}"] += 1
            if not answer.code:
                acknowledged.append(body)

        for tick in range(100):
            work = [send(flood[n % 5], b"flood %d %d" % (tick, n)) for n in range(20)]
            await asyncio.gather(*work, send(calm, b"calm %d" % tick))
            await scene.pass_time(0.1)
        assert sent["calm 0"] == 100, "not one of them is refused"
        assert sent["flood 0"] + sent["flood 2"] == 2000
        assert 20 + 20 * 9.8 <= sent["flood 0"] <= 20 + 20 * 9.9 + 1
        await scene.settle()
        assert scene.bodies("orders") == acknowledged
        found = await states(scene)
        used, throttled, in_use = found["user:flood"]
        assert (used["send_messages"], throttled["send_messages"]) == (sent["flood 0"], sent["flood 2"])
        assert used["send_bytes"] == sum(len(each) for each in acknowledged if each.startswith(b"flood"))
        assert in_use["in_flight"] == 0
        assert found["topic:*"][0]["send_messages"] == len(acknowledged)


async def test_clients_of_python_keep_to_what_they_are_told_and_lose_nothing() -> None:
    async with world("group:shop send_messages=10", "group:billing read_messages=10") as scene:
        producer = await scene.open(AsyncProducer("shop", nameserver=scene.nameserver, clock=scene.clock))
        consumer = AsyncPushConsumer(
            "billing", nameserver=scene.nameserver, clock=scene.clock, consume_from="first"
        )
        billed: list[bytes] = []

        @consumer.on("orders")
        async def bill(message: Any) -> None:
            billed.append(message.body)

        begun = scene.clock.monotonic()
        for n in range(40):
            await scene.finish(producer.send(Message("orders", b"%d" % n)), step=0.01)
        took = scene.clock.monotonic() - begun
        assert 2.9 <= took <= 4.0, "ten at once, and then ten a second"
        refused = (await states(scene))["group:shop"][1]["send_messages"]
        assert refused <= 40, "each was refused once at most: the producer came again when it was told"
        begun = scene.clock.monotonic()
        await scene.open(consumer)
        await scene.until(lambda: len(billed) >= 40)
        assert scene.clock.monotonic() - begun >= 2.9
        assert sorted(billed, key=int) == [b"%d" % n for n in range(40)]
        assert scene.bodies("orders") == [b"%d" % n for n in range(40)]


async def test_without_quotas_nothing_is_looked_at() -> None:
    async with world() as scene:
        assert [(await scene.client.send("orders")).code for _ in range(50)] == [0] * 50
        assert await states(scene) == {}
