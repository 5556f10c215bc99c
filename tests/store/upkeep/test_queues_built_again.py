"""Queues that are built again from a log whose oldest files are gone."""

from __future__ import annotations

import os
import shutil

import pytest
from stores import bodies, put

FILE = 200
"""Bytes of a queue file: 10 entries."""


@pytest.mark.parametrize("lost", ["zeros", "gone"])
@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("killed", [False, True])
async def test_offsets_before_the_first_record_of_the_log_hide_none_of_those_behind(
    opened, message, tmp_path, lost, killed, asked
):
    settings = {
        "queue_file_bytes": FILE,
        "commit_log_file_bytes": 4096,
        "delete_when": ";".join(map(str, range(24))),
    }
    store = opened(tmp_path, **settings)
    put(store, *(message(body=b"%03d" % number * 250) for number in range(30)))
    for path in sorted((tmp_path / "commitlog").iterdir())[:2]:
        os.utime(path, (0, 0))
    assert len(store.clean()) == 2
    first = 8
    if asked:  # what a stop notes of the queue is right then
        assert store.queues.min_offset("t", 0) == first
    expected = [b"%03d" % number * 250 for number in range(first, 30)]
    if killed:
        store.abandon()
    else:
        await store.stop()
    damaged = min((tmp_path / "consumequeue/t/0").iterdir())
    if lost == "gone":
        damaged.unlink()
    else:
        damaged.write_bytes(bytes(FILE))
    store = opened(tmp_path, **settings)
    assert (store.queues.min_offset("t", 0), store.queues.max_offset("t", 0)) == (first, 30)
    read = [
        body for at in (first, 10, 20) for body in bodies(store.reads.get("t", 0, at, 32, bytes_max=1 << 20))
    ]
    assert read == expected
    store.abandon()


def test_a_sound_record_alone_between_damaged_ones_keeps_its_place(opened, message, tmp_path):
    store = opened(tmp_path)
    stored = put(store, *(message(body=b"%d" % number * 300) for number in range(8)))
    store.abandon()
    log = next((tmp_path / "commitlog").glob("0*"))
    raw = bytearray(log.read_bytes())
    for damaged in (stored[3], stored[5]):
        raw[damaged.commit_log_offset + 200] ^= 1
    log.write_bytes(raw)
    shutil.rmtree(tmp_path / "consumequeue")
    store = opened(tmp_path)
    assert bodies(store.reads.get("t", 0, 0, 32)) == [b"%d" % number * 300 for number in (0, 1, 2, 4, 6, 7)]
    assert store.queues.max_offset("t", 0) == 8
    store.abandon()
