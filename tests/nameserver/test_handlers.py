from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest
from nameserver.place import Place
from peers import Raw
from recorded import FRAMES

from mqframe.core.cluster.route_bodies import QueueData, TopicRouteData
from mqframe.core.requests import decode_fields
from mqframe.core.requests import nameserver as ns
from mqframe.core.wire import loose_json
from mqframe.core.wire.bodies import DataVersion
from mqframe.core.wire.frame import Frame

FULL = {"brokerName": "b", "brokerAddr": "a", "clusterName": "c", "haServerAddr": "h", "brokerId": "0"}


async def test_a_registered_topic_has_a_route() -> None:
    async with Place() as place:
        assert (await place.call(ns.GetRouteinfoByTopic("x"))).code == 17
        answer = await place.register("x", "y")
        assert (answer.code, answer.ext, answer.body) == (0, {}, b"")
        assert await place.json(ns.GetRouteinfoByTopic("x")) == {
            "brokerDatas": [
                {
                    "brokerAddrs": {"0": "127.0.0.1:10911"},
                    "brokerName": "broker-a",
                    "cluster": "C",
                    "enableActingMaster": False,
                }
            ],
            "filterServerTable": {},
            "queueDatas": [
                {
                    "brokerName": "broker-a",
                    "perm": 6,
                    "readQueueNums": 4,
                    "topicSysFlag": 0,
                    "writeQueueNums": 4,
                }
            ],
        }
        slave = await place.register("x", "y", broker_id=1)
        assert slave.ext == {"haServerAddr": "127.0.0.1:10912", "masterAddr": "127.0.0.1:10911"}


async def test_a_broker_whose_registration_is_ignored_is_told_who_holds_its_id() -> None:
    async with Place() as place:
        assert (await place.register("x", "y", state=2)).ext == {}
        late = await place.register("z", "w", state=1, host=7)
        assert (late.code, late.ext) == (0, {"mqframeHolder": "127.0.0.1:10911"})
        assert (await place.json(ns.GetAllTopicList()))["topicList"] == ["x", "y"]
        assert (await place.register("x", "y", state=2, host=7)).ext == {}
        route = await place.json(ns.GetRouteinfoByTopic("x"))
        assert route["brokerDatas"][0]["brokerAddrs"] == {"0": "127.0.0.8:10911"}


@pytest.mark.parametrize("compressed", [False, True])
async def test_both_forms_of_registration_with_their_checksum(compressed: bool) -> None:
    async with Place() as place:
        wrong = await place.register("x", "y", compressed=compressed, crc=12345)
        assert (wrong.code, wrong.remark) == (1, "crc32 not match")
        assert (await place.register("x", "y", compressed=compressed)).code == 0
        assert (await place.json(ns.GetAllTopicList()))["topicList"] == ["x", "y"]


async def test_a_broker_with_many_topics_registers_them_all() -> None:
    topics = [f"orders-of-a-shop-with-a-long-name-{number:06}" for number in range(20_000)]

    async with Place() as place:
        assert (await place.register(*topics, compressed=True)).code == 0
        assert (await place.json(ns.GetAllTopicList()))["topicList"] == topics
        for topic in (topics[0], topics[-1]):
            [queue] = (await place.json(ns.GetRouteinfoByTopic(topic)))["queueDatas"]
            assert (queue["brokerName"], queue["writeQueueNums"]) == ("broker-a", 4)


async def test_a_registration_that_unpacks_to_too_much_is_refused_and_others_are_served() -> None:
    bomb = zlib.compress(bytes(40 << 20), 9)

    async with Place() as place:
        raw = await Raw.open(int(place.server.address.rpartition(":")[2]))
        raw.send(Frame(103, 1, ext={**FULL, "compressed": "true"}, body=bomb))
        raw.send(Frame(106, 2))
        answers = [await raw.frame(), await raw.frame()]
        assert [answer.opaque for answer in answers] == [2, 1]
        assert answers[1].code == 1
        assert "more than 33554432 plain bytes" in (answers[1].remark or "")
        assert (await place.register("x", "y", compressed=True)).code == 0
        assert (await place.json(ns.GetAllTopicList()))["topicList"] == ["x", "y"]
        await raw.close()


@pytest.mark.parametrize("compressed", [False, True])
async def test_a_registration_of_more_topics_than_there_is_room_for_enters_nothing(compressed: bool) -> None:
    async with Place(route_entries_max=1500) as place:
        topics = [f"t{number}" for number in range(3000)]
        answer = await place.register(*topics, compressed=compressed)
        assert (answer.code, answer.remark) == (
            2,
            "registration of more than 1500 topics (nameserver.route_entries_max)",
        )
        assert (await place.json(ns.GetAllTopicList()))["topicList"] == []
        assert (await place.register("x", "y", compressed=compressed)).code == 0


async def test_a_recorded_registration_of_a_real_broker_is_taken() -> None:
    [recorded] = [f for f in FRAMES if f.request_code == 103 and f.side == "request"]

    async with Place() as place:
        raw = await Raw.open(int(place.server.address.rpartition(":")[2]))
        raw.send(recorded.raw)
        answer = await raw.frame()
        assert (answer.code, answer.ext, answer.body) == (0, {}, b"")
        topics = loose_json.loads(recorded.facts["body"]["text"])["topicConfigSerializeWrapper"][
            "topicConfigTable"
        ]
        assert sorted((await place.json(ns.GetAllTopicList()))["topicList"]) == sorted(topics)
        info = await place.json(ns.GetBrokerClusterInfo())
        assert info["brokerAddrTable"]["broker-v"]["brokerAddrs"] == {"0": "127.0.0.1:20911"}
        await raw.close()


async def test_routes_are_strict_for_new_clients_and_loose_with_both_spellings_for_old_ones() -> None:
    async with Place() as place:
        await place.register("x", "y", name="broker-ü")
        raw = await Raw.open(int(place.server.address.rpartition(":")[2]))
        raw.send(
            Frame(105, 1, ext={"topic": "x"}, version=401),
            Frame(105, 2, ext={"topic": "x"}, version=400),
            Frame(105, 3, ext={"topic": "x", "acceptStandardJsonOnly": "true"}, version=300),
        )
        strict, loose, asked = [(await raw.frame()).body for _ in range(3)]
        assert strict == asked
        assert bytes(strict).isascii()
        assert "broker-ü" in bytes(loose).decode()
        [queue] = json.loads(bytes(loose))["queueDatas"]
        assert queue["topicSysFlag"] == queue["topicSynFlag"] == 0
        assert "topicSynFlag" not in json.loads(bytes(strict))["queueDatas"][0]
        await raw.close()


async def test_unregistering_data_versions_and_members() -> None:
    async with Place() as place:
        one_topic = await place.register("x")
        assert one_topic.code == 1
        assert "one topic only" in (one_topic.remark or "")
        who = {
            "broker_name": "broker-a",
            "broker_addr": "127.0.0.1:10911",
            "cluster_name": "C",
            "broker_id": 0,
        }
        version = loose_json.dumps(DataVersion(1, 0, 7))
        unknown = await place.call(ns.QueryDataVersion(**who), version)
        assert (unknown.ext, unknown.body) == ({"changed": "true"}, b"")
        await place.register("x", "y")
        same = await place.call(ns.QueryDataVersion(**who), version)
        assert same.ext == {"changed": "false"}
        assert loose_json.decode(same.body, DataVersion) == DataVersion(1, 0, 7)
        group = await place.json(ns.GetBrokerMemberGroup("C", "broker-a"))
        assert group["brokerMemberGroup"]["brokerAddrs"] == {"0": "127.0.0.1:10911"}
        assert (await place.call(ns.UnregisterBroker(**who))).code == 0
        assert (await place.json(ns.GetAllTopicList()))["topicList"] == []


async def test_lists_permissions_and_topics_by_hand() -> None:
    async with Place() as place:
        await place.register("x", "y")
        assert (await place.json(ns.GetTopicsByCluster("C")))["topicList"] == ["x", "y"]
        assert (await place.json(ns.GetSystemTopicListFromNs()))["topicList"] == ["C", "broker-a"]
        wiped = await place.call(ns.WipeWritePermOfBroker("broker-a"))
        assert decode_fields(wiped.ext, ns.WipeAnswer).wipe_topic_count == 2
        assert (await place.json(ns.GetRouteinfoByTopic("x")))["queueDatas"][0]["perm"] == 4
        added = await place.call(ns.AddWritePermOfBroker("broker-a"))
        assert decode_fields(added.ext, ns.AddAnswer).add_topic_count == 2
        by_hand = loose_json.dumps(TopicRouteData(queue_datas=[QueueData("broker-a", 6, 1, 1)]))
        assert (await place.call(ns.RegisterTopicInNamesrv("hand"), by_hand)).code == 0
        assert (await place.json(ns.GetRouteinfoByTopic("hand")))["queueDatas"][0]["readQueueNums"] == 1
        await place.call(ns.DeleteTopicInNamesrv("x", "other"))
        await place.call(ns.DeleteTopicInNamesrv("y"))
        assert (await place.json(ns.GetAllTopicList()))["topicList"] == ["x", "hand"]


async def test_key_value_configuration_is_kept(tmp_path: Path) -> None:
    async with Place(directory=tmp_path) as place:
        missing = await place.call(ns.GetKvConfig("n", "k"))
        assert (missing.code, missing.remark) == (22, "No config item, Namespace: n Key: k")
        assert (await place.call(ns.GetKvlistByNamespace("n"))).code == 22
        await place.call(ns.PutKvConfig("n", "k", "first"))
        await place.call(ns.PutKvConfig("n", "k", "v"))
        await place.call(ns.PutKvConfig("n", "gone", "v"))
        await place.call(ns.DeleteKvConfig("n", "gone"))
        await place.call(ns.DeleteKvConfig("n", "never"))
    assert json.loads((tmp_path / "kvConfig.json").read_text()) == {"configTable": {"n": {"k": "v"}}}
    async with Place(directory=tmp_path) as place:
        assert (await place.call(ns.GetKvConfig("n", "k"))).ext == {"value": "v"}
        assert await place.json(ns.GetKvlistByNamespace("n")) == {"table": {"k": "v"}}
    (tmp_path / "kvConfig.json").write_text("{damaged")
    async with Place(directory=tmp_path) as place:
        assert (await place.call(ns.GetKvConfig("n", "k"))).ext == {"value": "v"}


async def test_the_order_of_a_topic_is_told_where_configured() -> None:
    for enabled in (True, False):
        async with Place(order_message_enable=enabled) as place:
            await place.call(ns.PutKvConfig("ORDER_TOPIC_CONFIG", "x", "broker-a:4"))
            answer = await place.register("x", "y")
            assert json.loads(bytes(answer.body)) == {"table": {"x": "broker-a:4"}}
            route = await place.json(ns.GetRouteinfoByTopic("x"))
            assert route.get("orderTopicConf") == ("broker-a:4" if enabled else None)


async def test_the_queues_of_ordered_topics_outlive_their_brokers(tmp_path: Path) -> None:
    order = ns.GetRouteinfoByTopic
    kinds = {"fifo": {"attributes": {"message.type": "FIFO"}}, "marked": {"order": True}, "plain": {}}
    async with Place(directory=tmp_path) as place:
        for number, name in enumerate(("broker-a", "broker-b")):
            await place.register("fifo", "marked", "plain", name=name, host=number, kinds=kinds)
        gone = ns.UnregisterBroker("broker-b", "127.0.0.2:10911", "C", 0)
        assert (await place.call(gone)).code == 0
    async with Place(directory=tmp_path, order_message_enable=True) as place:
        await place.register("fifo", "marked", "plain", kinds=kinds)
        found = {topic: (await place.json(order(topic))).get("orderTopicConf") for topic in kinds}
        assert found == {
            "fifo": "broker-a:4;broker-b:4",
            "marked": "broker-a:4;broker-b:4",
            "plain": None,
        }
        await place.call(ns.UpdateNamesrvConfig(), b"orderMessageEnable=false")
        found = {topic: (await place.json(order(topic))).get("orderTopicConf") for topic in kinds}
        assert found == {"fifo": "broker-a:4;broker-b:4", "marked": None, "plain": None}
        await place.register("fifo", "marked", "plain", counter=2)
        assert (await place.json(order("fifo"))).get("orderTopicConf") is None
        await place.register("fifo", "marked", "plain", counter=3, kinds=kinds)
        await place.call(ns.DeleteTopicInNamesrv("fifo"))
        await place.register("fifo", "marked", "plain", counter=4)
        assert (await place.json(order("fifo"))).get("orderTopicConf") is None


async def test_settings_are_read_and_changed_by_wire() -> None:
    async with Place() as place:
        lines = bytes((await place.call(ns.GetNamesrvConfig())).body).decode().splitlines()
        assert "orderMessageEnable=false" in lines
        assert "scanNotActiveBrokerInterval=5000" in lines
        changed = await place.call(ns.UpdateNamesrvConfig(), b"# note\nenableAllTopicList = false\n\n")
        assert changed.code == 0
        refused = await place.call(ns.GetAllTopicList())
        assert (refused.code, refused.remark) == (1, "disable")
        for text, code, remark in (
            (b"kvConfigPath=/x", 16, "kvConfigPath"),
            (b"nonsense=1", 1, "nonsense"),
            (b"enableTopicList=perhaps", 1, "enableTopicList=perhaps"),
            (b"scanNotActiveBrokerInterval=0", 1, "at least 1"),
            (b"waitSecondsForService=x", 1, "waitSecondsForService=x"),
            (b"\xff", 1, "UTF-8"),
        ):
            answer = await place.call(ns.UpdateNamesrvConfig(), text)
            assert answer.code == code
            assert remark in (answer.remark or "")


async def test_it_may_wait_for_brokers_before_it_answers() -> None:
    async with Place(need_wait_for_service=True) as place:
        await place.register("x", "y", heartbeat_timeout_millis=600_000)
        early = await place.call(ns.GetRouteinfoByTopic("x"))
        assert (early.code, early.remark) == (1, "name server not ready")
        await place.clock.aadvance(45)
        assert (await place.call(ns.GetRouteinfoByTopic("x"))).code == 0


async def test_bad_input_is_answered_with_what_is_wrong() -> None:
    async with Place() as place:
        raw = await Raw.open(int(place.server.address.rpartition(":")[2]))
        for request, remark in (
            (Frame(105, 1), "`topic`"),
            (Frame(103, 2, ext={**FULL, "brokerId": "x"}), "brokerId"),
            (Frame(103, 3, ext=FULL, body=b"{nonsense"), "JSON"),
            (Frame(103, 4, ext={**FULL, "compressed": "true"}, body=b"{}"), "zlib"),
            (Frame(322, 5, ext=FULL, body=b"[]"), "DataVersion"),
            (Frame(217, 6, ext={"topic": "t"}, body=b"{'queueDatas':[{}]}"), "brokerName"),
        ):
            raw.send(request)
            answer = await raw.frame()
            assert (answer.code, answer.opaque) == (1, request.opaque)
            assert remark in (answer.remark or "")
        raw.send(Frame(310, 9))
        assert (await raw.frame()).code == 3
        await raw.close()
