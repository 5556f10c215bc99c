"""Copied records are listed as they are one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_replication.store.copied import CopiedDispatch, CopiedRuns
from stores import bodies, log_of, put

from mqframe.core.codes import SysFlag
from mqframe.core.delay.levels import DEFAULT_LEVELS, parse_levels
from mqframe.core.messages.java_hash import java_hash
from mqframe.core.storage.dispatch_facts import index_keys, queue_code
from mqframe.core.storage.log_reading import LogReading, LogRuns
from mqframe.core.storage.log_scan import LogRecord, read_records
from mqframe.store.appending.appender import Copied
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore
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


@given(st.lists(ROWS, min_size=1, max_size=30), st.one_of(st.none(), st.integers(900, 4000)))
def test_each_queue_gets_its_entries_and_the_index_all_keys_in_the_order_of_the_log(
    rows: list[tuple[str, int, str, int, int]], middle: int | None
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
    parts = [copied] if middle is None else [*(copied.parted(min(middle, copied.end - 1)) or [copied])]
    found = CopiedDispatch(LEVELS).describe(parts)
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


class Says(LogReading):
    """Says of records, of which all are ordinary and none has a key, what they hold."""

    def read(
        self, buffer: memoryview, at: int, base: int, apart: Sequence[str], *, crc: bool
    ) -> LogRuns | None:
        records = read_records(buffer, at, base, crc=crc)
        runs: dict[tuple[str, int], list[LogRecord]] = {}
        for record in records:
            runs.setdefault((record.topic, record.queue_id), []).append(record)
        said = [
            (
                key,
                of_queue[0].queue_offset,
                b"".join(
                    ENTRY.pack(*each[:2], queue_code(key[0], each.properties, 0, LEVELS)) for each in of_queue
                ),
                of_queue[-1].end,
            )
            for key, of_queue in runs.items()
        ]
        times = [record.store_timestamp for record in records]
        if not records:
            return None
        return LogRuns(len(records), records[-1].end, records[-1][0], times[-1], max(times), said, [])


def copy_of(master: MessageStore, replica: Callable[..., MessageStore]) -> tuple[MessageStore, CopiedRuns]:
    """A slave with the log of `master`, and what waits to be listed there."""
    slave = replica(Says)
    slave.replica.append_copy(0, log_of(master))
    [waiting] = slave.appender.waiting
    assert isinstance(waiting, CopiedRuns)
    return slave, waiting


def test_what_was_said_of_records_is_listed(
    opened: Callable[..., MessageStore],
    replica: Callable[..., MessageStore],
    message: Callable[..., Incoming],
) -> None:
    master = opened()
    put(master, *(message("t", number % 2, b"%d" % number, TAGS="ab"[number % 3 % 2]) for number in range(9)))
    slave, waiting = copy_of(master, replica)
    assert (waiting.end, slave.appender.store_time) == (master.log.max_offset, master.appender.store_time)
    slave.dispatch.now()
    for queue in range(2):
        assert bodies(slave.reads.get("t", queue, 0, 10)) == bodies(master.reads.get("t", queue, 0, 10))
        assert slave.queues.max_offset("t", queue) == (5, 4)[queue]
    assert slave.reads.get("t", 0, 0, 10, codes={java_hash("b")}).count == 1
    put(master, message("t", 1, b"9"))
    slave.replica.append_copy(slave.log.max_offset, log_of(master)[slave.log.max_offset :])
    slave.dispatch.now()
    assert bodies(slave.reads.get("t", 1, 4, 10)) == [b"9"]


def test_what_was_said_of_records_is_taken_apart_where_that_is_needed(
    opened: Callable[..., MessageStore],
    replica: Callable[..., MessageStore],
    message: Callable[..., Incoming],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    master = opened()
    ends = [each.end_offset for each in put(master, *(message("t", n % 2, b"%d" % n) for n in range(5)))]
    slave, waiting = copy_of(master, replica)
    with monkeypatch.context() as patch:
        patch.setattr(waiting, "log", None)  # which is not read as long as the disk has none of them
        assert waiting.parted(ends[0] - 1) is None
    parts = waiting.parted(ends[2] + 1)
    assert parts is not None
    assert [part.end for part in parts] == [ends[2], ends[4]]
    assert [[record.end for record in part.records] for part in parts] == [ends[:3], ends[3:]]
    one, other = slave.files.queues.queue("t", 0), slave.files.queues.queue("t", 1)
    assert [*parts[0].queues, *parts[1].queues] == [one, other, one, other, one]
    singly = waiting.singly()
    assert [(each.end, each.queue, each.queue_offset) for each in singly] == [
        (end, (one, other)[number % 2], number // 2) for number, end in enumerate(ends)
    ]


def test_a_queue_that_does_not_go_on_is_left_to_records(
    opened: Callable[..., MessageStore],
    replica: Callable[..., MessageStore],
    message: Callable[..., Incoming],
) -> None:
    master = opened()
    put(master, message("t", 0, b"0"), message("u", 0, b"0"))
    start = master.log.max_offset
    put(master, message("t", 0, b"1"), message("u", 0, b"1"))
    slave = replica(Says)
    slave.replica.append_copy(0, log_of(master)[:start])
    slave.dispatch.now()
    slave.files.queues.queue("u", 0).next_offset = 0  # as where a topic was made anew
    slave.replica.append_copy(start, log_of(master)[start:])
    assert not any(isinstance(each, CopiedRuns) for each in slave.appender.waiting)
    slave.dispatch.now()
    assert bodies(slave.reads.get("u", 0, 0, 10)) == [b"0", b"1"]
