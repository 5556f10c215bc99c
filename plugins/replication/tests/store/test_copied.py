"""Copied records are listed as they are one by one."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from mqframe_replication.store.copied import CopiedDispatch

from mqframe.core.codes import SysFlag
from mqframe.core.delay.levels import DEFAULT_LEVELS, parse_levels
from mqframe.core.storage.dispatch_facts import index_keys, queue_code
from mqframe.core.storage.log_scan import LogRecord
from mqframe.store.appending.appender import Copied
from mqframe.store.queues.consume_queue import ENTRY, ConsumeQueue
from mqframe.store.queues.deleted_topics import DeletedTopics
from mqframe.store.queues.queue_table import QueueTable

LEVELS = parse_levels(DEFAULT_LEVELS)
TEXTS = [
    "UNIQ_KEY\x01A1\x02TAGS\x01x\x02",
    "UNIQ_KEY\x01B2\x02TAGS\x01x\x02",
    "KEYS\x01a b\x02",
    "TAGS\x01y\x02",
    "",
]
KINDS = [0, SysFlag.TRANSACTION_PREPARED, SysFlag.TRANSACTION_COMMIT, SysFlag.TRANSACTION_ROLLBACK]
TOPICS = ["t", "u", "SCHEDULE_TOPIC_XXXX"]
ROWS = st.tuples(
    st.sampled_from(TOPICS),
    st.integers(0, 1),
    st.sampled_from(TEXTS),
    st.sampled_from(KINDS),
    st.integers(0, 2),
)


def laid(rows: list[tuple[str, int, str, int, int]], table: QueueTable) -> Copied:
    """Records of `rows`, each of its topic, queue id, properties, kind, and ms after the one before."""
    records, queues, at, now = [], [], 1000, 5000
    ends: dict[ConsumeQueue, int] = {}
    for topic, queue_id, text, kind, step in rows:
        now += step
        queue = table.queue(topic, queue_id) if kind in (0, SysFlag.TRANSACTION_COMMIT) else None
        offset = 0
        if queue is not None:
            offset = ends.get(queue, 7)
            ends[queue] = offset + 1
        records.append(LogRecord(at, 100 + len(text), topic, queue_id, offset, kind, now, text))
        queues.append(queue)
        at = records[-1].end
    return Copied(at, records, queues)


@given(st.lists(ROWS, min_size=1, max_size=30))
def test_each_queue_gets_its_entries_and_the_index_all_keys_in_the_order_of_the_log(
    rows: list[tuple[str, int, str, int, int]],
) -> None:
    copied = laid(rows, QueueTable(Path("nowhere"), 6000, 10, DeletedTopics(Path("nowhere"))))
    entries: dict[tuple[str, int], tuple[int, bytes, list[int]]] = {}
    keys = []
    for record, queue in zip(copied.records, copied.queues, strict=True):
        code = queue_code(record.topic, record.properties, record.store_timestamp, LEVELS)
        if queue is not None:
            first, raw, codes = entries.get(queue.key, (record.queue_offset, b"", []))
            entry = ENTRY.pack(record.physical_offset, record.size, code)
            entries[queue.key] = (first, raw + entry, [*codes, code])
        if record.is_indexed:
            keys += [
                (record.topic, record.physical_offset, key, record.store_timestamp)
                for key in index_keys(record.properties)
            ]
    found = CopiedDispatch(LEVELS).describe(copied)
    assert {
        each.queue.key: (each.queue_offset, each.entries, each.codes)
        for each in found
        if each.queue is not None
    } == entries
    assert [
        (each.topic, offset, key, each.timestamp)
        for each in found
        for offset, names in each.indexed
        for key in names
    ] == keys
    # Whoever writes them again after an error passes over what the index has by then.
    ends = [each.end for each in found]
    assert ends == sorted(ends)
    assert ends[-1] == copied.end
    assert len({each.end for each in found if each.indexed}) == sum(bool(each.indexed) for each in found)


def test_singly_they_are_the_same() -> None:
    rows = [("t", 0, TEXTS[0], 0, 1), ("t", 0, TEXTS[2], KINDS[1], 0), ("u", 1, TEXTS[3], KINDS[2], 1)]
    copied = laid(rows, QueueTable(Path("nowhere"), 6000, 10, DeletedTopics(Path("nowhere"))))
    first, prepared, last = copied.singly()
    assert (first.end, first.queue, first.queue_offset) == (copied.records[0].end, copied.queues[0], 7)
    assert (prepared.queue, prepared.indexed, prepared.properties) == (None, True, TEXTS[2])
    assert (last.physical, last.size, last.topic) == (copied.records[2][0], copied.records[2][1], "u")
    assert (last.end, last.timestamp) == (copied.end, 5002)
