"""What pulls are given: entries chosen and records read as Python does, laid out as its answers are."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mqframe_speedups._native import PullAnswers, RecordVerdicts

from mqframe.core.storage.record import encode_record, topic_part
from mqframe.core.storage.record_filter import record_filter
from mqframe.store.queues.choosing import Chosen, Stretch, choose, windows
from mqframe.store.queues.consume_queue import ENTRY, FILLER, FILLER_SIZE

FILE_BYTES, LOG_END, OFFSET, QUEUE = 1000, 4000, 7, 3
HEADERS = [b"<", b"|", b"|", b"|", b">"], [b"(", b"|", b"|", b"|", b")"]
LIMIT = (1 << 63) - 1


class File:
    """Stands for a `LogFile`. `reads`: what was read of it; `far`: memory has none of it."""

    def __init__(self, data: bytes, *, far: bool = False) -> None:
        self.view = memoryview(data)
        self.far = far
        self.reads: list[tuple[int, int]] = []

    def read_now(self, at: int, size: int) -> bytearray | None:
        self.reads.append((at, size))
        found = bytearray(self.view[at : at + size])
        return found if len(found) == size and not self.far else None


def files_of(log: bytes, log_start: int) -> list[File]:
    return [File(log[at : at + FILE_BYTES]) for at in range(log_start, len(log), FILE_BYTES)]


def answer_of(
    answers: PullAnswers, raw: bytes, files: list[File], log_start: int = 0, mapped_from: int = 0
) -> tuple[bytes, int, int, int, list[Stretch]] | None:
    log = files, log_start, LOG_END, FILE_BYTES, mapped_from
    return answers.answer(raw, (QUEUE, OFFSET, 1, 99, 2**31 - 1), log)


def frame_of(following: int, records: bytes) -> bytes:
    """The answer to a pull that goes on at `following`."""
    header = (b"<%d|1|99|%d>" if records else b"(%d|1|99|%d)") % (following, 2**31 - 1)
    return struct.pack(">ii", 4 + len(header) + len(records), len(header)) + header + records


entry = st.tuples(
    st.sampled_from([0, 0, 0, 0, 7, 300]),  # a gap before it
    st.integers(100, 300),
    st.sampled_from([1, 1, 2, -(2**63)]),
)
odd = st.sampled_from([FILLER, bytes(20), ENTRY.pack(5000, 100, 1), ENTRY.pack(8, -1, 1)])


def packed(entries: list[Any], log_start: int) -> bytes:
    """Entries whose records lie one behind the other but for gaps, and odd ones."""
    at, found = log_start, []
    for each in entries:
        if isinstance(each, bytes):
            found.append(each)
            continue
        gap, size, code = each
        at += gap
        found.append(ENTRY.pack(at, size, code))
        at += size
    return b"".join(found)


def record(number: int, at: int, size: int = 100, topic: str = "t", **fields: Any) -> bytes:
    """The record, of `size` bytes with IPv4 hosts and the topic "t", that an entry of the queue names."""
    usual: dict[str, Any] = {
        "topic": topic, "queue_id": QUEUE, "queue_offset": OFFSET + number, "physical_offset": at,
        "body": bytes(range(8)) + bytes(size - 100), "properties": b"", "born_timestamp": 1,
        "born_host": b"\x0a\0\0\1\0\0\0\1", "store_timestamp": 2, "store_host": b"\x0a\0\0\2\0\0\0\2",
    }  # fmt: skip
    return encode_record(**usual | fields)


def log_of(raw: bytes) -> bytes:
    """A log with a record for each of the entries that name a place in it."""
    log = bytearray(random.Random(len(raw)).randbytes(LOG_END))
    for number, (at, size, _) in enumerate(ENTRY.iter_unpack(raw)):
        if at >= 0 and 0 < size <= LOG_END - at:
            log[at : at + size] = record(number, at, size)
    return bytes(log)


@given(
    st.lists(entry, max_size=40) | st.lists(entry | odd, max_size=40),
    st.integers(1, 20),
    st.sampled_from([None, [], [1], [1, 2], [-(2**63)]]),
    st.sampled_from([99, 250, 900, 1 << 20]),
    st.sampled_from([0, 1000, 3000]),
    st.sampled_from([0, 1500, 4000]),
)
@example([(0, 100, 1)] * 30, 32, None, 1 << 20, 0, 4000)
def test_pulls_are_given_what_python_gives(
    entries: list[Any], most: int, codes: list[int] | None, bytes_max: int, log_start: int, mapped_from: int
) -> None:
    raw = packed(entries, log_start)
    log = log_of(raw)
    expected = choose(raw, OFFSET, most, codes, bytes_max, log_start, FILE_BYTES)
    answers = PullAnswers(codes, None, most, bytes_max, topic_part("t"), HEADERS)
    files = files_of(log, log_start)
    found = answer_of(answers, raw, files, log_start, mapped_from)
    if found is None:
        assert is_unusual(raw, expected, bytes_max, log_start)
    else:
        frame, done, count, size, stretches = found
        assert (OFFSET + done, count, size, stretches) == (
            expected.following, expected.found, expected.size_bytes, expected.stretches,
        )  # fmt: skip
        assert frame == frame_of(OFFSET + done, b"".join(log[start:end] for start, end in stretches))
        older = [each for each in stretches if each[0] < mapped_from]
        expected_reads = [(each[0][0], each[-1][1]) for each in windows(older, log_start, FILE_BYTES)]
        bases = [(file, log_start + number * FILE_BYTES) for number, file in enumerate(files)]
        reads = [(base + at, base + at + count) for file, base in bases for at, count in file.reads]
        assert reads == expected_reads
    # A last part that is no whole entry is no entry.
    assert answer_of(answers, raw + bytes(19), files, log_start, mapped_from) == found


def numbered(entries: list[Any]) -> tuple[bytes, bytes]:
    """Entries, and the log with their records: (gap before it, number among its properties, bytes of it)."""
    log, raw = bytearray(), b""
    for count, (gap, number, size) in enumerate(entries):
        log += bytes(gap)
        properties = b"n\x01%d\x02" % number
        if len(log) % FILE_BYTES + size + len(properties) > FILE_BYTES:
            log += bytes(-len(log) % FILE_BYTES)
        made = record(count, len(log), size, properties=properties)
        raw += ENTRY.pack(len(log), len(made), number)
        log += made
    return raw, bytes(log)


class Numbers:
    """A condition: numbers of which one bit is set. `asked`: about which, in order."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.asked: list[str | None] = []

    def __call__(self, properties: Any) -> bool:
        self.asked.append(properties.get("n"))
        return bool(self.wanted >> int(properties["n"]) & 1)


looked = st.tuples(st.sampled_from([0, 0, 0, 9, 5000]), st.integers(0, 3), st.sampled_from([100, 130, 400]))


@given(
    st.lists(looked, max_size=40),
    st.integers(1, 9),
    st.sampled_from([120, 350, 1 << 20]),
    st.sampled_from([None, [1, 2]]),
    st.integers(0, 15),
    st.sampled_from([0, 3000, 1 << 20]),
)
@example([(0, n % 4, 100) for n in range(40)], 32, 1 << 20, None, 0b0010, 1 << 20)
@example([(0, n % 4, 100) for n in range(40)], 32, 1 << 20, None, 0, 0)
def test_records_are_given_of_which_a_filter_wants_it(
    entries: list[Any], most: int, bytes_max: int, codes: list[int] | None, wanted: int, mapped_from: int
) -> None:
    """Copied or from the map, each kind of values asked about once."""
    raw, log = numbered(entries)
    numbers = Numbers(wanted)
    plain = record_filter(Numbers(wanted))
    expected = choose(
        raw, OFFSET, most, codes, bytes_max, 0, FILE_BYTES, plain, lambda at, size: log[at : at + size]
    )
    answers = PullAnswers(
        codes, RecordVerdicts(plain, numbers, ["n"]), most, bytes_max, topic_part("t"), HEADERS
    )
    found = answers.answer(
        raw, (QUEUE, OFFSET, 1, 99, 2**31 - 1), (files_of(log, 0), 0, len(log), FILE_BYTES, mapped_from)
    )
    if found is None:
        assert not entries or expected.size_bytes > bytes_max
        return
    frame, done, count, size, stretches = found
    assert (OFFSET + done, count, size, stretches) == (
        expected.following, expected.found, expected.size_bytes, expected.stretches,
    )  # fmt: skip
    assert frame == frame_of(OFFSET + done, b"".join(log[start:end] for start, end in stretches))
    assert len(numbers.asked) == len(set(numbers.asked))


def looks_at(record: bytes, **file: bool) -> list[str | None] | None:
    """The values that a filter was asked about for one record, which is copied; `None`: it was left alone."""
    numbers = Numbers(0b0010)
    answers = PullAnswers(
        None, RecordVerdicts(record_filter(numbers), numbers, ["n"]), 32, 1 << 20, None, HEADERS
    )
    found = given_of([record], answers, **file)
    return None if found is None else numbers.asked


def test_filters_are_asked_about_what_is_plainly_a_record_of_the_queue() -> None:
    fields: dict[str, Any] = {"properties": b"n\x011\x02"}
    assert looks_at(record(0, 0, **fields)) == ["1"]
    assert looks_at(record(0, 0, **fields), far=True) is None
    for change in {"queue_id": QUEUE + 1}, {"physical_offset": 8}:
        assert looks_at(record(0, 0, **fields, **change)) is None, change
    longer = bytearray(record(0, 0, **fields))
    longer[3] += 1
    assert looks_at(bytes(longer)) is None
    assert looks_at(record(0, 0)[:87]) is None
    assert looks_at(record(0, 0, **fields, born_host=V6)) == ["1"], "asked with all of the record"


def is_unusual(raw: bytes, expected: Chosen, bytes_max: int, log_start: int) -> bool:
    """Whether Python has to look: there is nothing, or one of the entries is not of a plain record."""
    looked = list(ENTRY.iter_unpack(raw))[: expected.following - OFFSET + 1]
    return (
        not looked
        or expected.size_bytes > bytes_max
        or any(
            at < log_start or size <= 0 or size == FILLER_SIZE or at + size > LOG_END
            for at, size, _ in looked
        )
        or any(
            start // FILE_BYTES != (end - 1) // FILE_BYTES for start, end in expected.stretches
        )  # no record reaches into another file
    )


ALL = PullAnswers(None, None, 32, 1 << 20, topic_part("t"), HEADERS)


def given_of(records: list[bytes], answers: PullAnswers = ALL, **file: bool) -> bytes | None:
    """The records that a pull is given of a log that begins with these."""
    log = b"".join(records)
    ends = [sum(map(len, records[: number + 1])) for number in range(len(records))]
    raw = b"".join(ENTRY.pack(end - len(each), len(each), 1) for end, each in zip(ends, records, strict=True))
    found = answer_of(answers, raw, [File(log.ljust(FILE_BYTES), **file)], mapped_from=LOG_END)
    return None if found is None else found[0][-found[3] :]


V6 = bytes(16) + b"\0\0\0\7"
RECORDS: dict[str, tuple[str, dict[str, Any]]] = {
    "usual": ("t", {}),
    "a sender of IPv6": ("t", {"born_host": V6}),
    "a broker of IPv6": ("t", {"store_host": V6}),
    "both of IPv6": ("t", {"born_host": V6, "store_host": V6}),
    "a long topic": ("t" * 200, {}),
    "no body": ("t", {"body": b""}),
}


@pytest.mark.parametrize("kind", RECORDS)
def test_records_of_all_kinds_are_given_where_they_are_what_entries_say(kind: str) -> None:
    topic, fields = RECORDS[kind]
    answers = PullAnswers(None, None, 32, 1 << 20, topic_part(topic), HEADERS)
    first = record(0, 0, topic=topic, **fields)
    good = [first, record(1, len(first), topic=topic, **fields)]
    assert given_of(good, answers) == b"".join(good)
    changes: list[dict[str, Any]] = [
        {"queue_id": QUEUE + 1}, {"queue_offset": OFFSET}, {"physical_offset": 0}, {"topic": topic[1:] + "u"},
        {"topic": topic + "t"}, {"topic": "t" * 128},
    ]  # fmt: skip
    for change in changes:
        bad = [first, record(1, len(first), **{"topic": topic, **fields, **change})]
        assert given_of(bad, answers) is None, change
    of_any = PullAnswers(None, None, 32, 1 << 20, None, HEADERS)
    assert given_of([first, b"x" * 90], of_any) == first + b"x" * 90


@pytest.mark.parametrize("at", [0, 3, 4, 39, 84])
def test_records_whose_head_was_changed_are_left_alone(at: int) -> None:
    for size in (100, 300):
        raw = bytearray(record(0, 0, size))
        raw[at] ^= 0x7F
        assert given_of([bytes(raw)]) is None
    for size in range(8, 92):
        short = bytearray(record(0, 0)[:size])
        short[:4] = size.to_bytes(4)
        assert given_of([bytes(short)]) is None


def test_the_disk_is_not_waited_for() -> None:
    assert given_of([record(0, 0)]) == record(0, 0)
    assert given_of([record(0, 0)], far=True) is None


def test_what_is_before_others_in_the_log_is_left_alone() -> None:
    log = record(1, 0) + record(0, 100)
    raw = ENTRY.pack(100, 100, 1) + ENTRY.pack(0, 100, 1)
    assert answer_of(ALL, raw, [File(log.ljust(FILE_BYTES))]) is None
    alone = answer_of(ALL, raw[:20], [File(log.ljust(FILE_BYTES))])
    assert alone is not None
    assert alone[0] == frame_of(OFFSET + 1, record(0, 100))


def test_a_file_that_is_gone_and_one_that_is_short() -> None:
    assert answer_of(ALL, ENTRY.pack(1000, 100, 1), [File(bytes(FILE_BYTES))]) is None
    for mapped_from in (0, LOG_END):
        assert answer_of(ALL, ENTRY.pack(0, 100, 1), [File(record(0, 0)[:99])], 0, mapped_from) is None


def test_a_view_that_is_closed_raises() -> None:
    file = File(record(0, 0))
    file.view.release()
    with pytest.raises(ValueError, match="released"):
        answer_of(ALL, ENTRY.pack(0, 100, 1), [file])


def test_an_answer_too_long_for_a_frame_is_left_alone() -> None:
    size = 2**31 - 2
    answers = PullAnswers(None, None, 32, LIMIT, None, HEADERS)
    log = [File(b"")], 0, 2**40, 2**40, 2**40
    raw = ENTRY.pack(0, size, 1) + ENTRY.pack(size, size, 1)
    assert answers.answer(raw, (QUEUE, OFFSET, 0, 9, 1), log) is None
