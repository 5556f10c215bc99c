"""The official Python client, driven by lines of JSON: `interop/grpc/clients.py` says which.

Its own peculiarities end here: keys are given one at a time and come back as a set, a time of delivery is in
whole seconds, and so are invisible times.
"""

from __future__ import annotations

import asyncio
import base64
import json
import math
import os
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rocketmq import (
    ClientConfiguration,
    ConsumeResult,
    Credentials,
    FilterExpression,
    Message,
    MessageListener,
    Producer,
    PushConsumer,
    SimpleConsumer,
    TransactionChecker,
    TransactionResolution,
)
from rocketmq.grpc_protocol import FilterType
from rocketmq.v5.client.connection import RpcClient

Words = dict[str, Any]
RESOLUTIONS = {
    "commit": TransactionResolution.COMMIT,
    "rollback": TransactionResolution.ROLLBACK,
    "unknown": TransactionResolution.TRANSACTION_RESOLUTION_UNSPECIFIED,
}
TYPES = {"TAG": FilterType.TAG, "SQL92": FilterType.SQL}
output = threading.Lock()


def say(words: Words) -> None:
    with output:
        sys.stdout.write(json.dumps(words) + "\n")
        sys.stdout.flush()


def described(message: Message) -> Words:
    return {
        "topic": message.topic,
        "body": base64.b64encode(message.body).decode(),
        "tag": message.tag,
        "keys": list(message.keys),
        "properties": message.properties,
        "group": message.message_group,
        "delivery_ms": message.delivery_timestamp or None,
        "born_ms": message.born_timestamp,
        "id": message.message_id,
        "attempt": message.delivery_attempt,
    }


class Listener(MessageListener):
    """Does with a message what the message's properties say."""

    def __init__(self, client: int) -> None:
        self._client = client
        self._seen: Counter[str] = Counter()
        self._both = threading.Lock()

    def consume(self, message: Message) -> ConsumeResult:
        with self._both:
            self._seen[message.message_id] += 1
            times = max(self._seen[message.message_id], message.delivery_attempt or 0)
        say({"client": self._client, "got": described(message)})
        time.sleep(int(message.properties.get("hangs_ms", "0")) / 1000)
        fails = int(message.properties.get("fails", "0"))
        return ConsumeResult.FAILURE if times <= fails else ConsumeResult.SUCCESS


class Checker(TransactionChecker):
    """Decides as the message's property says: one word for each time that it is asked, the last for ever."""

    def __init__(self, client: int) -> None:
        self._client = client
        self._asked: Counter[str] = Counter()

    def check(self, message: Message) -> Any:
        words = message.properties.get("check", "unknown").split(",")
        word = words[min(self._asked[message.message_id], len(words) - 1)]
        self._asked[message.message_id] += 1
        say({"client": self._client, "checked": described(message), "decision": word})
        return RESOLUTIONS[word]


class Clients:
    """What runs, by number."""

    def __init__(self) -> None:
        self._clients: dict[int, Any] = {}
        self._half: dict[str, Any] = {}
        self._received: dict[tuple[int, int], Message] = {}
        self._count = 0
        self._both = threading.Lock()

    def open_producer(self, words: Words) -> Words:
        checker = Checker(words["client"]) if words["checker"] else None
        producer = Producer(
            configuration(words["options"]), words["topics"], checker, tls_enable=words["options"]["tls"]
        )
        return self._start(words, producer)

    def open_push(self, words: Words) -> Words:
        consumer = PushConsumer(
            configuration(words["options"]),
            words["group"],
            Listener(words["client"]),
            filters(words),
            tls_enable=words["options"]["tls"],
        )
        return self._start(words, consumer)

    def open_simple(self, words: Words) -> Words:
        consumer = SimpleConsumer(
            configuration(words["options"]),
            words["group"],
            filters(words),
            await_duration=math.ceil(words["await_ms"] / 1000),
            tls_enable=words["options"]["tls"],
        )
        return self._start(words, consumer)

    def send(self, words: Words) -> Words:
        producer, sent = self._clients[words["client"]], words["message"]
        message = Message()
        message.topic = sent["topic"]
        message.body = base64.b64decode(sent["body"])
        if sent["tag"] is not None:
            message.tag = sent["tag"]
        for key in sent["keys"]:
            message.keys = key
        for name, value in sent["properties"].items():
            message.add_property(name, value)
        if sent["group"] is not None:
            message.message_group = sent["group"]
        if sent["delay_ms"] is not None:
            message.delivery_timestamp = math.ceil(time.time() + sent["delay_ms"] / 1000)
        if sent["transaction"]:
            transaction = producer.begin_transaction()
            receipt = producer.send(message, transaction)
            self._half[receipt.message_id] = transaction
        else:
            receipt = producer.send(message)
        return {"id": receipt.message_id, "recall_handle": receipt.recall_handle, "offset": receipt.offset}

    def end(self, words: Words) -> Words:
        transaction = self._half.pop(words["id_of_message"])
        transaction.commit() if words["decision"] == "commit" else transaction.rollback()
        return {}

    def recall(self, words: Words) -> Words:
        return {"id": self._clients[words["client"]].recall_message(words["topic"], words["handle"])}

    def receive(self, words: Words) -> Words:
        consumer = self._clients[words["client"]]
        found = []
        for message in consumer.receive(words["max"], math.ceil(words["invisible_ms"] / 1000)):
            with self._both:
                self._count += 1
                number = self._count
            self._received[words["client"], number] = message
            found.append({**described(message), "number": number})
        return {"messages": found}

    def ack(self, words: Words) -> Words:
        self._clients[words["client"]].ack(self._received[words["client"], words["number"]])
        return {}

    def change(self, words: Words) -> Words:
        message = self._received[words["client"], words["number"]]
        seconds = math.ceil(words["invisible_ms"] / 1000)
        self._clients[words["client"]].change_invisible_duration(message, seconds)
        return {}

    def close(self, words: Words) -> Words:
        self._clients.pop(words["client"]).shutdown()
        return {}

    def _start(self, words: Words, client: Any) -> Words:
        # Where its first answer comes very soon, it opens its stream in this thread, which needs a loop then.
        asyncio.set_event_loop(RpcClient.get_channel_io_loop())
        client.startup()
        self._clients[words["client"]] = client
        return {}


def configuration(options: Words) -> ClientConfiguration:
    credentials = Credentials(options["access_key"] or "", options["secret_key"] or "")
    return ClientConfiguration(
        options["endpoint"], credentials, request_timeout=math.ceil(options["request_timeout_ms"] / 1000)
    )


def filters(words: Words) -> dict[str, FilterExpression]:
    subscriptions = words["subscriptions"].items()
    return {topic: FilterExpression(text, TYPES[kind]) for topic, (kind, text) in subscriptions}


def answer(clients: Clients, words: Words) -> None:
    try:
        say({"id": words["id"], "ok": getattr(clients, words["do"])(words)})
    except Exception as problem:
        code = getattr(problem, "code", None)
        error = {
            "kind": type(problem).__name__,
            "text": str(problem),
            "code": int(code) if isinstance(code, int) else None,
        }
        say({"id": words["id"], "error": error})


def main() -> None:
    clients, workers = Clients(), ThreadPoolExecutor(64)
    for line in sys.stdin:
        words = json.loads(line)
        if words["do"] == "quit":
            break
        workers.submit(answer, clients, words)
    # Threads of clients that nobody closed are not waited for.
    os._exit(0)


if __name__ == "__main__":
    main()
