"""A broker that is killed loses nothing that it acknowledged."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from scenarios.killed_server import Server

from mqframe import Message, Producer, ProducerSettings
from mqframe.core.errors import MqframeError
from mqframe.store.reader import StoreReader

KILLS = 4
KILLS_OF_A_LONG_RUN = 25
SENDERS = 3
KILL_AFTER_SENDS = 60


def send_until_dead(
    nameserver: str, name: str, acknowledged: dict[str, tuple[int, int]], reached: threading.Semaphore
) -> None:
    once = ProducerSettings(retries_sync=0)
    with Producer(group="crash", nameserver=nameserver, settings=once) as producer:
        number = 0
        try:
            while True:
                body = f"{name}-{number}-{'x' * (number % 700)}"
                result = producer.send(Message("crash", body.encode(), keys=[f"{name}-{number}"]))
                acknowledged[body] = (result.queue.queue_id, result.queue_offset)
                number += 1
                reached.release()
        except MqframeError:
            return


@pytest.mark.parametrize("kills", [KILLS, pytest.param(KILLS_OF_A_LONG_RUN, marks=pytest.mark.long)])
@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
def test_every_acknowledged_message_survives_sigkill(tmp_path: Path, flush: str, kills: int) -> None:
    data = tmp_path / "data"
    acknowledged: dict[str, tuple[int, int]] = {}
    for round_number in range(kills):
        server = Server(data, f"store.flush={flush}", "store.queue_file_bytes=20000")
        reached = threading.Semaphore(0)
        senders = [
            threading.Thread(
                target=send_until_dead,
                args=(server.nameserver, f"{round_number}-{sender}", acknowledged, reached),
            )
            for sender in range(SENDERS)
        ]
        try:
            for sender in senders:
                sender.start()
            for _ in range(KILL_AFTER_SENDS):
                assert reached.acquire(timeout=120)
        finally:
            server.kill()
        for sender in senders:
            sender.join(120)
    Server(data, f"store.flush={flush}", "store.queue_file_bytes=20000").stop()
    found: dict[str, tuple[int, int]] = {}
    reader = StoreReader(data / "store")
    for queue_id in reader.queue_ids("crash"):
        low, high = reader.queue_range("crash", queue_id)
        messages = list(reader.records("crash", queue_id, low, high))
        assert [message.queue_offset for message in messages] == list(range(low, high))
        found.update({message.body.decode(): (queue_id, message.queue_offset) for message in messages})
    lost = {body: place for body, place in acknowledged.items() if found.get(body) != place}
    assert not lost
    assert len(acknowledged) >= kills * KILL_AFTER_SENDS
