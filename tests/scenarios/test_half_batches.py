"""Batches that wait for their transaction, while brokers are killed: whole and once, or never."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

from real_time import until
from scenarios.killed_server import Server

from mqframe import (
    BatchTransactionProducer,
    ConnectError,
    EndStatus,
    MqframeError,
    PreparedHalf,
    ReceivedMessage,
    RetryError,
    StoreReader,
    TransactionOutcome,
)
from mqframe.core.messages.batch import encode_element
from mqframe.core.messages.names import CHECK_MAX_TIME_TOPIC

COMMIT, ROLLBACK, UNKNOWN = TransactionOutcome.COMMIT, TransactionOutcome.ROLLBACK, TransactionOutcome.UNKNOWN
MESSAGES = 400
BODY_BYTES = 500


class Coordinator:
    """Decides what becomes of each job, notes it before a broker hears of it, and answers those that ask."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.decided: dict[str, TransactionOutcome] = {}
        self.lost: set[str] = set()
        self.open: dict[str, tuple[PreparedHalf, ...]] = {}
        self.jobs = 0

    def check(self, half: ReceivedMessage) -> TransactionOutcome:
        job = half.properties["job"]
        if job in self.lost:
            return ROLLBACK  # nobody heard that it was prepared
        return self.decided.get(job, UNKNOWN)

    def work(self, producer: BatchTransactionProducer, stop: threading.Event) -> None:
        """Prepare and end, until something fails or `stop` is set."""
        while not stop.is_set():
            job = str(self.jobs)
            self.jobs += 1
            elements = b"".join(
                encode_element(f"{job}-{number}".encode().ljust(BODY_BYTES), b"")
                for number in range(MESSAGES)
            )
            try:
                halves = producer.prepare("orders", elements, MESSAGES, properties={"job": job})
            except MqframeError:
                self.lost.add(job)
                return
            self.decided[job] = outcome = ROLLBACK if self.random.random() < 0.2 else COMMIT
            self.open[job] = halves
            if self.random.random() < 0.1:
                continue  # its end is left to the check, or to the next broker
            try:
                assert producer.end(halves, outcome) == [EndStatus.DONE]
            except (RetryError, ConnectError):
                return
            del self.open[job]

    def finish(self, producer: BatchTransactionProducer) -> None:
        """End what an earlier broker may or may not have heard of."""
        for job, halves in list(self.open.items()):
            [status] = producer.end(halves, self.decided[job])
            assert status in (EndStatus.DONE, EndStatus.ENDED_BEFORE)
            del self.open[job]


def count(data: Path) -> int:
    reader = StoreReader(data / "store")
    return sum(reader.queue_range("orders", queue_id)[1] for queue_id in reader.queue_ids("orders"))


def jobs_in(data: Path) -> list[str]:
    """The jobs in the queues, each of whose messages has to lie beside the others, in order."""
    reader, found = StoreReader(data / "store"), []
    for queue_id in reader.queue_ids("orders"):
        bodies = [
            message.body.decode().rstrip()
            for message in reader.records("orders", queue_id, *reader.queue_range("orders", queue_id))
        ]
        for at in range(0, len(bodies), MESSAGES):
            job = bodies[at].partition("-")[0]
            assert bodies[at : at + MESSAGES] == [f"{job}-{number}" for number in range(MESSAGES)]
            found.append(job)
    return sorted(found, key=int)


def test_killed_in_the_middle_of_commits(serve: Callable[..., Server], tmp_path: Path) -> None:
    coordinator, data = Coordinator(7), tmp_path / "data"
    for life in range(4):
        server = serve(f"store.commit_log_file_bytes={32 << 20}")
        with BatchTransactionProducer(
            "load", nameserver=server.nameserver, check=coordinator.check
        ) as producer:
            if life:
                producer.queues("orders")
                if life % 2:
                    coordinator.finish(producer)
            stop = threading.Event()
            worker = threading.Thread(target=coordinator.work, args=(producer, stop))
            worker.start()
            wanted = len(coordinator.decided) + 8
            until(lambda: len(coordinator.decided) >= wanted or not worker.is_alive())  # noqa: B023
            time.sleep(coordinator.random.uniform(0.0, 0.2))
            server.kill()
            stop.set()
            worker.join()
    server = serve(f"store.commit_log_file_bytes={32 << 20}")
    with BatchTransactionProducer("load", nameserver=server.nameserver, check=coordinator.check) as producer:
        producer.queues("orders")
        coordinator.finish(producer)
        committed = [job for job, outcome in coordinator.decided.items() if outcome is COMMIT]
        assert len(committed) > 10
        until(lambda: count(data) >= len(committed) * MESSAGES)
        time.sleep(0.4)  # a few more checks, which must find nothing
        assert jobs_in(data) == sorted(committed, key=int)
    assert StoreReader(data / "store").queue_ids(CHECK_MAX_TIME_TOPIC) == []
