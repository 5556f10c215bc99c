"""A broker whose process is killed while delayed messages fall due delivers every one of them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from mqframe_pull.puller.blocking_puller import Puller
from scenarios.killed_server import Server

from mqframe import Admin, Message, Producer

MESSAGES = 150
LATE_SECONDS_MAX = 120


def start(data: Path, flush: str) -> Server:
    return Server(
        data, f"store.flush={flush}", "store.queue_file_bytes=20000", "delay.timer_log_file_bytes=4096"
    )


def bodies_in(nameserver: str) -> dict[bytes, int]:
    """Body to store time (ms) of its first delivery."""
    found: dict[bytes, int] = {}
    with Puller(nameserver=nameserver) as puller:
        for queue in puller.queues("due"):
            at, end = puller.min_offset(queue), puller.max_offset(queue)
            while at < end:
                result = puller.pull(queue, at, 32)
                for message in result.messages:
                    found.setdefault(message.body, message.store_timestamp)
                at = max(at + 1, result.next_offset)
    return found


@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
def test_kills_lose_no_delayed_message(tmp_path: Path, flush: str) -> None:
    due: dict[bytes, int] = {}
    server = start(tmp_path, flush)
    try:
        with Admin(nameserver=server.nameserver) as admin:
            admin.topics.create("due", queues=2)
        for _ in range(3):
            with Producer(group="g", nameserver=server.nameserver) as producer:
                for number in range(len(due), len(due) + MESSAGES):
                    body, now = b"%d" % number, time.time_ns() // 1_000_000
                    if number % 3:
                        at = now + number % 7 * 300
                        producer.send(Message("due", body), deliver_at=at)
                        due[body] = at
                    else:
                        producer.send(Message("due", body), delay_level=1)
                        due[body] = now + 1000
            time.sleep(0.4)  # some are due, some are not
            server.kill()
            server = start(tmp_path, flush)
        end = time.monotonic() + LATE_SECONDS_MAX
        found: dict[bytes, int] = {}
        while len(found) < len(due) and time.monotonic() < end:
            time.sleep(0.2)
            found = bodies_in(server.nameserver)
        assert sorted(found) == sorted(due)
        assert [body for body, time_ms in found.items() if time_ms < due[body]] == []
    finally:
        server.stop()
