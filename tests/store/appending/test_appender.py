"""Records as they are laid out in the log, and what is refused."""

from __future__ import annotations

import msgspec
import pytest
from stores import bodies, put

from mqframe.core.codes import SysFlag
from mqframe.core.errors import BodyError, MessageError
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.batch import encode_element
from mqframe.core.storage.property_crc import property_crc
from mqframe.core.storage.record import body_crc, decode_records


def test_prepared_and_rolled_back_types_have_no_queue_entry(opened, message):
    store = opened()
    for kind in (SysFlag.TRANSACTION_PREPARED, SysFlag.TRANSACTION_ROLLBACK):
        (stored,) = put(store, message(sys_flag=kind, KEYS="k"))
        assert stored.queue_offset == 0
    (committed,) = put(store, message(sys_flag=SysFlag.TRANSACTION_COMMIT, KEYS="k"))
    assert committed.queue_offset == 0
    assert store.queues.max_offset("t", 0) == 1
    # Prepared ones are indexed, rolled back ones are not.
    offsets = [
        next(iter(decode_records(r))).commit_log_offset for r in store.search.query("t", "k", 9).records
    ]
    assert offsets == [committed.commit_log_offset, 0]


def test_delay_topic_holds_delivery_times(opened, message, clock):
    store = opened()
    put(
        store,
        message("SCHEDULE_TOPIC_XXXX", 1, DELAY="2", TAGS="a"),
        message("SCHEDULE_TOPIC_XXXX", 1, DELAY="99"),
    )
    now = clock.now_ms()
    assert store.reads.get("SCHEDULE_TOPIC_XXXX", 1, 0, 1, codes={now + 5000}).count == 1
    assert store.reads.get("SCHEDULE_TOPIC_XXXX", 1, 1, 1, codes={now + 7_200_000}).count == 1


def test_ipv6_hosts(opened, message):
    store = opened()
    one = message(body=b"six")
    one.born_host = encode_host("[2001:db8::1]:77")
    put(store, one, message(body=b"four"))
    first, second = decode_records(store.reads.get("t", 0, 0, 2).parts[0])
    assert (first.born_host, first.store_host, first.body) == ("[2001:db8::1]:77", "127.0.0.1:10911", b"six")
    assert second.born_host == "127.0.0.1:10911"
    assert store.queues.store_time_at("t", 0, 0) == first.store_timestamp


def test_long_topics_take_version_2(opened, message):
    store = opened()
    topic = "%RETRY%" + "g" * 140
    put(store, message(topic))
    (read,) = decode_records(store.reads.get(topic, 0, 0, 1).parts[0])
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
    with pytest.raises(MessageError, match=says):
        store.writes.put(message(**change))
    assert store.log.max_offset == 0


def test_a_record_larger_than_a_file_is_refused(opened, message):
    store = opened(commit_log_file_bytes=4096)
    with pytest.raises(MessageError, match="does not fit a commit-log file of 4096 bytes"):
        store.writes.put(message(body=b"x" * 5000))
    assert put(store, message())[0].commit_log_offset == 0


def test_store_times_never_go_back(opened, message, clock):
    store = opened()
    (first,) = put(store, message())
    clock.advance(-60)
    (second,) = put(store, message())
    assert second.store_timestamp == first.store_timestamp


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
    stored = store.writes.put_batch(head, batch, b"UNIQ_KEY\x01shared\x02WAIT\x01true\x02")
    store.dispatch.now()
    assert stored.queue_offset == 0
    read = list(decode_records(store.reads.get("orders", 2, 0, 32).parts[0]))
    for each in read:
        assert body_crc(each.stored_body) == each.body_crc
    assert [each.commit_log_offset for each in read] == stored.offsets
    assert read[-1].commit_log_offset + read[-1].store_size == stored.end_offset
    assert [(m.body, m.flag, m.tag, m.keys, m.message_id) for m in read] == [
        (b"one", 7, "a", ["k1", "k2"], "shared"),
        (b"two", 0, None, [], "shared"),
        (b"three", 0, None, [], "shared"),
    ]
    assert read[1].raw_properties == "UNIQ_KEY\x01own\x02UNIQ_KEY\x01shared\x02WAIT\x01true\x02"
    assert [
        next(iter(decode_records(r))).body for r in store.search.query("orders", "shared", 9).records
    ] == [
        b"three",
        b"two",
        b"one",
    ]
    assert len(store.search.query("orders", "k2", 9).records) == 1


def test_batch_without_shared_key_keeps_own_keys(opened, message):
    store = opened()
    batch = encode_element(b"1", b"UNIQ_KEY\x01own1\x02") + encode_element(b"2", b"UNIQ_KEY\x01own2\x02")
    store.writes.put_batch(message(), memoryview(batch), b"WAIT\x01true\x02")
    store.dispatch.now()
    assert (
        len(store.search.query("t", "own1", 9).records)
        == len(store.search.query("t", "own2", 9).records)
        == 1
    )


def test_batch_that_does_not_fit_goes_whole_into_the_next_file(opened, message):
    store = opened(commit_log_file_bytes=4096)
    put(store, message(body=b"x" * 2000))
    stored = store.writes.put_batch(message(), b"".join(encode_element(b"y" * 900, b"") for _ in range(3)))
    store.dispatch.now()
    assert stored.offsets[0] == 4096
    assert bodies(store.reads.get("t", 0, 0, 9)) == [b"x" * 2000, *[b"y" * 900] * 3]
    with pytest.raises(MessageError, match="does not fit"):
        store.writes.put_batch(message(), b"".join(encode_element(b"y" * 900, b"") for _ in range(5)))
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
        store.writes.put_batch(message(), damage(good), b"WAIT\x01true\x02")
    assert store.log.max_offset == 0
    store.abandon()
    assert opened().recovered.records == 0


def test_batch_with_bytes_that_are_no_text(opened, message):
    store = opened()
    with pytest.raises(BodyError, match="message 0 of the batch"):
        store.writes.put_batch(message(), encode_element(b"1", b"\xff\xfe"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"topic": "../../up"}, "cannot name a folder"),
        ({"topic": "x" * 300}, "cannot name a folder"),
        ({"queue_id": 1 << 31}, "ids go from 0"),
        ({"queue_id": 10**12}, "ids go from 0"),
        ({"queue_id": -1}, "ids go from 0"),
        ({"reconsume_times": 1 << 31}, "fits no record"),
        ({"born_timestamp": 1 << 63}, "fits no record"),
        ({"flag": 1 << 40}, "fits no record"),
        ({"properties": "KEYS\x01\ud800\x02"}, "are no text"),
    ],
)
def test_what_no_record_or_queue_can_hold_is_refused_for_itself_alone(
    opened, message, tmp_path, change, says
):
    store = opened()
    put(store, message())
    end = store.log.max_offset
    bad = message(body=b"bad")
    for name, value in change.items():
        setattr(bad, name, value)
    with pytest.raises(MessageError, match=says):
        store.writes.put(bad)
    store.dispatch.now()
    assert store.log.max_offset == end
    assert put(store, message())[0].queue_offset == 1
    assert sorted(path.name for path in (tmp_path / "store/consumequeue").iterdir()) == ["t"]
    assert store.refusals.now() is None


@pytest.mark.parametrize(
    ("change", "says"), [({"topic": "a/b"}, "cannot name a folder"), ({"flag": 1 << 40}, None),
                         ({"sys_flag": 1 << 40}, "fits no record")]
)  # fmt: skip
def test_a_batch_that_no_record_can_hold_is_refused(opened, message, change, says):
    store = opened()
    head = message()
    for name, value in change.items():
        setattr(head, name, value)
    batch = encode_element(b"one", b"")
    if says is None:
        assert len(store.writes.put_batch(head, batch).offsets) == 1  # each message has a flag of its own
        return
    with pytest.raises(MessageError, match=says):
        store.writes.put_batch(head, batch)
    assert store.log.max_offset == 0


FORGED = "TAGS\x01a\x02__CRC32#\x010123456789\x02"


@pytest.mark.parametrize("on", [False, True])
def test_records_end_with_their_crc_where_that_is_set(opened, message, on):
    store = opened(property_crc=on)
    one = msgspec.structs.replace(message(body=b"one"), properties=FORGED)
    batch = b"".join(encode_element(b"%d" % n, FORGED.encode()) for n in range(3))
    put(store, one)
    store.writes.put_batch(message(), batch, b"CLUSTER\x01c\x02")
    store.dispatch.now()
    raws = [bytes(part) for part in store.reads.get("t", 0, 0, 9).parts]
    records = list(decode_records(b"".join(raws)))
    assert [each.body for each in records] == [b"one", b"0", b"1", b"2"]
    at, raw = 0, b"".join(raws)
    for record in records:
        own = raw[at : at + record.store_size]
        at += record.store_size
        assert own.count(b"__CRC32#") == int(on)
        assert own.endswith(property_crc(own[:-20])) == on
        assert record.properties["TAGS"] == "a"
    store.abandon()
    assert opened(property_crc=on).recovered.records == 4


def test_a_batch_brings_no_receipt_handle_of_another_message(opened, message):
    store = opened()
    handle = "POP_CK\x010 1000 30000 0 1 broker-a 0 7\x02"
    rows = [
        "UNIQ_KEY\x01A\x02",
        f"{handle}UNIQ_KEY\x01B\x02",
        f"XPOP_CK\x01kept\x02{handle}",
        "KEYS\x01POP_CK\x02",
    ]
    batch = b"".join(encode_element(b"POP_CK\x01%d\x02" % n, row.encode(), n) for n, row in enumerate(rows))
    store.writes.put_batch(message(), batch, f"CLUSTER\x01c\x02{handle}WAIT\x01true\x02".encode())
    store.dispatch.now()
    found = [each for part in store.reads.get("t", 0, 0, 9).parts for each in decode_records(part)]
    assert [(each.body, each.flag) for each in found] == [(b"POP_CK\x01%d\x02" % n, n) for n in range(4)]
    both = {"CLUSTER": "c", "WAIT": "true"}
    own = [{"UNIQ_KEY": "A"}, {"UNIQ_KEY": "B"}, {"XPOP_CK": "kept"}, {"KEYS": "POP_CK"}]
    assert [each.properties for each in found] == [each | both for each in own]


@pytest.mark.parametrize("byte", range(8, 240, 7))
def test_a_wrong_bit_anywhere_is_seen_with_the_crc(opened, message, tmp_path, byte):
    store = opened(property_crc=True)
    stored = put(store, *(message(body=b"%d" % n * 40, KEYS=f"k{n}") for n in range(3)))
    store.abandon()
    (path,) = (tmp_path / "store/commitlog").iterdir()
    raw = bytearray(path.read_bytes())
    at = byte % stored[1].size
    raw[stored[1].commit_log_offset + at] ^= 4
    path.write_bytes(raw)
    store = opened(property_crc=True)
    assert [report.start for report in store.recovered.set_aside] == [stored[1].commit_log_offset]
    assert bodies(store.reads.get("t", 0, 0, 9)) == [b"0" * 40, b"2" * 40]
