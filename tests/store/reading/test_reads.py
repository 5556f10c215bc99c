"""Reads that take memory or the disk into account."""

from __future__ import annotations

from stores import put

from mqframe.core.messages.java_hash import java_hash


async def test_cold_reads_give_the_same(opened, message):
    store = opened(hot_bytes=1000, mapped_read_bytes=1000, commit_log_file_bytes=4096)
    put(store, *(message(body=b"%d" % n * 100, TAGS="ab"[n % 2]) for n in range(40)))
    assert store.reads.is_cold("t", 0, 0)
    assert not store.reads.is_cold("t", 0, 39)
    assert not store.reads.is_cold("t", 0, 40)
    assert not store.reads.is_cold("unknown", 0, 0)
    for offset, most, codes in (
        (0, 9, None),
        (5, 32, {java_hash("a")}),
        (39, 1, None),
        (40, 1, None),
        (99, 1, None),
    ):
        hot = store.reads.get("t", 0, offset, most, codes=codes)
        cold = await store.reads.get_cold("t", 0, offset, most, codes=codes)
        now = store.reads.get_now("t", 0, offset, most, codes=codes)
        assert now is not None  # what was just written is in memory
        assert b"".join(now.parts) == b"".join(hot.parts)
        assert (now.status, now.next_offset, now.count) == (hot.status, hot.next_offset, hot.count)
        assert b"".join(cold.parts) == b"".join(hot.parts)
        assert (cold.status, cold.next_offset, cold.count) == (hot.status, hot.next_offset, hot.count)
    await store.stop()
