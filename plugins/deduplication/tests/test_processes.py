"""A real server that is killed while messages are sent; whoever sends, sends all again."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

from mqframe_testing.server_process import ServerProcess

from mqframe import Message, Producer, ProducerSettings, SendResult, StoreReader
from mqframe.core.errors import MqframeError, RetryError

SERVICE = "broker.services=deduplication"
MESSAGES = 400
TRIES = 10


def message(number: int) -> Message:
    return Message("orders", b"body %d" % number, properties={"IDEMPOTENCE_KEY": f"order-{number}"})


def send(producer: Producer, number: int) -> SendResult:
    """The result of a send that is tried again as long as a busy broker wants that."""
    for _ in range(TRIES):
        try:
            return producer.send(message(number))
        except RetryError as problem:
            last = problem
    raise last


def send_all(server: ServerProcess, kill_at: int | None) -> Iterator[tuple[int, tuple[int, int]]]:
    """Send all messages, each second one by `submit`; number, queue and offset of what was answered."""
    settings = ProducerSettings(retries_sync=0, retries_async=0)
    with Producer("shop", nameserver=server.nameserver, settings=settings) as producer:
        futures = []
        for number in range(MESSAGES):
            if number % 2:
                futures.append((number, producer.submit(message(number))))
            else:
                result = send(producer, number)
                yield number, (result.queue.queue_id, result.queue_offset)
            if number == kill_at:
                server.end(signal.SIGKILL)
                break
        for number, future in futures:
            try:
                result = future.result(120)
            except MqframeError:  # it may or may not have been stored
                if kill_at is not None:
                    continue
                result = send(producer, number)
            yield number, (result.queue.queue_id, result.queue_offset)


def test_whatever_is_sent_again_after_a_kill_is_stored_once(tmp_path: Path) -> None:
    told: dict[int, tuple[int, int]] = {}
    for kill_at in (MESSAGES // 2, MESSAGES - 1, None):
        with ServerProcess(tmp_path, SERVICE) as server:
            for number, place in send_all(server, kill_at):
                assert told.setdefault(number, place) == place
    reader = StoreReader(tmp_path / "store")
    stored = {
        (queue, each.queue_offset): each
        for queue in reader.queue_ids("orders")
        for each in reader.records("orders", queue, 0, MESSAGES)
    }
    keys = [each.properties["IDEMPOTENCE_KEY"] for each in stored.values()]
    assert sorted(keys) == sorted(f"order-{number}" for number in range(MESSAGES))
    for number, place in told.items():
        assert stored[place].body == b"body %d" % number
    assert len(told) == MESSAGES
