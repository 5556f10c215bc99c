"""A door that is killed while official clients send and consume, and what these say meanwhile."""

from __future__ import annotations

import itertools
import json
import signal
from collections.abc import Mapping
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

from mqframe_testing.ports import lasting_port
from mqframe_testing.server_process import ServerProcess

from interop.grpc.clients import ClientError, Clients, Got
from interop.grpc.doors import INVISIBLE_MIN_MS, POLLING_MS, Door

SENDERS = 3
"""Of each producer, so that a kill finds sends under way."""
PAUSE_SECONDS = 0.1
"""After a send that failed: clients that cannot connect say so at once."""
REQUEST_TIMEOUT_MS = 5_000
"""A request that is lost with the server is not waited for much longer than the server takes to come back."""


class KilledDoor:
    """`mqframe server` with the service `grpc`, its files below `home`. Use it in a with block.

    `settings`: "section.key=value" each. Ports are the same after each start.
    """

    def __init__(self, home: Path, *settings: str) -> None:
        port, (low, high) = lasting_port(), POLLING_MS
        self._offsets = home / "store/config/consumerOffset.json"
        self._server = ServerProcess(
            home,
            "broker.services=grpc",
            f"plugins.grpc.port={port}",
            f"plugins.grpc.polling_min_ms={low}",
            f"plugins.grpc.polling_max_ms={high}",
            f"plugins.grpc.invisible_min_ms={INVISIBLE_MIN_MS}",
            "store.commit_log_file_bytes=16777216",
            "broker.offsets_save_interval_ms=200",
            *settings,
        )
        self.door = Door(f"127.0.0.1:{port}", self._server.nameserver)

    def __enter__(self) -> KilledDoor:
        self._server.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._server.end()

    def kill(self) -> None:
        """SIGKILL, in the middle of whatever it does; and start it again."""
        self._server.end(signal.SIGKILL)
        self._server.start()

    def saved_progress(self, topic: str, group: str) -> int:
        """From how many messages on the group would go on after a kill, as the broker's file says.

        What was given out before is done, or its check point is in the log.
        """
        table = json.loads(self._offsets.read_text())["offsetTable"] if self._offsets.exists() else {}
        return sum(table.get(f"{topic}@{group}", {}).values())


class Said(NamedTuple):
    """A message as a sender described it."""

    body: str
    tag: str
    keys: tuple[str, ...]
    properties: Mapping[str, str]


def said(name: str, number: int) -> Said:
    """What the message `number` of the sender `name` holds; sizes differ."""
    key = f"{name}-{number}"
    body = f"größer {key} {'x' * (number * 37 % 3000)}"
    return Said(body, f"tag{number % 3}", (key,), {"key": key, "text": "订单"})


class Counts(NamedTuple):
    """How many messages were acknowledged, and how many different ones came."""

    acknowledged: int
    came: int


class Flow:
    """A producer that sends without a pause and a push consumer of all that is in `topic`, of one language.

    `group`: of the consumer. `sent`: all that was tried, by its key; `acknowledged`: the ids of what the
    producer was told is there, by key; `got`: what the consumer was given; `keys`: of that.
    """

    def __init__(self, clients: Clients, topic: str, group: str) -> None:
        self.language = clients.language
        self.sent: dict[str, Said] = {}
        self.acknowledged: dict[str, str] = {}
        self.got: list[Got] = []
        self.keys: set[str] = set()
        self.group = group
        self._topic = topic
        self._producer = clients.producer(topic, request_timeout_ms=REQUEST_TIMEOUT_MS)
        self._consumer = clients.push(group, {topic: "*"}, request_timeout_ms=REQUEST_TIMEOUT_MS)
        self._stopped = Event()
        self._problems: list[BaseException] = []
        self._senders = [
            Thread(target=self._work, args=(f"{self.language}-{number}",)) for number in range(SENDERS)
        ]
        for sender in self._senders:
            sender.start()

    def counts(self) -> Counts:
        """How far it has come by now."""
        came = self._consumer.within(0)
        self.got += came
        self.keys |= {each.properties["key"] for each in came}
        return Counts(len(self.acknowledged), len(self.keys))

    def stop(self) -> None:
        """Send nothing any more; raises what a sender failed with."""
        self._stopped.set()
        for sender in self._senders:
            sender.join()
        for problem in self._problems:
            raise problem

    def has(self, keys: Mapping[str, object]) -> bool:
        """Whether the consumer was given all of these."""
        self.counts()
        return self.keys.issuperset(keys)

    def _work(self, name: str) -> None:
        try:
            for number in itertools.count():
                if self._stopped.is_set():
                    return
                self._send(said(name, number))
        except BaseException as problem:
            self._problems.append(problem)

    def _send(self, message: Said) -> None:
        [key] = message.keys
        self.sent[key] = message
        try:
            answer = self._producer.send(
                self._topic,
                message.body,
                tag=message.tag,
                keys=message.keys,
                properties=message.properties,
            )
        except ClientError:
            self._stopped.wait(PAUSE_SECONDS)
        else:
            self.acknowledged[key] = answer["id"]
