"""The requests whose turns `stalls.py` measures: the largest that limits let pass, and larger ones."""

from __future__ import annotations

import base64
import json
import random
import struct
import time
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

MIB: Final = 1 << 20


class Case(NamedTuple):
    """One request. `to_name_server`: who gets it."""

    name: str
    code: int
    ext: dict[str, str]
    body: bytes = b""
    to_name_server: bool = False
    version: int = 479


def to_json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def heartbeats() -> Iterator[Case]:
    subscription = {"topic": "many", "subString": "*", "subVersion": 1, "expressionType": "TAG"}

    def beat(groups: int, topics: int, **more: Any) -> bytes:
        data = [
            {
                "groupName": f"hg{number}",
                "subscriptionDataSet": [{**subscription, "topic": f"ht{at}", **more} for at in range(topics)],
            }
            for number in range(groups)
        ]
        return to_json({"clientID": "c", "consumerDataSet": data, "producerDataSet": []})

    yield Case("heartbeat 100 groups of 10 topics", 34, {}, beat(100, 10))
    yield Case("heartbeat of 2,000 groups", 34, {}, beat(2_000, 1))
    yield Case("heartbeat of 100,000 groups", 34, {}, beat(100_000, 0))
    yield Case("heartbeat of 1 group, 50,000 topics", 34, {}, beat(1, 50_000))
    expression = {"expressionType": "SQL92", "subString": " OR ".join(["a = 1"] * 40_000)}
    yield Case("heartbeat with SQL92 of 40,000 terms", 34, {}, beat(1, 1, **expression))
    expression = {"expressionType": "SQL92", "subString": "a IN (" + ",".join(["'x'"] * 100_000) + ")"}
    yield Case("heartbeat with SQL92 of 100,000 texts", 34, {}, beat(1, 1, **expression))
    producers = [{"groupName": f"pg{number}"} for number in range(200_000)]
    yield Case(
        "heartbeat of 200,000 producers", 34, {}, to_json({"clientID": "c", "producerDataSet": producers})
    )
    yield Case(
        "heartbeat with tags", 34, {}, beat(1, 1, subString=" || ".join(f"t{n}" for n in range(500_000)))
    )
    yield Case(
        "loose heartbeat",
        34,
        {},
        b"{'clientID':'c','consumerDataSet':[" + b"{'groupName':'x'}," * 800_000 + b"]}",
    )
    nested = b"{" * 40 + b'"a":1' + b"}:1" * 39 + b"}"
    yield Case("nested object keys", 34, {}, nested)
    yield Case("deep arrays", 34, {}, b"[" * 8_000_000)
    yield Case("escapes", 34, {}, b'{"clientID":"' + b"\\u0041" * 2_500_000 + b'"}')


def acks() -> Iterator[Case]:
    def ack(bits: bytes, count: int = 1) -> bytes:
        one = {"c": "g0", "t": "many", "so": 0, "q": 0, "rq": 0, "pt": 1, "it": 60_000, "r": "0"}
        one["b"] = base64.b64encode(bits).decode()
        return to_json({"brokerName": "broker-a", "acks": [one] * count})

    yield Case("acks: 300 KB of bits", 200151, {}, ack(b"\xff" * 225_000))
    yield Case("acks: 10 MB of bits", 200151, {}, ack(b"\xff" * 10_000_000))
    yield Case("acks: 1,000 pops", 200151, {}, ack(b"\xff\xff\xff\xff", 1_000))
    yield Case("acks: 100,000 pops", 200151, {}, ack(b"\xff\xff\xff\xff", 100_000))


def locks() -> Iterator[Case]:
    def lock(count: int) -> bytes:
        queues = [{"topic": "many", "brokerName": "broker-a", "queueId": number} for number in range(count)]
        return to_json({"clientId": "c", "consumerGroup": "g0", "mqSet": queues, "onlyThisBroker": True})

    for count in (5_000, 200_000):
        yield Case(f"lock of {count:,} queues", 41, {}, lock(count))
        yield Case(f"unlock of {count:,} queues", 42, {}, lock(count))


def sends() -> Iterator[Case]:
    ext = {
        "a": "producers", "b": "many", "c": "TBW102", "d": "8", "e": "0", "f": "0", "g": "1700000000000",
        "h": "0", "i": "", "j": "0", "k": "false",
    }  # fmt: skip
    keys = " ".join(f"{n:x}" for n in range(6_500))
    yield Case("send of 4 MiB", 310, ext, b"x" * (4 * MIB))
    yield Case("send of 16 MiB", 310, ext, b"x" * (16 * MIB - 4096))
    yield Case("send with 6,500 keys", 310, {**ext, "i": f"KEYS\x01{keys}\x02"}, b"x")

    def batch(properties: bytes, body: bytes, size: int) -> bytes:
        total = 22 + len(body) + len(properties)
        one = (
            struct.pack(">iiiii", total, 0, 0, 0, len(body))
            + body
            + struct.pack(">h", len(properties))
            + properties
        )
        return one * (size // total)

    named = {**ext, "m": "true"}
    yield Case(
        "batch of 4 MB, 100 B each", 320, named, batch(b"UNIQ_KEY\x01" + b"A" * 32, b"x" * 100, 4_190_000)
    )
    yield Case("batch of 4 MB, 1 B each", 320, named, batch(b"", b"x", 4_190_000))
    yield Case("batch with keys", 320, named, batch(f"KEYS\x01{keys}\x02".encode()[:32_000], b"x", 4_190_000))
    yield Case("send with a header of 15 MB", 310, {**ext, "i": "a\x01b\x02" * 1_500_000}, b"x")
    many = {f"k{n}": "v" for n in range(900_000)}
    yield Case("header of 900,000 fields", 310, {**ext, **many}, b"x")


def reads() -> Iterator[Case]:
    pull = {
        "consumerGroup": "g0", "topic": "many", "queueId": "0", "queueOffset": "0", "maxMsgNums": "32",
        "sysFlag": "4", "commitOffset": "0", "suspendTimeoutMillis": "0", "subVersion": "0",
    }  # fmt: skip
    yield Case(
        "pull with 1,000,000 tags",
        11,
        {**pull, "subscription": "||".join(f"{n:x}" for n in range(1_000_000))},
    )
    terms = " OR ".join(["a = 1"] * 100_000)
    yield Case(
        "pull with SQL92 of 100,000 terms", 11, {**pull, "subscription": terms, "expressionType": "SQL92"}
    )
    slow = " OR ".join(f"a{n} = {n}" for n in range(1000))
    yield Case(
        "pull of 20,000 with SQL92 of 1,000 terms",
        11,
        {**pull, "topic": "filled", "subscription": slow, "expressionType": "SQL92"},
    )
    pop = {
        "consumerGroup": "g1", "topic": "wide", "queueId": "-1", "maxMsgNums": "32", "invisibleTime": "60000",
        "pollTime": "0", "bornTime": str(int(time.time() * 1000)), "initMode": "0",
    }  # fmt: skip
    yield Case("pop of a wide topic", 200050, pop)
    yield Case("notification of a wide topic", 200054, pop)
    yield Case("peek of a wide topic", 200052, pop)
    yield Case(
        "assignment of a wide topic",
        400,
        {},
        to_json({"topic": "wide", "consumerGroup": "g1", "clientId": "c", "strategyName": "AVG"}),
    )
    query = {
        "topic": "filled",
        "key": "same",
        "maxNum": "1024",
        "beginTimestamp": "0",
        "endTimestamp": str(2**62),
    }
    yield Case("query of a common key", 12, query)
    yield Case("query of a common key not there", 12, {**query, "_UNIQUE_KEY_QUERY": "true"})


def operators() -> Iterator[Case]:
    yield Case("topic statistics of a wide topic", 202, {"topic": "wide"})
    yield Case("time spans of a wide topic", 303, {"topic": "wide", "group": "g0"})
    yield Case("progress in a wide topic", 208, {"consumerGroup": "g0", "topic": "wide"})
    yield Case(
        "progress in 20,000 topics", 208, {"consumerGroup": "g0", "topicList": ";".join(["wide"] * 20_000)}
    )
    yield Case("progress of all groups", 317, {"isOrder": "false"})
    yield Case(
        "reset of a wide topic", 222, {"topic": "wide", "group": "g0", "timestamp": "0", "isForce": "true"}
    )
    yield Case("all topics", 21, {})
    yield Case("all groups", 201, {})
    yield Case("all offsets", 43, {})
    yield Case("topics of a group", 343, {"group": "g0"})
    yield Case("groups of a topic", 300, {"topic": "t0"})
    yield Case("all producers", 328, {})
    yield Case("clone", 314, {"srcGroup": "g0", "destGroup": "g2", "offline": "true"})
    yield Case(
        "correction", 308, {"topic": "wide", "compareGroup": "g0", "filterGroups": ",".join(["x"] * 50_000)}
    )
    yield Case("clean", 316, {})
    yield Case("runtime", 28, {})
    topic = {
        "topic": "one", "readQueueNums": "8", "writeQueueNums": "8", "perm": "6", "defaultTopic": "TBW102",
        "topicFilterType": "SINGLE_TAG", "order": "false",
    }  # fmt: skip
    yield Case("new topic", 17, topic)
    yield Case(
        "topic of 65,535 queues",
        17,
        {**topic, "topic": "wider", "readQueueNums": "65535", "writeQueueNums": "65535"},
    )
    yield Case(
        "topic with 100,000 attributes",
        17,
        {**topic, "topic": "rich", "attributes": ",".join(f"+a{n}=1" for n in range(100_000))},
    )
    yield Case("new group", 200, {}, to_json({"groupName": "new"}))
    ext = {
        "a": "producers", "b": "made-by-a-send", "c": "TBW102", "d": "8", "e": "0", "f": "0",
        "g": "1700000000000", "h": "0", "i": "", "j": "0", "k": "false",
    }  # fmt: skip
    yield Case("new topic by a send", 310, ext, b"x")
    yield Case("mode of a group", 401, {}, to_json({"topic": "t0", "consumerGroup": "g0", "mode": "POP"}))
    for count in (2_000, 60_000):
        topics = [
            {"topicName": f"list{n}", "readQueueNums": 4, "writeQueueNums": 4, "perm": 6, "attributes": {}}
            for n in range(count)
        ]
        yield Case(f"{count:,} topics at once", 18, {}, to_json({"topicConfigList": topics}))
        groups = [{"groupName": f"list{n}"} for n in range(count)]
        yield Case(f"{count:,} groups at once", 225, {}, to_json({"groupConfigList": groups}))
    yield Case("topic called null", 17, {**topic, "topic": "null"})
    yield Case("all topics with null", 21, {})
    yield Case("settings of 16 MB", 25, {}, b"# nothing\n" * 1_500_000)
    yield Case("many settings", 25, {}, b"brokerPermission=6\n" * 700_000)
    yield Case("delete a topic", 215, {"topic": "t1"})
    yield Case("delete a group", 207, {"groupName": "g1", "cleanOffset": "true"})
    yield Case("unknown request", 12345, {}, b"x" * (16 * MIB - 4096))


def registrations(count: int) -> Iterator[Case]:
    def register(name: str, topics: int, **more: Any) -> tuple[dict[str, str], bytes]:
        table = {
            f"r{n}": {"topicName": f"r{n}", "readQueueNums": 4, "writeQueueNums": 4, "perm": 6, **more}
            for n in range(topics)
        }
        wrapper = {
            "topicConfigTable": table,
            "dataVersion": {"counter": random.randrange(1 << 30), "timestamp": 1},
        }
        ext = {
            "brokerName": name, "brokerAddr": f"{name}:1", "clusterName": "c", "haServerAddr": "",
            "brokerId": "0",
        }  # fmt: skip
        return ext, to_json({"topicConfigSerializeWrapper": wrapper})

    for name, more in (("plain", {}), ("fifo", {"attributes": {"message.type": "FIFO"}})):
        ext, body = register(name, count if not more else 5_000, **more)
        yield Case(f"registration {name}", 103, ext, body, True)
        yield Case(f"registration {name} again", 103, ext, body, True)
    ext, body = register("plain", 100_000)
    yield Case("registration of 100,000 topics", 103, ext, body, True)
    yield Case("all topics of the name server", 206, {}, b"", True)
    yield Case("cluster information", 106, {}, b"", True)
    yield Case("no write permission", 205, {"brokerName": "plain"}, b"", True)
    yield Case("topics of a cluster", 224, {"cluster": "c"}, b"", True)
    queues = [{"brokerName": "plain", "perm": 6, "readQueueNums": 4, "writeQueueNums": 4}] * 100_000
    yield Case(
        "topic by hand", 217, {"topic": "hand"}, to_json({"queueDatas": queues, "brokerDatas": []}), True
    )
    yield Case("unregistration", 104, ext, b"", True)
    yield Case("value of 10 MB", 100, {"namespace": "n", "key": "k", "value": "v" * 10_000_000}, b"", True)
