"""Ways around access control that are closed: what is named by its place, by a property, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from mqframe_metrics import BrokerSource, NameServerSource
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock
from scenarios.access_scenes import enforcing, keys, sending, signing, talking
from scrapes import Scrape, scrape

from mqframe import AsyncAdmin, AsyncPuller, MessageQueue
from mqframe.core.codes import ResponseCode
from mqframe.core.messages.ids import parse_offset_id
from mqframe.core.requests.admin import GetBrokerRuntimeInfo
from mqframe.core.requests.messages import EndTransaction, QueryMessage
from mqframe.core.wire import loose_json
from mqframe.core.wire.bodies import KVTable

COMMIT = 8
REFUSED = ResponseCode.NO_PERMISSION


async def shop_of_orders(cluster: AsyncCluster, *topics: str, actions: list[str]) -> None:
    """Topics, and a user `shop` who may do `actions` with the first."""
    async with AsyncAdmin(nameserver=cluster.nameserver, rpc_hooks=keys("admin")) as admin:
        for topic in topics:
            await admin.topics.create(topic, queues=1)
        await admin.users.create("shop", "secret")
        await admin.policies.set("shop", [f"Topic:{topics[0]}"], actions=actions)


@pytest.mark.parametrize("named", [None, "orders"])
async def test_nobody_ends_the_transaction_of_a_foreign_topic(tmp_path: Path, named: str | None) -> None:
    async with enforcing(tmp_path) as cluster, signing("admin") as admin, signing("shop") as shop:
        await shop_of_orders(cluster, "orders", "secrets", actions=["Pub"])
        broker = cluster.broker.address
        for topic, wanted in (("orders", 0), ("secrets", REFUSED)):
            half = await admin.invoke(broker, sending(topic, "TRAN_MSG=true;PGROUP=p;UNIQ_KEY=U1"), b"half")
            assert half.code == 0, half.remark
            log_offset = parse_offset_id(half.ext["msgId"])[1]
            end = EndTransaction("p", int(half.ext["queueOffset"]), log_offset, COMMIT, "U1", named)
            answer = await shop.invoke(broker, end)
            assert (topic, answer.code) == (topic, wanted), answer.remark
        assert "User:shop has no permission to access Topic:secrets" in answer.remark
        assert (await admin.invoke(broker, end)).code == 0
        info = loose_json.decode((await admin.invoke(broker, GetBrokerRuntimeInfo())).body, KVTable)
        assert info.table["authorizationFailures"] == "1"
        sources = {1: BrokerSource(cluster.broker), 0: NameServerSource(cluster.name_server)}
        for refused, source in sources.items():
            shown = Scrape(await scrape(source))
            assert shown.value("mqframe_counter", name="authorizationFailures") == refused
            assert shown.value("mqframe_counter", name="authenticationFailures") == 0


async def test_nobody_takes_back_the_delayed_message_of_a_foreign_topic(tmp_path: Path) -> None:
    clock = ManualClock()
    async with enforcing(tmp_path, clock=clock) as cluster:
        async with signing("admin") as admin, signing("shop") as shop:
            await shop_of_orders(cluster, "orders", "secrets", actions=["Pub"])
            broker, due = cluster.broker.address, clock.now_ms() + 10_000
            for topic in ("orders", "secrets"):
                later = sending(topic, f"TIMER_DELIVER_MS={due};UNIQ_KEY=U1")
                assert (await admin.invoke(broker, later, topic.encode())).code == 0
                recall = sending("orders", f"TIMER_DELIVER_MS={due};TIMER_DEL_UNIQKEY={topic}+U1;UNIQ_KEY=U2")
                assert (await shop.invoke(broker, recall, b"0")).code == 0
            await clock.aadvance(20)
        async with AsyncPuller(nameserver=cluster.nameserver, rpc_hooks=keys("admin")) as puller:
            came = {
                topic: [m.body for m in (await puller.pull(MessageQueue(topic, "broker-a", 0), 0)).messages]
                for topic in ("orders", "secrets")
            }
        assert came == {"orders": [], "secrets": [b"secrets"]}


async def test_the_index_gives_nothing_of_a_topic_with_the_same_hash(tmp_path: Path) -> None:
    """Java gives "Aa" and "BB" the same hash, so the keys of both lie in one chain of the index."""
    async with enforcing(tmp_path) as cluster, signing("admin") as admin, signing("shop") as shop:
        await shop_of_orders(cluster, "Aa", "BB", actions=["Get"])
        broker = cluster.broker.address
        assert (await admin.invoke(broker, sending("BB", "KEYS=k;UNIQ_KEY=U1"), b"secret")).code == 0
        for key, unique in (("k", None), ("U1", "true")):
            for topic, code in (("Aa", ResponseCode.QUERY_NOT_FOUND), ("BB", REFUSED)):
                query = QueryMessage(topic, key, 32, 0, 1 << 62, unique)
                answer = await shop.invoke(broker, query)
                assert (answer.code, bytes(answer.body)) == (code, b"")
            assert b"secret" in bytes((await admin.invoke(broker, query)).body)


async def test_what_wants_no_answer_is_not_done_either(tmp_path: Path) -> None:
    async with enforcing(tmp_path) as cluster, talking() as stranger, signing("shop") as shop:
        await shop_of_orders(cluster, "orders", "secrets", actions=["Pub"])
        broker = cluster.broker.address
        await stranger.oneway(broker, sending("orders"), b"unsigned")
        await shop.oneway(broker, sending("secrets"), b"forbidden")
        await shop.oneway(broker, sending("orders"), b"allowed")
        for client in (stranger, shop):  # answered after what came before on the same connection
            assert (await client.invoke(broker, sending("secrets"), b"")).code == REFUSED
        async with AsyncPuller(nameserver=cluster.nameserver, rpc_hooks=keys("admin")) as puller:
            for topic, bodies in (("orders", [b"allowed"]), ("secrets", [])):
                found = await puller.pull(MessageQueue(topic, "broker-a", 0), 0)
                assert [message.body for message in found.messages] == bodies
