from __future__ import annotations

import asyncio
import errno
import os
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqframe.core.batch import encode_element
from mqframe.core.codes import SysFlag
from mqframe.core.errors import BodyError, Refusal, StoreError
from mqframe.core.host import encode_host
from mqframe.core.java_hash import java_hash
from mqframe.core.record import check_crc, decode_records
from mqframe.store.incoming import GetStatus


def bodies(found):
    return [message.body for part in found.parts for message in decode_records(part)]


def put(store, *messages):
    stored = [store.put(one) for one in messages]
    store.dispatch()
    return stored


def test_first_message(opened, message, clock):
    store = opened()
    (stored,) = put(store, message("orders", 3, b"paid", TAGS="x"))
    assert stored.commit_log_offset == 0
    assert (stored.queue_offset, stored.store_timestamp) == (0, clock.now_ms())
    assert stored.end_offset == stored.size == store.max_offset == store.confirmed_offset
    found = store.get("orders", 3, 0, 32)
    assert (found.status, found.next_offset, found.min_offset, found.max_offset) == (GetStatus.FOUND, 1, 0, 1)
    assert (found.count, found.size_bytes) == (1, stored.size)
    (read,) = decode_records(found.parts[0])
    check_crc(read)
    assert (read.topic, read.queue_id, read.body, read.tag) == ("orders", 3, b"paid", "x")
    assert read.store_host == "127.0.0.1:10911"
    assert list(store.queues()) == [("orders", 3)]


def test_nothing_is_seen_before_dispatch(opened, message):
    store = opened()
    store.put(message())
    assert store.queue_max("t", 0) == 0
    assert store.get("t", 0, 0, 1).status is GetStatus.NO_MESSAGE_IN_QUEUE
    store.dispatch()
    assert store.queue_max("t", 0) == 1


def test_statuses_outside_a_queue(opened, message):
    store = opened()
    put(store, message(), message())
    answers = {offset: store.get("t", 0, offset, 1) for offset in (-1, 2, 7)}
    assert [(found.status, found.next_offset) for found in answers.values()] == [
        (GetStatus.OFFSET_TOO_SMALL, 0),
        (GetStatus.OFFSET_OVERFLOW_ONE, 2),
        (GetStatus.OFFSET_OVERFLOW_BADLY, 2),
    ]
    missing = store.get("unknown", 0, 5, 1)
    assert (missing.status, missing.next_offset) == (GetStatus.NO_MATCHED_LOGIC_QUEUE, 0)


def test_neighbours_come_as_one_slice(opened, message):
    store = opened()
    put(store, *(message("t", n % 2, b"%d" % n) for n in (0, 0, 0, 1, 2)))
    found = store.get("t", 0, 0, 32)
    assert (found.count, len(found.parts)) == (4, 2)
    assert bodies(found) == [b"0", b"0", b"0", b"2"]


def test_limits_of_a_read(opened, message):
    store = opened()
    stored = put(store, *(message(body=b"x" * 1000) for _ in range(5)))
    assert store.get("t", 0, 0, 3).count == 3
    assert store.get("t", 0, 0, 32, bytes_max=stored[0].size * 2).count == 2
    first = store.get("t", 0, 1, 32, bytes_max=1)
    assert (first.count, first.next_offset) == (1, 2)


def test_tag_filter(opened, message):
    store = opened()
    put(store, *(message(body=b"%d" % n, TAGS="ab"[n % 2]) for n in range(6)))
    codes = {java_hash("b")}
    found = store.get("t", 0, 0, 2, codes=codes)
    assert (bodies(found), found.next_offset) == ([b"1", b"3"], 5)
    nothing = store.get("t", 0, 0, 2, codes={1})
    assert (nothing.status, nothing.next_offset, nothing.parts) == (GetStatus.NO_MATCHED_MESSAGE, 6, [])


def test_a_filtered_read_looks_at_a_bounded_number_of_entries(opened, message):
    store = opened(scan_entries_max=10)
    put(store, *(message() for _ in range(25)))
    found = store.get("t", 0, 0, 2, codes={1})
    assert (found.status, found.next_offset) == (GetStatus.NO_MATCHED_MESSAGE, 10)


def test_arrivals_are_told_once_a_queue_and_turn(opened, message):
    told = []
    store = opened(options={"on_arrival": lambda *args: told.append(args)})
    put(store, message(TAGS="a"), message("u", 1), message(TAGS="b"))
    assert told == [("t", 0, 2, [java_hash("a"), java_hash("b")]), ("u", 1, 1, [0])]


def test_prepared_and_rolled_back_types_have_no_queue_entry(opened, message):
    store = opened()
    for kind in (SysFlag.TRANSACTION_PREPARED, SysFlag.TRANSACTION_ROLLBACK):
        (stored,) = put(store, message(sys_flag=kind, KEYS="k"))
        assert stored.queue_offset == 0
    (committed,) = put(store, message(sys_flag=SysFlag.TRANSACTION_COMMIT, KEYS="k"))
    assert committed.queue_offset == 0
    assert store.queue_max("t", 0) == 1
    # Prepared ones are indexed, rolled back ones are not.
    offsets = [next(iter(decode_records(r))).commit_log_offset for r in store.query("t", "k", 9).records]
    assert offsets == [committed.commit_log_offset, 0]


def test_delay_topic_holds_delivery_times(opened, message, clock):
    store = opened()
    put(
        store,
        message("SCHEDULE_TOPIC_XXXX", 1, DELAY="2", TAGS="a"),
        message("SCHEDULE_TOPIC_XXXX", 1, DELAY="99"),
    )
    now = clock.now_ms()
    assert store.get("SCHEDULE_TOPIC_XXXX", 1, 0, 1, codes={now + 5000}).count == 1
    assert store.get("SCHEDULE_TOPIC_XXXX", 1, 1, 1, codes={now + 7_200_000}).count == 1


def test_ipv6_hosts(opened, message):
    store = opened()
    one = message(body=b"six")
    one.born_host = encode_host("[2001:db8::1]:77")
    put(store, one, message(body=b"four"))
    first, second = decode_records(store.get("t", 0, 0, 2).parts[0])
    assert (first.born_host, first.store_host, first.body) == ("[2001:db8::1]:77", "127.0.0.1:10911", b"six")
    assert second.born_host == "127.0.0.1:10911"
    assert store.store_time_at("t", 0, 0) == first.store_timestamp


def test_long_topics_take_version_2(opened, message):
    store = opened()
    topic = "%RETRY%" + "g" * 140
    put(store, message(topic))
    (read,) = decode_records(store.get(topic, 0, 0, 1).parts[0])
    assert read.topic == topic


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"body": b"x" * 70_000}, "body has 70000 bytes, at most 65536"),
        ({"K" * 9: "v" * 32767}, "properties have"),
    ],
)
def test_too_large(opened, message, change, says):
    store = opened(body_bytes_max=65536)
    with pytest.raises(Refusal, match=says) as refused:
        store.put(message(**change))
    assert refused.value.code == 13
    assert store.max_offset == 0


def test_a_record_larger_than_a_file_is_refused(opened, message):
    store = opened(commit_log_file_bytes=4096)
    with pytest.raises(Refusal, match="does not fit a commit-log file of 4096 bytes"):
        store.put(message(body=b"x" * 5000))
    assert put(store, message())[0].commit_log_offset == 0


def test_store_times_never_go_back(opened, message, clock):
    store = opened()
    (first,) = put(store, message())
    clock.advance(-60)
    (second,) = put(store, message())
    assert second.store_timestamp == first.store_timestamp


def test_files_end_with_a_blank_marker(opened, message, tmp_path):
    store = opened(commit_log_file_bytes=4096)
    stored = put(store, *(message(body=bytes([n]) * 900) for n in range(9)))
    assert stored[4].commit_log_offset == 4096
    left = 4096 - stored[3].end_offset
    raw = (tmp_path / "store/commitlog/00000000000000000000").read_bytes()
    assert struct.unpack_from(">ii", raw, stored[3].end_offset) == (left, -875286124)
    found = store.get("t", 0, 0, 32)
    assert bodies(found) == [bytes([n]) * 900 for n in range(9)]
    assert [len(part) for part in found.parts] == [stored[0].size * 4, stored[0].size * 4, stored[0].size]


def test_batch(opened, message):
    store = opened()
    batch = b"".join(
        (
            encode_element(b"one", b"TAGS\x01a\x02KEYS\x01k1 k2\x02", 7),
            encode_element(b"two", b"UNIQ_KEY\x01own"),
            encode_element(b"three", b""),
        )
    )
    head = message("orders", 2, b"")
    stored = store.put_batch(head, batch, b"UNIQ_KEY\x01shared\x02WAIT\x01true\x02")
    store.dispatch()
    assert stored.queue_offset == 0
    read = list(decode_records(store.get("orders", 2, 0, 32).parts[0]))
    for each in read:
        check_crc(each)
    assert [each.commit_log_offset for each in read] == stored.offsets
    assert read[-1].commit_log_offset + read[-1].store_size == stored.end_offset
    assert [(m.body, m.flag, m.tag, m.keys, m.message_id) for m in read] == [
        (b"one", 7, "a", ["k1", "k2"], "shared"),
        (b"two", 0, None, [], "shared"),
        (b"three", 0, None, [], "shared"),
    ]
    assert read[1].raw_properties == "UNIQ_KEY\x01own\x02UNIQ_KEY\x01shared\x02WAIT\x01true\x02"
    assert [next(iter(decode_records(r))).body for r in store.query("orders", "shared", 9).records] == [
        b"three",
        b"two",
        b"one",
    ]
    assert len(store.query("orders", "k2", 9).records) == 1


def test_batch_without_shared_key_keeps_own_keys(opened, message):
    store = opened()
    batch = encode_element(b"1", b"UNIQ_KEY\x01own1\x02") + encode_element(b"2", b"UNIQ_KEY\x01own2\x02")
    store.put_batch(message(), memoryview(batch), b"WAIT\x01true\x02")
    store.dispatch()
    assert len(store.query("t", "own1", 9).records) == len(store.query("t", "own2", 9).records) == 1


def test_batch_that_does_not_fit_goes_whole_into_the_next_file(opened, message):
    store = opened(commit_log_file_bytes=4096)
    put(store, message(body=b"x" * 2000))
    stored = store.put_batch(message(), b"".join(encode_element(b"y" * 900, b"") for _ in range(3)))
    store.dispatch()
    assert stored.offsets[0] == 4096
    assert bodies(store.get("t", 0, 0, 9)) == [b"x" * 2000, *[b"y" * 900] * 3]
    with pytest.raises(Refusal, match="does not fit"):
        store.put_batch(message(), b"".join(encode_element(b"y" * 900, b"") for _ in range(5)))
    assert put(store, message())[0].queue_offset == 4


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw[:-1],
        lambda raw: raw + b"\0",
        lambda raw: raw[:4] + b"\xff" + raw[5:] + b"\0\0\0\x08",
        lambda raw: b"\0\0\0\x00" + raw[4:],
        lambda raw: raw[:16] + b"\xff\xff\xff\xff" + raw[20:],
        lambda raw: b"",
    ],
)
def test_malformed_batch_stores_nothing(opened, message, tmp_path, damage):
    store = opened()
    good = encode_element(b"1", b"") + encode_element(b"2", b"A\x01b\x02")
    with pytest.raises(BodyError, match="batch"):
        store.put_batch(message(), damage(good), b"WAIT\x01true\x02")
    assert store.max_offset == 0
    store.abandon()
    assert opened().recovered.records == 0


def test_batch_with_bytes_that_are_no_text(opened, message):
    store = opened()
    with pytest.raises(BodyError, match="message 0 of the batch"):
        store.put_batch(message(), encode_element(b"1", b"\xff\xfe"))


def test_disk_full_at_allocation(opened, message, tmp_path):
    space = [3]

    def allocate(descriptor, size):
        if size == 4096:
            if not space[0]:
                raise OSError(errno.ENOSPC, "No space left on device")
            space[0] -= 1
        os.posix_fallocate(descriptor, 0, size)

    store = opened(commit_log_file_bytes=4096, options={"allocate": allocate})
    accepted = []
    for n in range(12):
        accepted += put(store, message(body=b"%03d" % n * 300))
    for _ in range(2):
        with pytest.raises(Refusal, match=r"No space left on device; free some disk space") as refused:
            store.put(message(body=b"x" * 900))
        assert refused.value.code == 14
    assert len(accepted) == 12
    # What still fits the file is taken.
    space[0] = 1
    put(store, message(body=b"later" * 200))
    assert bodies(store.get("t", 0, 0, 99)) == [b"%03d" % n * 300 for n in range(12)] + [b"later" * 200]
    assert not list(tmp_path.rglob("*.allocating"))


def test_disk_full_while_opening_the_index(opened, message):
    full = [True]

    def allocate(descriptor, size):
        if size == 40 + 4000 and full[0]:
            raise OSError(errno.ENOSPC, "No space left on device")

    store = opened(options={"allocate": allocate_with_size(allocate)})
    put(store, message(KEYS="k"))
    assert store.refusal().code == 14
    with pytest.raises(Refusal, match="queue or index files cannot be written"):
        store.put(message())
    full[0] = False
    (second,) = put(store, message(KEYS="k"))
    assert store.refusal() is None
    assert second.queue_offset == 1
    assert store.queue_max("t", 0) == 2
    assert len(store.query("t", "k", 9).records) == 2


def allocate_with_size(check):
    def allocate(descriptor, size):
        check(descriptor, size)
        os.ftruncate(descriptor, max(size, os.fstat(descriptor).st_size))

    return allocate


def test_a_second_store_is_refused(opened, message, tmp_path):
    store = opened()
    with pytest.raises(
        StoreError, match=r"is in use by another broker .*stop that one, or give this one a dir"
    ):
        opened()
    assert (tmp_path / "store/lock").read_text() == "lock"
    put(store, message())
    store.abandon()
    assert opened().queue_max("t", 0) == 1


def test_other_file_size_is_refused(opened, message, tmp_path):
    store = opened()
    put(store, message())
    store.abandon()
    with pytest.raises(StoreError, match=r"has 1048576 bytes, the setting says 4096: set the file size"):
        opened(commit_log_file_bytes=4096)
    with pytest.raises(StoreError, match=r"has 20000 bytes, the setting says 40"):
        opened(queue_file_bytes=40)


def test_delete_topic(opened, message, tmp_path):
    store = opened()
    put(store, message("a"), message("b"), message("a", 1))
    store.delete_topic("a")
    assert list(store.queues()) == [("b", 0)]
    assert not (tmp_path / "store/consumequeue/a").exists()
    assert store.get("a", 0, 0, 1).status is GetStatus.NO_MATCHED_LOGIC_QUEUE
    assert put(store, message("a"))[0].queue_offset == 0
    assert bodies(store.get("a", 0, 0, 1)) == [b"hello"]


def test_many_queues_within_few_descriptors(opened, message, tmp_path):
    store = opened(queue_descriptors_max=8)
    before = len(os.listdir("/proc/self/fd"))
    for turn in range(3):
        put(store, *(message(f"topic{n}", n % 3, b"%d" % turn) for n in range(60)))
    assert len(os.listdir("/proc/self/fd")) <= before + 10
    for n in range(60):
        assert bodies(store.get(f"topic{n}", n % 3, 0, 9)) == [b"0", b"1", b"2"]


def test_queue_over_several_files(opened, message):
    store = opened(queue_file_bytes=100)
    put(store, *(message(body=b"%d" % n) for n in range(13)))
    assert bodies(store.get("t", 0, 3, 9)) == [b"3", b"4"]
    assert [store.store_time_at("t", 0, n) is not None for n in (0, 12, 13)] == [True, True, False]
    assert bodies(store.get("t", 0, 12, 9)) == [b"12"]


def test_key_look_up_compares_the_key_itself(opened, message):
    store = opened()
    # "Aa" and "BB" have the same hash.
    put(
        store,
        message(body=b"1", KEYS="Aa"),
        message(body=b"2", KEYS="BB x"),
        message("u", 0, b"3", KEYS="Aa"),
    )
    assert [next(iter(decode_records(r))).body for r in store.query("t", "Aa", 9).records] == [b"1"]
    put(store, message(body=b"4", UNIQ_KEY="Aa"))
    assert len(store.query("t", "Aa", 9).records) == 2
    assert len(store.query("t", "Aa", 9, unique=True).records) == 1
    assert len(store.query("t", "Aa", 1).records) == 1


def test_query_tells_how_far_the_index_reaches(opened, message, clock):
    store = opened()
    assert store.query("t", "k", 9) == ([], 0, 0)
    stored = put(store, message(KEYS="k"), message(KEYS="k"))
    assert store.query("t", "k", 9)[1:] == (clock.now_ms(), stored[1].commit_log_offset)


def test_index_goes_on_in_a_next_file(opened, message, tmp_path, clock):
    store = opened(index_entries=5)
    for n in range(11):
        put(store, message(body=b"%d" % n, KEYS="all"))
        clock.advance(1)
    assert len(list((tmp_path / "store/index").iterdir())) == 3
    assert len(store.query("t", "all", 64).records) == 11
    third = clock.now_ms() - 9000
    found = store.query("t", "all", 64, third, third + 1999).records
    assert [next(iter(decode_records(r))).body for r in found] == [b"3", b"2"]


def test_record_at(opened, message):
    store = opened()
    first, second = put(store, message(body=b"1"), message(body=b"2"))
    assert next(iter(decode_records(store.record_at(second.commit_log_offset)))).body == b"2"
    for wrong in (1, second.end_offset, 1 << 50, -5):
        assert store.record_at(wrong) is None
    assert first.size == second.commit_log_offset


def test_cold_reads_give_the_same(opened, message):
    async def scenario():
        store = opened(hot_bytes=1000, mapped_read_bytes=1000, commit_log_file_bytes=4096)
        put(store, *(message(body=b"%d" % n * 100, TAGS="ab"[n % 2]) for n in range(40)))
        assert store.is_cold("t", 0, 0)
        assert not store.is_cold("t", 0, 39)
        assert not store.is_cold("t", 0, 40)
        assert not store.is_cold("unknown", 0, 0)
        for offset, most, codes in (
            (0, 9, None),
            (5, 32, {java_hash("a")}),
            (39, 1, None),
            (40, 1, None),
            (99, 1, None),
        ):
            hot = store.get("t", 0, offset, most, codes=codes)
            cold = await store.get_cold("t", 0, offset, most, codes=codes)
            now = store.get_now("t", 0, offset, most, codes=codes)
            assert now is not None  # what was just written is in memory
            assert b"".join(now.parts) == b"".join(hot.parts)
            assert (now.status, now.next_offset, now.count) == (hot.status, hot.next_offset, hot.count)
            assert b"".join(cold.parts) == b"".join(hot.parts)
            assert (cold.status, cold.next_offset, cold.count) == (hot.status, hot.next_offset, hot.count)
        await store.stop()

    asyncio.run(scenario())


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.binary(min_size=0, max_size=60), st.text("ab\x02\x01 é", max_size=12)), max_size=20)
)
def test_whatever_is_put_is_read(tmp_path_factory, small, message, rows):
    from mqframe.store.message_store import MessageStore
    from mqframe.testing.manual_clock import ManualClock

    store = MessageStore.open(small(tmp_path_factory.mktemp("any")), ManualClock())
    try:
        for body, properties in rows:
            one = message(body=body)
            one.properties = properties
            store.put(one)
        store.dispatch()
        read = [m for part in store.get("t", 0, 0, 99).parts for m in decode_records(part)]
        assert [(m.body, m.raw_properties) for m in read] == rows
    finally:
        store.abandon()
