"""Transactional producers of threads: whose thread does what, and what one of them is refused."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from mqframe_testing import Cluster
from mqframe_transactions.settings import TransactionSettings

from mqframe import (
    BatchTransactionProducer,
    ClosedError,
    EndStatus,
    FixError,
    HalfMessage,
    Message,
    MessageError,
    ReceivedMessage,
    SendHook,
    TransactionEnd,
    TransactionListener,
    TransactionOutcome,
    TransactionProducer,
)
from mqframe.core.messages.batch import encode_element
from mqframe.core.storage.record import decode_records

COMMIT, UNKNOWN = TransactionOutcome.COMMIT, TransactionOutcome.UNKNOWN
DONE = EndStatus.DONE


def batch(*bodies: bytes) -> bytes:
    return b"".join(encode_element(body, b"TAGS\x01a\x02", 7) for body in bodies)


class Noting(TransactionListener):
    """Notes the threads in which it does transactions."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []

    def execute_local_transaction(self, message: HalfMessage, arg: Any) -> TransactionOutcome:
        self.threads.append(threading.current_thread())
        return TransactionOutcome(arg)

    def check_local_transaction(self, message: ReceivedMessage) -> TransactionOutcome:
        raise AssertionError("the outcome is known to the producer that is asked")


class OnALoop(TransactionListener):
    async def execute_local_transaction(self, message: HalfMessage, arg: Any) -> TransactionOutcome:
        return COMMIT


def test_the_thread_that_sends_does_the_transaction() -> None:
    listener = Noting()
    with (
        Cluster() as cluster,
        TransactionProducer("shop", listener, nameserver=cluster.nameserver) as producer,
    ):
        cluster.create_topic("orders", 1)
        for outcome in (COMMIT, TransactionOutcome.ROLLBACK):
            result = producer.send_in_transaction(Message("orders", b"x"), outcome)
            assert (result.outcome, result.error) == (outcome, None)
    assert listener.threads == [threading.current_thread()] * 2


class Ends(SendHook):
    """Keeps the ends that it is shown."""

    def __init__(self) -> None:
        self.seen: list[TransactionEnd] = []

    def transaction_ended(self, end: TransactionEnd) -> None:
        self.seen.append(end)


def test_hooks_are_shown_the_ends() -> None:
    ends = Ends()
    with (
        Cluster() as cluster,
        TransactionProducer("shop", Noting(), nameserver=cluster.nameserver, send_hooks=[ends]) as producer,
    ):
        cluster.create_topic("orders", 1)
        sent = producer.send_in_transaction(Message("orders", b"1"), COMMIT)
    [end] = ends.seen
    assert (end.transaction_id, end.outcome, end.from_check) == (sent.transaction_id, COMMIT, False)


def test_a_listener_of_a_loop_is_refused() -> None:
    with pytest.raises(FixError, match=r"OnALoop\.execute_local_transaction is an async def"):
        TransactionProducer("shop", OnALoop(), nameserver="127.0.0.1:9876")


def test_without_a_listener_there_are_only_blocks() -> None:
    producer = TransactionProducer("shop", nameserver="127.0.0.1:9876")
    with pytest.raises(FixError, match="needs a listener"):
        producer.send_in_transaction(Message("orders", b"x"))
    with pytest.raises(ClosedError, match="was not started"):
        producer.transaction(Message("orders", b"x"))


def test_threads_share_a_producer_of_batches() -> None:
    outcomes = {"kept": COMMIT}
    with Cluster(sections=[TransactionSettings(timeout_ms=100, check_interval_ms=50)]) as cluster:
        cluster.create_topic("orders", 2)
        asked = threading.Event()

        def check(half: ReceivedMessage) -> TransactionOutcome:
            asked.set()
            return outcomes.get(half.properties.get("job", ""), UNKNOWN)

        producer = BatchTransactionProducer("load", nameserver=cluster.nameserver, check=check)
        with pytest.raises(ClosedError, match="was not started"):
            producer.prepare("orders", batch(b"1"), 1)
        with producer:
            assert producer.group == "load"
            assert producer.client_id
            assert len(producer.queues("orders")) == 2
            waiting = [producer.submit_prepare("orders", batch(b"%d" % n, b"x"), 2) for n in range(20)]
            halves = [half for future in waiting for half in future.result(120)]
            assert producer.end(halves, COMMIT) == [DONE] * 20
            assert producer.end(iter(halves), COMMIT) == [EndStatus.ENDED_BEFORE] * 20
            producer.prepare("orders", batch(b"kept"), 1, properties={"job": "kept"})
            assert asked.wait(120)
            with pytest.raises(MessageError):
                producer.prepare("orders", b"", 1)

            async def kept() -> bool:
                store = cluster.broker.store
                parts = [part for queue in (0, 1) for part in store.reads.get("orders", queue, 0, 100).parts]
                found = [message.body for part in parts for message in decode_records(part)]
                return sorted(found) == sorted([b"kept", *[b"%d" % n for n in range(20)], *[b"x"] * 20])

            for _ in range(60_000):
                if cluster.run(kept()):
                    break
                threading.Event().wait(0.02)
            else:
                pytest.fail("the check's answer was not heard")
        producer.stop()
        with pytest.raises(ClosedError):
            producer.end([], COMMIT)
        with pytest.raises(ClosedError, match="was stopped"):
            producer.start()
