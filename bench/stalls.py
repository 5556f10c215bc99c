#!/usr/bin/env python3
"""How long one request keeps all others waiting: the longest turn of the loop, by request.

    stalls.py [--topics 20000] [--only heartbeat,acks] [--over 50]

Starts a name server and a broker in this process, fills their tables, and sends each request with the largest
bodies that its limits let pass (and larger ones, which have to be refused as quickly). Prints for each the
longest callback of the loop in ms of processor time, so that other programs on the machine do not count, the
answer's code and the time to it. `--over`: print only what is above so many ms.
"""

from __future__ import annotations

import argparse
import asyncio
import asyncio.events
import base64
import json
import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from mqframe.core.codes import FLAG_RESPONSE
from mqframe.core.wire.frame import Frame, FrameDecoder, encode_frame
from mqframe.log import show
from mqframe.testing.cluster import Cluster

ANSWER_SECONDS: Final = 30.0
MIB: Final = 1 << 20


class Case(NamedTuple):
    """One request. `to_name_server`: who gets it."""

    name: str
    code: int
    ext: dict[str, str]
    body: bytes = b""
    to_name_server: bool = False
    version: int = 479


class Longest:
    """The longest callback of the loop whose thread is `thread`, in seconds of processor time."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.thread: int | None = None
        run = asyncio.events.Handle._run

        def timed(handle: asyncio.events.Handle) -> Any:
            if threading.get_ident() != self.thread:
                return run(handle)
            began = time.thread_time()
            try:
                return run(handle)
            finally:
                self.seconds = max(self.seconds, time.thread_time() - began)

        asyncio.events.Handle._run = timed  # type: ignore[method-assign]


def ask(address: str, case: Case) -> tuple[int, str]:
    """The answer's code and the beginning of its remark; -1 where the connection ends without one."""
    host, _, port = address.rpartition(":")
    decoder = FrameDecoder(1 << 30)
    frame = encode_frame(Frame(case.code, 1, 0, None, case.ext, case.body, "JAVA", case.version))
    try:
        with socket.create_connection((host, int(port)), ANSWER_SECONDS) as connection:
            connection.sendall(frame)
            while True:
                answer = decoder.next_frame()
                if answer is not None and not answer.flag & FLAG_RESPONSE:
                    continue  # a notice
                if answer is not None:
                    return answer.code, f"{len(answer.body)} B {(answer.remark or '')[:90]}"
                data = connection.recv(1 << 18)
                if not data:
                    return -1, "closed"
                decoder.receive(data)
    except OSError as problem:
        return -1, str(problem)


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


def fill(cluster: Cluster, topics: int) -> None:
    """Topics, groups and offsets as a large installation has them, and one topic with messages."""
    state: Any = cluster.broker.service_port

    def make() -> None:
        for number in range(topics):
            state.topics.ensure(f"t{number}", 8)
            if number % 4 == 0:
                state.groups.find_or_create(f"g{number // 4}", True)
                for queue_id in range(8):
                    state.offsets.commit(f"g{number // 4}", f"t{number}", queue_id, 1)
        for number in range(min(topics, 5_000)):
            state.offsets.commit("g0", f"t{number}", 0, 1)
        state.topics.ensure("many", 16)
        state.topics.ensure("filled", 1)

    async def run() -> None:
        make()

    cluster.run(run())
    wide = {
        "topic": "wide",
        "perm": "6",
        "defaultTopic": "TBW102",
        "topicFilterType": "SINGLE_TAG",
        "order": "false",
    }
    for queues in (65_535, 1_024):
        code, _ = ask(
            cluster.broker.address,
            Case("", 17, {**wide, "readQueueNums": str(queues), "writeQueueNums": str(queues)}),
        )
        if code == 0:
            break
    ext = {
        "a": "producers", "b": "filled", "c": "TBW102", "d": "8", "e": "0", "f": "0", "g": "1700000000000",
        "h": "0", "i": "", "j": "0", "k": "false", "m": "true",
    }  # fmt: skip
    properties = b"KEYS\x01same\x02a1\x015"
    one = struct.pack(">iiiii", 22 + 10 + len(properties), 0, 0, 0, 10) + b"x" * 10
    one += struct.pack(">h", len(properties)) + properties
    for _ in range(20):
        ask(cluster.broker.address, Case("", 320, ext, one * 1_000))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--topics", type=int, default=20_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--over", type=float, default=0.0)
    options = parser.parse_args()
    show(level="CRITICAL")
    parts: dict[str, Callable[[], Iterator[Case]]] = {
        "heartbeats": heartbeats, "acks": acks, "locks": locks, "sends": sends, "reads": reads,
        "operators": operators, "registrations": lambda: registrations(options.topics),
    }  # fmt: skip
    longest = Longest()
    with Cluster() as cluster:
        longest.thread = cluster._thread.ident
        fill(cluster, options.topics)
        time.sleep(1)
        for name in options.only.split(",") if options.only else parts:
            for case in parts[name]():
                longest.seconds = 0.0
                began = time.perf_counter()
                address = cluster.nameserver if case.to_name_server else cluster.broker.address
                code, what = ask(address, case)
                took = time.perf_counter() - began
                time.sleep(0.3)  # what the request leaves behind
                if longest.seconds * 1000 >= options.over:
                    print(
                        f"{case.name:45} {longest.seconds * 1000:9.1f} ms  {code:5} {took:7.2f} s  {what}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
