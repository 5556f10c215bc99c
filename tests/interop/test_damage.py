"""A log in which damage was set aside, in the hands of Apache's broker."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from mqframe_testing import Cluster
from mqframe_testing.manual_clock import ManualClock
from real_time import until

from interop.apache import Apache
from mqframe import Puller
from mqframe.core.messages.addresses import encode_host
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings

FILE = 16 << 20
SIZES = {
    "commit_log_file_bytes": FILE,
    "queue_file_bytes": 600_000,
    "disk_limits": False,
}
HOST = encode_host("127.0.0.1:10911")
FORCE_CRC = "enabledAppendPropCRC=true\nforceVerifyPropCRC=true\n"
COUNT, BODY = 600, 64 << 10


def spoil(root: Path, start: int, end: int) -> None:
    """Lose the bytes [start, end) of the log of the store at `root`."""
    with (root / "commitlog" / f"{start - start % FILE:020d}").open("r+b") as file:
        file.seek(start % FILE)
        file.write(b"\xff" * (end - start))


@pytest.mark.parametrize("rebuilt", [pytest.param(False, marks=pytest.mark.long), True])
@pytest.mark.proves("store files", by="Apache 5.3.3")
def test_apaches_broker_passes_over_what_was_set_aside(
    newest_class_path: str, tmp_path: Path, rebuilt: bool
) -> None:
    with Cluster(directory=tmp_path, broker={"name": "store"}, store=SIZES) as cluster:
        cluster.create_topic("damaged", queues=1)
    settings = StoreSettings(directory=tmp_path / "store", property_crc=rebuilt, **SIZES)
    store = MessageStore.open(settings, ManualClock())
    places = [
        store.writes.put(
            Incoming("damaged", 0, b"%d|" % n + b"x" * BODY, "", 1, HOST, HOST)
        ).commit_log_offset
        for n in range(COUNT)
    ]
    store.dispatch.now()
    store.abandon()
    # Apache passes over fillers behind the first log file; within it, it would leave out all that follows.
    first_file = 0 if rebuilt else 1
    first = next(n for n, place in enumerate(places) if place >= first_file * FILE)
    rolled = next(n for n, place in enumerate(places) if place >= (first_file + 1) * FILE)
    one, three = first + 10, first + 50
    root = tmp_path / "store"
    spoil(root, places[one] + 200, places[one] + 201)
    spoil(root, places[three] - 10, places[three + 2] + 10)
    spoil(root, places[rolled - 1] + 5, (first_file + 1) * FILE)
    lost = {one, three - 1, three, three + 1, three + 2, rolled - 1}
    store = MessageStore.open(settings, ManualClock())
    found = [(report.start, report.unfinished) for report in store.recovered.set_aside]
    assert found == [(places[n], False) for n in (one, three - 1, rolled - 1)]
    store.abandon()
    if rebuilt:
        # Nothing but the log tells Apache's broker what there is.
        shutil.rmtree(root / "consumequeue")
        shutil.rmtree(root / "index")
        (root / "checkpoint").unlink()
    apache = Apache(newest_class_path, tmp_path, conf=FORCE_CRC if rebuilt else "")
    with apache, Puller(nameserver=apache.servers.nameserver) as puller:
        got: list[int] = []
        offset = 0

        def all_there() -> bool:
            nonlocal offset
            (queue,) = puller.queues("damaged")
            while True:
                result = puller.pull(queue, offset, 32)
                got.extend(int(each.body.split(b"|")[0]) for each in result.messages)
                if result.next_offset == offset:
                    break
                offset = result.next_offset
            return COUNT - 1 in got

        until(all_there)
        assert got == [n for n in range(COUNT) if n not in lost]
