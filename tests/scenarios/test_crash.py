"""A broker that is killed loses nothing that it acknowledged."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mqframe import Message, Producer, ProducerSettings
from mqframe.core.errors import MqframeError
from mqframe.store.reader import StoreReader

KILLS = 50
SENDERS = 3
KILL_AFTER_SENDS = 60


class Server:
    """`mqframe server` as a child process on one data directory, with small files so that they roll."""

    def __init__(self, data: Path, flush: str) -> None:
        command = [sys.executable, "-m", "mqframe", "server", "--nameserver-port", "0", "--broker-port", "0"]
        command += ["--data", str(data)]
        for pair in (
            f"store.flush={flush}",
            "store.commit_log_file_bytes=1048576",
            "store.queue_file_bytes=20000",
            "store.index_slots=1000",
            "store.index_entries=4000",
            "store.disk_limits=false",
        ):
            command += ["--set", pair]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        ready, _, _ = select.select([self.process.stdout], [], [], 60)
        line = self.process.stdout.readline() if ready else ""
        if "ready" not in line:
            self.process.kill()
            pytest.fail(f"the server did not come up: {line!r}")
        self.nameserver = next(word.split("=")[1] for word in line.split() if word.startswith("nameserver="))

    def kill(self) -> None:
        """SIGKILL, in the middle of whatever it does."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout
        self.process.stdout.close()

    def stop(self) -> None:
        """An orderly end."""
        self.process.terminate()
        assert self.process.wait(30) == 0
        assert self.process.stdout
        self.process.stdout.close()


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


@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
def test_every_acknowledged_message_survives_sigkill(tmp_path: Path, flush: str) -> None:
    data = tmp_path / "data"
    acknowledged: dict[str, tuple[int, int]] = {}
    for round_number in range(KILLS // 2):
        server = Server(data, flush)
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
                assert reached.acquire(timeout=30)
        finally:
            server.kill()
        for sender in senders:
            sender.join(60)
    Server(data, flush).stop()
    found: dict[str, tuple[int, int]] = {}
    reader = StoreReader(data / "store")
    for queue_id in reader.queue_ids("crash"):
        low, high = reader.queue_range("crash", queue_id)
        messages = list(reader.records("crash", queue_id, low, high))
        assert [message.queue_offset for message in messages] == list(range(low, high))
        found.update({message.body.decode(): (queue_id, message.queue_offset) for message in messages})
    lost = {body: place for body, place in acknowledged.items() if found.get(body) != place}
    assert not lost
    assert len(acknowledged) >= KILLS // 2 * KILL_AFTER_SENDS
