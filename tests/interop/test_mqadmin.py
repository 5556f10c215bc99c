"""Every command of RocketMQ's mqadmin on our servers: what it prints, and what became of the servers."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from mqframe_replication.settings import ReplicationSettings
from mqframe_testing import Cluster
from real_time import until

from interop.mqadmin import Run, pairs, refusal, rows, running
from mqframe import (
    Admin,
    ClientSettings,
    ConsumeResult,
    Message,
    MessageQueue,
    Producer,
    PushConsumer,
    SendResult,
)

pytestmark = pytest.mark.proves("operation")

TOPIC = "sights"
QUEUE = MessageQueue(TOPIC, "broker-a", 0)
GROUP = "lookers"
OTHERS = {
    # Users and permissions, in test_access.py.
    "createUser", "updateUser", "deleteUser", "getUser", "listUser", "copyUser",
    "createAcl", "updateAcl", "deleteAcl", "getAcl", "listAcl", "copyAcl",
    # They read files of RocksDB and of compaction, which mqframe does not write.
    "exportMetadataInRocksDB", "dumpCompactionLog",
    # It runs until it is ended and repeats what consumerProgress and consumerStatus ask.
    "startMonitoring",
}  # fmt: skip


class Place(NamedTuple):
    """Servers with three messages in one queue, all consumed by a member that is connected."""

    cluster: Cluster
    consumer: PushConsumer
    sent: list[SendResult]
    admin: Admin

    def sent_at(self, number: int) -> int:
        """Store time of a message, ms."""
        return self.admin.messages.by_id(self.sent[number].offset_message_id).store_timestamp

    @property
    def broker(self) -> str:
        return self.cluster.broker.address


def send_apart(producer: Producer, message: Message) -> SendResult:
    """Send so that what is sent next is stored at a later time, ms: offsets are looked up by it."""
    sent = producer.send(message, queue=QUEUE)
    stored_until = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 == stored_until:
        pass
    return sent


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    kept = {"directory": tmp_path_factory.mktemp("nameserver")}
    with (
        Cluster(broker={"trace_topic": True}, nameserver=kept, sections=[ReplicationSettings()]) as cluster,
        Admin(nameserver=cluster.nameserver) as admin,
        Producer("shop", nameserver=cluster.nameserver, send_hooks=["trace"]) as producer,
    ):
        cluster.create_topic(TOPIC, 2)
        messages = [Message(TOPIC, b"body %d" % n, "paid", [f"o-{n}"]) for n in range(3)]
        sent = [send_apart(producer, message) for message in messages]
        often = ClientSettings(persist_offsets_seconds=0.1)
        consumer = PushConsumer(GROUP, nameserver=cluster.nameserver, consume_from="first", client=often)
        consumer.subscribe(TOPIC, "*", lambda messages, context: ConsumeResult.SUCCESS)
        with consumer:
            until(lambda: admin.groups.stats(GROUP, TOPIC)[QUEUE].consumer_offset == 3)
            yield Place(cluster, consumer, sent, admin)


@pytest.fixture(scope="module")
def mqadmin(place: Place, newest_class_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Runs one command and returns the lines that it prints."""
    with running(newest_class_path, place.cluster.nameserver, tmp_path_factory.mktemp("mqadmin")) as run:
        yield run


# Cluster, topics, routes


def test_the_cluster_and_its_broker(mqadmin: Run, place: Place) -> None:
    (row,) = rows(mqadmin("clusterList"))
    assert row[:5] == ["DefaultCluster", "broker-a", "0", place.broker, "V5_3_3"]
    assert row[-1] == "true"
    (row,) = rows(mqadmin("clusterList", "-m"))
    assert row[:2] == ["DefaultCluster", "broker-a"]
    assert int(row[4]) >= 3
    table = pairs(mqadmin("brokerStatus", "-b", place.broker))
    puts, size = int(table["putMessageTimesTotal"]), int(table["putMessageSizeTotal"])
    assert puts == int(table["msgPutTotalTodayNow"]) >= 3
    assert float(table["putMessageAverageSize"]) == size / puts
    assert int(table["commitLogMaxOffset"]) >= size
    assert (table["brokerActive"], table["timerReadBehind"]) == ("true", "0")
    replicas = mqadmin("haStatus", "-b", place.broker)
    assert f"#MasterCommitLogMaxOffset {place.cluster.broker.store.log.max_offset}" in replicas
    assert "#SlaveNum 0" in replicas


def test_topics_are_made_changed_shown_and_deleted(mqadmin: Run, place: Place, tmp_path: Path) -> None:
    admin = place.admin
    made = mqadmin("updateTopic", "-c", "DefaultCluster", "-t", "made", "-r", 3, "-w", 2, "-p", 6)
    assert made[0] == f"create topic to {place.broker} success."
    config = admin.topics.config("made")["broker-a"]
    assert (config.read_queue_nums, config.write_queue_nums, config.perm) == (3, 2, 6)
    assert "from 6 to 4" in mqadmin("updateTopicPerm", "-b", place.broker, "-t", "made", "-p", 4)[0]
    assert admin.topics.config("made")["broker-a"].perm == 4
    assert "made" in mqadmin("topicList")
    assert ["DefaultCluster", TOPIC, GROUP] in rows(mqadmin("topicList", "-c"))
    assert mqadmin("topicClusterList", "-t", TOPIC) == ["DefaultCluster"]
    route = json.loads("".join(mqadmin("topicRoute", "-t", TOPIC)).replace("{0:", '{"0":'))
    assert route["queueDatas"] == [
        {"brokerName": "broker-a", "perm": 6, "readQueueNums": 2, "topicSysFlag": 0, "writeQueueNums": 2}
    ]
    assert [row[:4] for row in rows(mqadmin("topicStatus", "-t", TOPIC))[:2]] == [
        ["broker-a", "0", "0", "3"], ["broker-a", "1", "0", "0"],
    ]  # fmt: skip
    queues = json.loads(mqadmin("allocateMQ", "-t", TOPIC, "-i", "10.0.0.1,10.0.0.2")[0])["result"]
    assert [[each["queueId"] for each in queues[ip]] for ip in ("10.0.0.1", "10.0.0.2")] == [[0], [1]]
    listed = tmp_path / "topics.json"
    listed.write_text('[{"topicName":"listed","readQueueNums":5,"writeQueueNums":5,"perm":6}]')
    mqadmin("updateTopicList", "-b", place.broker, "-f", listed)
    assert admin.topics.config("listed")["broker-a"].read_queue_nums == 5
    assert "delete topic [made] from NameServer success." in mqadmin(
        "deleteTopic", "-t", "made", "-c", "DefaultCluster"
    )
    assert "made" not in admin.topics.list()


def test_the_order_and_the_permission_of_routes(mqadmin: Run, place: Place) -> None:
    mqadmin("updateOrderConf", "-t", "straight", "-m", "put", "-v", "broker-a:3")
    shown = mqadmin("updateOrderConf", "-t", "straight", "-m", "get")
    assert shown == ["get orderConf success. topic=[straight], orderConf=[broker-a:3]"]
    assert "delete orderConf success" in mqadmin("updateOrderConf", "-t", "straight", "-m", "delete")[0]
    assert "CODE: 22" in "".join(mqadmin("updateOrderConf", "-t", "straight", "-m", "get"))

    def perms() -> set[int]:
        return {each.perm for each in place.admin.topics.route(TOPIC).queue_datas}

    assert re.search(
        r"wipe write perm of broker\[broker-a\].* OK, \d+", mqadmin("wipeWritePerm", "-b", "broker-a")[0]
    )
    assert perms() == {4}
    assert re.search(
        r"add write perm of broker\[broker-a\].* OK, \d+", mqadmin("addWritePerm", "-b", "broker-a")[0]
    )
    assert perms() == {6}


def test_values_of_the_name_server(mqadmin: Run, place: Place) -> None:
    assert mqadmin("updateKvConfig", "-s", "ours", "-k", "one", "-v", "1") == [
        "create or update kv config to namespace success."
    ]
    assert place.admin.kv.list("ours") == {"one": "1"}
    gone = mqadmin("deleteKvConfig", "-s", "ours", "-k", "one")
    assert gone == ["delete kv config from namespace success."]
    assert place.admin.kv.list("ours") == {}


# Groups, members, progress


def test_groups_are_made_changed_shown_and_deleted(mqadmin: Run, place: Place, tmp_path: Path) -> None:
    configs = place.admin.groups.configs
    made = mqadmin("updateSubGroup", "-c", "DefaultCluster", "-g", "made", "-r", 5, "-q", 2)
    assert f"create subscription group to {place.broker} success." in made
    assert (configs()["made"].retry_max_times, configs()["made"].retry_queue_nums) == (5, 2)
    shown = pairs(mqadmin("getConsumerConfig", "-g", "made"))
    assert (shown["groupName"], shown["retryMaxTimes"]) == ("made", "5")
    listed = tmp_path / "groups.json"
    listed.write_text('[{"groupName":"listed","retryMaxTimes":7}]')
    mqadmin("updateSubGroupList", "-b", place.broker, "-f", listed)
    assert configs()["listed"].retry_max_times == 7
    mode = mqadmin("setConsumeMode", "-b", place.broker, "-t", TOPIC, "-g", "made", "-m", "POP", "-q", 2)
    assert mode[0] == f"set consume mode to {place.broker} success."
    (kept,) = place.admin.groups.request_modes("made")
    assert (kept.topic, kept.mode, kept.pop_share_queue_num) == (TOPIC, "POP", 2)
    gone = mqadmin("deleteSubGroup", "-b", place.broker, "-g", "made", "-r", "true")
    assert gone == [f"delete subscription group [made] from broker [{place.broker}] success."]
    assert "made" not in configs()


def test_who_is_connected(mqadmin: Run, place: Place) -> None:
    client = place.consumer.client_id
    for words in ((), ("-b", place.broker)):
        shown = mqadmin("consumerConnection", "-g", GROUP, *words)
        assert [client, "PYTHON", "V5_3_3"] in [[row[0], *row[2:]] for row in rows(shown) if len(row) == 4]
        assert [TOPIC, "*"] in rows(shown)
        assert "ConsumeFromWhere: CONSUME_FROM_FIRST_OFFSET" in shown
    nobody = refusal(mqadmin("consumerConnection", "-g", "nobody", "-b", place.broker))
    assert nobody == "206  DESC: consumer group nobody has no member here"
    (row,) = rows(mqadmin("producerConnection", "-g", "shop", "-t", TOPIC))
    assert row[3:] == ["PYTHON", "V5_3_3"]
    (producer,) = [line for line in mqadmin("producer", "-b", place.broker) if "(shop)" in line]
    assert f"clientId={row[1]}" in producer


def test_how_far_groups_are(mqadmin: Run, place: Place) -> None:
    (row,) = [row for row in rows(mqadmin("consumerProgress")) if row[0] == GROUP]
    assert row[1:5] == ["1", "V5_3_3", "PUSH", "CLUSTERING"]
    progress = mqadmin("consumerProgress", "-g", GROUP, "-s", "true")
    assert [TOPIC, "broker-a", "0", "3", "3", "127.0.0.1", "0", "0"] in [row[:8] for row in rows(progress)]
    assert "Consume Diff Total: 0" in "".join(progress)
    stats = mqadmin("brokerConsumeStats", "-b", place.broker)
    assert [TOPIC, GROUP, "broker-a", "0", "3", "3", "0"] in [row[:7] for row in rows(stats)]
    (row,) = rows(mqadmin("statsAll", "-t", TOPIC))
    assert (row[:3], row[5:]) == ([TOPIC, GROUP, "0"], ["3", "3"])
    status = mqadmin("consumerStatus", "-g", GROUP, "-i", place.consumer.client_id, "-s")
    assert [TOPIC, "broker-a", "0", "3"] in rows(status)
    assert "#Consumer jstack#" in status


def test_offsets_are_moved(mqadmin: Run, place: Place) -> None:
    def stored(group: str) -> int:
        return place.admin.groups.stats(group, TOPIC)[QUEUE].consumer_offset

    unknown = refusal(mqadmin("resetOffsetByTime", "-g", "fresh", "-t", TOPIC, "-s", "now"))
    assert unknown == "26  DESC: consumer group fresh does not exist"
    mqadmin("updateSubGroup", "-b", place.broker, "-g", "fresh")
    done = mqadmin("cloneGroupOffset", "-s", GROUP, "-d", "fresh", "-t", TOPIC, "-o", "true")
    assert done == [f"clone group offset success. srcGroup[{GROUP}], destGroup=[fresh], topic[{TOPIC}]"]
    assert stored("fresh") == 3
    one = ("-b", place.broker, "-q", 0, "-o", 1)
    assert "reset consumer offset to 1" in mqadmin(
        "resetOffsetByTime", "-g", "fresh", "-t", TOPIC, "-s", 0, *one
    )
    assert stored("fresh") == 1
    moved = mqadmin("resetOffsetByTime", "-g", "fresh", "-t", TOPIC, "-s", place.sent_at(2))
    assert ["broker-a", "0", "2"] in rows(moved)
    assert ["broker-a", "0", "3"] in rows(mqadmin("skipAccumulatedMessage", "-g", "fresh", "-t", TOPIC))
    assert stored("fresh") == 3
    mqadmin("deleteSubGroup", "-c", "DefaultCluster", "-g", "fresh", "-r", "true")


# Messages


def test_messages_are_found(mqadmin: Run, place: Place) -> None:
    second = place.sent[1]
    by_offset = mqadmin("queryMsgByOffset", "-t", TOPIC, "-b", "broker-a", "-i", 0, "-o", 1)
    by_id = mqadmin("queryMsgById", "-i", second.offset_message_id, "-t", TOPIC)
    by_key = mqadmin("queryMsgByUniqueKey", "-i", second.message_id, "-t", TOPIC)
    for found in map(pairs, (by_offset, by_id, by_key)):
        assert [found[key] for key in ("Topic", "Tags", "Keys", "Queue ID", "Queue Offset")] == [
            TOPIC, "[paid]", "[o-1]", "0", "1",
        ]  # fmt: skip
        assert Path(found["Message Body Path"]).read_bytes() == b"body 1"
    track = f"MessageTrack [consumerGroup={GROUP}, trackType=CONSUMED, exceptionDesc=null]"
    assert track in by_id
    assert rows(mqadmin("queryMsgByKey", "-t", TOPIC, "-k", "o-1")) == [[second.message_id, "0", "1"]]
    who = ("-g", GROUP, "-d", place.consumer.client_id)
    direct = mqadmin("queryMsgByUniqueKey", "-i", second.message_id, "-t", TOPIC, *who)
    assert "consumeResult=CR_SUCCESS" in direct[0]
    until(lambda: place.admin.messages.trace(second.message_id))
    traced = mqadmin("queryMsgTraceById", "-i", second.message_id, "-t", "RMQ_SYS_TRACE_TOPIC")
    first, *_ = rows(traced)
    assert (first[:2], first[-1]) == (["Pub", "shop"], "success")


def test_messages_are_printed(mqadmin: Run, place: Place) -> None:
    printed = mqadmin("printMsg", "-t", TOPIC)
    assert [line.rpartition("BODY: ")[2] for line in printed if "BODY" in line] == [
        "body 0",
        "body 1",
        "body 2",
    ]
    words = ("-t", TOPIC, "-a", "broker-a", "-i", 0, "-p", "true", "-d", "true", "-f", "true")
    printed = mqadmin("printMsgByQueue", *words)
    assert any("Tag: paid" in line and "3" in line for line in printed), printed
    consumed = mqadmin("consumeMessage", "-t", TOPIC, "-b", "broker-a", "-i", 0, "-o", 1, "-c", 1)
    assert [place.sent[1].message_id in line for line in consumed if "MSGID" in line] == [True]
    entries = mqadmin("queryCq", "-t", TOPIC, "-q", 0, "-i", 0, "-c", 2, "-b", place.broker, "-g", GROUP)
    assert "max: 3, min: 0" in entries
    assert "Subscription data:" in entries
    offsets = re.findall(r"physicOffset=(\d+)", "".join(entries))
    ids = [each.offset_message_id for each in place.sent[:2]]
    assert offsets == [str(int(each[-16:], 16)) for each in ids]


def test_messages_are_sent(mqadmin: Run, place: Place) -> None:
    place.cluster.create_topic("letters", 1)
    (row,) = rows(mqadmin("sendMessage", "-t", "letters", "-p", "hello", "-k", "k", "-c", "tag"))
    assert row[:3] == ["broker-a", "0", "SEND_OK"]
    found = place.admin.messages.by_unique_key("letters", row[3])
    assert found is not None
    assert found.body == b"hello"
    (row,) = rows(mqadmin("checkMsgSendRT", "-t", "letters", "-a", 1, "-s", 8))[:1]
    assert row[:3] == ["broker-a", "0", "true"]
    assert ["SEND_OK" in line for line in mqadmin("sendMsgStatus", "-b", "broker-a", "-c", 2)] == [True, True]
    assert place.admin.offsets.max(MessageQueue("letters", "broker-a", 0)) == 2
    (row,) = [row for row in rows(mqadmin("clusterRT", "-a", 2, "-s", 8)) if row[0] == "DefaultCluster"]
    assert (row[1], row[3:]) == ("broker-a", ["2", "0"])


# Settings and files


def test_settings_of_the_broker(mqadmin: Run, place: Place) -> None:
    def change(key: str, value: object) -> list[str]:
        return mqadmin("updateBrokerConfig", "-b", place.broker, "-k", key, "-v", value)

    shown = pairs(mqadmin("getBrokerConfig", "-b", place.broker))
    assert shown["listenPort"] == place.broker.rpartition(":")[2]
    assert [shown[key] for key in ("brokerId", "brokerName", "brokerRole", "fileReservedTime")] == [
        "0", "broker-a", "ASYNC_MASTER", "72",
    ]  # fmt: skip
    assert change("fileReservedTime", 24) == [f"update broker config success, {place.broker}"]
    assert place.cluster.broker.store.settings.keep_hours == 24
    assert pairs(mqadmin("getBrokerConfig", "-c", "DefaultCluster"))["fileReservedTime"] == "24"
    assert refusal(change("listenPort", 3)) == "16  DESC: listenPort can only be changed by a restart"
    assert refusal(change("nonsense", 3)) == "29  DESC: nonsense is not a setting of this broker"
    assert refusal(change("haListenPort", 3)) == "16  DESC: haListenPort can only be changed by a restart"
    unused = "commercialBaseCount"
    assert refusal(change(unused, 3)) == f"29  DESC: {unused} has no effect on a broker of mqframe"
    assert refusal(change("fileReservedTime", "soon")).startswith("29  DESC: fileReservedTime=soon: must be")
    saved = place.cluster.directory / "broker-a/config/changedSettings.json"
    assert json.loads(saved.read_text())["settings"] == {"fileReservedTime": "24"}


def test_settings_of_the_name_server(mqadmin: Run, place: Place) -> None:
    def change(key: str, value: object) -> list[str]:
        return mqadmin("updateNamesrvConfig", "-k", key, "-v", value)

    change("enableTopicList", "false")
    shown = pairs(mqadmin("getNamesrvConfig"))
    assert (shown["enableTopicList"], shown["listenPort"]) == (
        "false",
        place.cluster.nameserver.rpartition(":")[2],
    )
    assert shown["kvConfigPath"] == f"{shown['rocketmqHome']}/kvConfig.json"
    assert json.loads(Path(shown["configStorePath"]).read_text()) == {
        "settings": {"enableTopicList": "false"}
    }
    assert refusal(change("listenPort", 3)) == "16  DESC: listenPort can only be changed by a restart"
    assert refusal(change("nonsense", 3)) == "1  DESC: nonsense is not a setting of this nameserver"
    change("enableTopicList", "true")


def test_what_is_exported(mqadmin: Run, place: Place, tmp_path: Path) -> None:
    def exported(command: str, *words: object) -> dict:
        mqadmin(command, *(words or ("-c", "DefaultCluster")), "-f", tmp_path)
        return json.loads((tmp_path / f"{command.removeprefix('export').lower()}.json").read_text())

    tables = exported("exportMetadata")
    assert (TOPIC in tables["topicConfigTable"], GROUP in tables["subscriptionGroupTable"]) == (True, True)
    configs = exported("exportConfigs")
    broker = configs["brokerConfigs"]["broker-a"]
    assert (broker["brokerId"], broker["flushDiskType"]) == ("0", "ASYNC_FLUSH")
    report = exported("exportMetrics")["evaluateReport"]["broker-a"]
    assert int(report["runtimeEnv"]["cpuNum"]) >= 1
    assert int(report["runtimeEnv"]["totalMemKBytes"]) > 100_000
    assert float(report["runtimeQuota"]["messageAverageSize"]) > 0
    assert 0 < float(report["runtimeQuota"]["diskRatio"]["consumeQueueDiskRatio"]) < 1


def test_old_files_and_topics_are_cleaned(mqadmin: Run, place: Place) -> None:
    for command in ("cleanExpiredCQ", "deleteExpiredCommitLog", "cleanUnusedTopic"):
        assert mqadmin(command, "-b", place.broker) == ["success"]
        assert mqadmin(command, "-c", "DefaultCluster") == ["success"]
    assert [place.admin.offsets.min(QUEUE), place.admin.offsets.max(QUEUE)] == [0, 3]


# What has no meaning


def test_what_mqframe_has_in_its_files_already(mqadmin: Run, place: Place) -> None:
    # It reads "-d" the wrong way round: with "true" it asks the broker.
    (moved,) = mqadmin("exportPopRecord", "-b", place.broker, "-d", "true")
    assert moved == (f"Export broker records, brokerName=broker-a, brokerAddr={place.broker}, dryRun=false")
    words = ("-n", place.cluster.nameserver, "-c", "DefaultCluster", "-t", "topics")
    assert "broker export done." in mqadmin("rocksDBConfigToJson", *words)


WITHOUT_MEANING = [
    ("getControllerMetaData -a {names}", "1005", "has no controller"),
    ("getSyncStateSet -a {names} -b broker-a", "1005", "has no controller"),
    ("getControllerConfig -a {names}", "1010", "has no controller"),
    ("updateControllerConfig -a {names} -k a -v b", "1009", "has no controller"),
    ("electMaster -a {names} -b 1 -bn broker-a -c DefaultCluster", "1005", "has no controller"),
    ("cleanBrokerMetadata -a {names} -b 1 -bn broker-a -c DefaultCluster", "1005", "has no controller"),
    ("getColdDataFlowCtrInfo -b {broker}", "2003", "does not throttle reads"),
    ("updateColdDataFlowCtrGroupConfig -b {broker} -g g -v 100", "2001", "does not throttle reads"),
    ("removeColdDataFlowCtrGroupConfig -b {broker} -g g", "2002", "does not throttle reads"),
    ("setCommitLogReadAheadMode -b {broker} -m 0", "2004", "reads ahead"),
    ("addBroker -c {broker} -b /none", "902", "in a process of its own"),
    ("removeBroker -c {broker} -b DefaultCluster:broker-a:0", "903", "in a process of its own"),
    ("resetMasterFlushOffset -b {broker} -o 0", "908", "no flush offset"),
    ("checkRocksdbCqWriteProgress -n {names} -c DefaultCluster -cf 0", "354", "RocksDB"),
    ("updateStaticTopic -t static -qn 1 -c DefaultCluster", "513", "no static topics"),
]


@pytest.mark.parametrize(("command", "code", "why"), WITHOUT_MEANING, ids=lambda value: value.split()[0])
def test_what_has_no_meaning_is_refused_with_a_reason(
    mqadmin: Run, place: Place, command: str, code: str, why: str
) -> None:
    said = refusal(mqadmin(*command.format(names=place.cluster.nameserver, broker=place.broker).split()))
    assert said.startswith(f"3  DESC: request code {code} is not supported: ")
    assert why in said


def test_a_static_topic_has_nothing_to_be_moved(mqadmin: Run, place: Place) -> None:
    printed = "".join(mqadmin("remappingStaticTopic", "-t", "static", "-c", "DefaultCluster"))
    assert "No topic route to do the remapping" in printed


def test_a_broker_of_no_group_has_no_epochs_to_show(mqadmin: Run) -> None:
    """Those of a group are in test_failover.py."""
    said = refusal(mqadmin("getBrokerEpoch", "-b", "broker-a"))
    assert said.startswith("1  DESC: the log of this broker has no epochs: ")


def test_no_command_is_forgotten(mqadmin: Run) -> None:
    listed = {row[0] for row in rows(mqadmin()) if len(row) > 1 and row[0][0].islower()} - {"mqadmin"}
    assert len(listed) > 80
    here = Path(__file__).read_text()
    assert {name for name in listed - OTHERS if not re.search(rf'"{name}[" ]', here)} == set()
    assert listed >= OTHERS
