"""The stores that Apache RocketMQ 5.3.3 wrote: read exactly, and written again to the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stores import all_records, as_listed

from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.storage.found import GetStatus
from mqframe.core.storage.record import body_crc, decode_records
from mqframe.store.incoming import Incoming
from mqframe.store.reader import StoreReader


def read_all(store, topic: str, queue_id: int) -> list[ReceivedMessage]:
    messages, offset = [], store.queues.min_offset(topic, queue_id)
    while True:
        found = store.reads.get(topic, queue_id, offset, 32)
        if found.status is not GetStatus.FOUND:
            return messages
        for part in found.parts:
            messages += list(decode_records(part))
        offset = found.next_offset


def test_every_message_of_the_manifest_is_read(recorded, opened):
    root, manifest = recorded
    store = opened(root)
    for row in manifest["queues"]:
        place = row["topic"], row["queueId"]
        assert (store.queues.min_offset(*place), store.queues.max_offset(*place)) == (
            row["minOffset"],
            row["maxOffset"],
        )
    seen = {}
    for topic, queue_id in store.queues:
        for message in read_all(store, topic, queue_id):
            assert body_crc(message.stored_body) == message.body_crc
            seen[message.commit_log_offset] = as_listed(message)
    assert len(manifest["stored"]) > 400
    for row in manifest["stored"]:
        assert seen[row["commitLogOffset"]] == row


def test_lookups_find_each_message(recorded, opened):
    root, manifest = recorded
    store = opened(root)
    for row in manifest["stored"][::7]:
        unique = row["properties"].get("UNIQ_KEY")
        if unique is None:
            continue
        at, when = row["commitLogOffset"], row["storeTimestamp"]
        keys = [unique, *row["properties"].get("KEYS", "").split()]
        for key in keys:
            found = store.search.query(row["topic"], key, 64, when, when)
            offsets = [next(iter(decode_records(record))).commit_log_offset for record in found.records]
            assert at in offsets, (row["topic"], key)
            assert offsets == sorted(offsets, reverse=True)
        assert store.search.query(row["topic"], unique, 64, when + 1, when + 5, unique=True).records == [
            record
            for record in store.search.query(row["topic"], unique, 64, unique=True).records
            if when < next(iter(decode_records(record))).store_timestamp <= when + 5
        ]
        record = store.search.record_at(at)
        assert record is not None
        assert next(iter(decode_records(record))).message_id == row["msgId"]
    assert store.search.query("golden-plain", "no such key", 64).records == []


def test_offsets_by_time_agree_with_a_plain_search(recorded, opened):
    root, _ = recorded
    store = opened(root)
    times = [message.store_timestamp for message in read_all(store, "golden-plain", 0)]
    for when in {*times, times[0] - 5, times[-1] + 5, *(t + 1 for t in times)}:
        lower = next((n for n, t in enumerate(times) if t >= when), len(times))
        upper = max((n for n, t in enumerate(times) if t <= when), default=0)
        assert store.queues.offset_at("golden-plain", 0, when) == lower
        assert store.queues.offset_at("golden-plain", 0, when, upper=True) == upper
    assert store.queues.store_time_at("golden-plain", 0, 3) == times[3]


def test_written_again_gives_the_same_bytes(recorded, opened, tmp_path, clock):
    root, _ = recorded
    reader = StoreReader(root)
    store = opened(tmp_path / "again")
    for old in all_records(reader):
        clock.advance((old.store_timestamp - clock.now_ms()) / 1000)
        store.writes.put(
            Incoming(
                old.topic,
                old.queue_id,
                old.stored_body,
                old.raw_properties,
                old.born_timestamp,
                encode_host(old.born_host),
                encode_host(old.store_host),
                old.flag,
                old.sys_flag,
                old.reconsume_times,
                old.prepared_transaction_offset,
            )
        )
    store.dispatch.now()
    again = tmp_path / "again"
    for old_path in sorted((root / "commitlog").iterdir()):
        new_path = again / "commitlog" / old_path.name
        if new_path.exists():
            assert new_path.read_bytes() == old_path.read_bytes(), old_path.name
        else:
            assert not any(old_path.read_bytes()), "a file made ahead is empty"
    queues = sorted(path.relative_to(root) for path in (root / "consumequeue").rglob("0*") if path.is_file())
    assert len(queues) == 18
    for path in queues:
        assert (again / path).read_bytes() == (root / path).read_bytes(), path
    (old_index,) = (root / "index").iterdir()
    (new_index,) = (again / "index").iterdir()
    assert new_index.read_bytes() == old_index.read_bytes()


def test_goes_on_where_the_other_broker_stopped(recorded, opened, message, tmp_path):
    root, manifest = recorded
    store = opened(root)
    end = {(row["topic"], row["queueId"]): row["maxOffset"] for row in manifest["queues"]}
    stored = store.writes.put(message("golden-plain", 2, b"more", KEYS="fresh"))
    store.dispatch.now()
    assert stored.queue_offset == end["golden-plain", 2]
    assert stored.commit_log_offset > max(row["commitLogOffset"] for row in manifest["stored"])
    (record,) = store.search.query("golden-plain", "fresh", 1).records
    assert next(iter(decode_records(record))).body == b"more"


def test_root_is_what_the_manifest_was_made_of(recorded: tuple[Path, dict[str, Any]]):
    root, _ = recorded
    assert (root / "abort").exists() == (root.name == "killed")
