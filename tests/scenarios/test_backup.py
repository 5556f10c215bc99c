"""A copy of a store that was taken while the broker served, started as another broker."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path

from mqframe_testing.server_process import ServerProcess
from real_time import until

from mqframe import Admin, LitePullConsumer, Message, MessageQueue, Producer, Puller, ReceivedMessage

GROUP = "readers"
DELAY_SECONDS = 6.0
SETTINGS = (
    "broker.offsets_save_interval_ms=100",
    "store.commit_log_file_bytes=1048576",  # so that there is little to copy, in more than one file
    "store.index_slots=1000",
    "store.index_entries=4000",
)


def read(nameserver: str, queue: MessageQueue, count: int) -> list[bytes]:
    """The next `count` messages for the group, committed."""
    consumer = LitePullConsumer(GROUP, nameserver=nameserver, consume_from="first", auto_commit=False)
    consumer.assign([queue])
    found: list[ReceivedMessage] = []
    with consumer:
        while len(found) < count:
            found += consumer.poll(timeout=5.0)
        consumer.seek(queue, found[count - 1].queue_offset + 1)
        consumer.commit()
    return [message.body for message in found[:count]]


def test_what_was_acknowledged_before_the_copy_began_is_in_it(tmp_path: Path) -> None:
    store, copy = tmp_path / "data/store", tmp_path / "copy/store"
    with (
        ServerProcess(tmp_path / "data", *SETTINGS) as server,
        Producer("p", nameserver=server.nameserver) as producer,
    ):
        with Admin(nameserver=server.nameserver) as admin:
            admin.topics.create("kept", queues=1)
            admin.topics.create("later", queues=1)
        queue = MessageQueue("kept", "broker-a", 0)
        for n in range(50):
            assert producer.send(Message("kept", b"%d" % n), queue=queue).queue_offset == n
        assert read(server.nameserver, queue, 20) == [b"%d" % n for n in range(20)]
        due = int((time.time() + DELAY_SECONDS) * 1000)
        producer.send(Message("later", b"by time"), deliver_at=due)
        producer.send(Message("later", b"by level"), delay_level=2)
        until(lambda: '"kept@readers":{"0":20}' in saved(store / "config/consumerOffset.json"))
        ended = threading.Event()

        def go_on() -> None:
            while not ended.is_set():
                producer.send(Message("kept", b"meanwhile"), queue=queue)

        meanwhile = threading.Thread(target=go_on)
        meanwhile.start()
        try:
            for folder in ("config", "commitlog"):  # in this order
                shutil.copytree(store / folder, copy / folder, ignore=shutil.ignore_patterns("*.tmp"))
        finally:
            ended.set()
            meanwhile.join()

    with ServerProcess(tmp_path / "copy", *SETTINGS) as restored:
        assert read(restored.nameserver, queue, 30) == [b"%d" % n for n in range(20, 50)]
        with (
            Puller(nameserver=restored.nameserver) as puller,
            Producer("p", nameserver=restored.nameserver) as producer,
            Admin(nameserver=restored.nameserver) as admin,
        ):
            end = puller.max_offset(queue)
            assert end >= 50
            assert producer.send(Message("kept", b"new"), queue=queue).queue_offset == end
            later = MessageQueue("later", "broker-a", 0)
            until(lambda: puller.max_offset(later) == 2)
            assert time.time() * 1000 >= due
            pulled = puller.pull(later, 0, wait=5.0).messages
            assert sorted(message.body for message in pulled) == [b"by level", b"by time"]
            assert admin.groups.list()


def saved(path: Path) -> str:
    """A table as it is on the disk, without blanks; nothing while it is not there."""
    return "".join(path.read_text().split()) if path.exists() else ""
