"""Producers and consumers that go on whatever their brokers do, and keep what they were told."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Protocol

from real_time import came

from mqframe import ClientSettings, Message, MqframeError, Producer, Puller, PushConsumer, SendStatus

TOPIC = "steady"
CLIENT = ClientSettings(route_poll_seconds=1)
"""Clients that ask for routes so often: they hear of another leader so late."""
_AFTER_FAILURE_SECONDS = 0.05


class Sender:
    """Sends one message after the other, from `start` to `stop`, each with a body of its own.

    `acknowledged`: the bodies of those that were answered SEND_OK, `times`: when, by `time.monotonic`;
    `failed`: of the others. `pause_seconds`: from an acknowledged send to the next.
    """

    def __init__(self, nameserver: str, name: str = "python", pause_seconds: float = 0.002) -> None:
        self.acknowledged: list[bytes] = []
        self.times: list[float] = []
        self.failed: list[bytes] = []
        self._nameserver = nameserver
        self._name = name
        self._pause_seconds = pause_seconds
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._send)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Begin no further send, and wait for the last one."""
        self._ends.set()
        self._thread.join()

    def _send(self) -> None:
        number = 0
        with Producer(self._name, nameserver=self._nameserver, client=CLIENT) as producer:
            while not self._ends.is_set():
                body = f"{self._name}-{number}".encode()
                number += 1
                sent = self._one(producer, body)
                self._ends.wait(self._pause_seconds if sent else _AFTER_FAILURE_SECONDS)

    def _one(self, producer: Producer, body: bytes) -> bool:
        try:
            result = producer.send(Message(TOPIC, body))
        except MqframeError:
            self.failed.append(body)
            return False
        if result.status is SendStatus.SEND_OK:
            self.acknowledged.append(body)
            self.times.append(time.monotonic())
        else:
            self.failed.append(body)
        return True

    @property
    def gaps(self) -> list[float]:
        """Seconds from each acknowledged send to the next."""
        return [after - before for before, after in pairwise(self.times)]


@contextmanager
def sending(*senders: Sender) -> Iterator[None]:
    """While they send."""
    started = []
    try:
        for sender in senders:
            sender.start()
            started.append(sender)
        yield
    finally:
        for sender in started:
            sender.stop()


@contextmanager
def consuming(nameserver: str, group: str = "python") -> Iterator[Counter[bytes]]:
    """How often each body was consumed, by a push consumer from the first message on."""
    found: Counter[bytes] = Counter()
    consumer = PushConsumer(group=group, nameserver=nameserver, consume_from="first", client=CLIENT)
    consumer.on(TOPIC)(lambda message: found.update([message.body]))
    with consumer:
        yield found


class Acknowledging(Protocol):
    """A producer of which is known what was acknowledged."""

    @property
    def acknowledged(self) -> list[bytes]:
        """The bodies."""


def rests(senders: Sequence[Acknowledging]) -> bool:
    """Whether, within a minute, nothing was acknowledged for half a second."""
    counts = [len(sender.acknowledged) for sender in senders]

    def went_on() -> bool:
        before = counts[:]
        counts[:] = [len(sender.acknowledged) for sender in senders]
        return counts != before

    return came(lambda: not came(went_on, 0.5), 60)


def stored(nameserver: str) -> Counter[bytes]:
    """How often each body is in the topic."""
    found: Counter[bytes] = Counter()
    with Puller(nameserver=nameserver) as puller:
        for queue in puller.queues(TOPIC):
            offset = 0
            while (result := puller.pull(queue, offset, wait=0.1)).messages:
                found.update(message.body for message in result.messages)
                offset = result.next_offset
    return found
