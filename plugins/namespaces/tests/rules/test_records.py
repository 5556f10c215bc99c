"""Records with other names in them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from mqframe_namespaces.rules.names import Names
from mqframe_namespaces.rules.records import renamed_records

from mqframe.core.messages.addresses import encode_host
from mqframe.core.storage.record import decode_records, encode_record

TOPICS = st.sampled_from(
    [
        "orders",
        "shop%orders",
        "%RETRY%shop%g",
        "%RETRY%shop%g_shop%orders",
        "shop%" + "t" * 125,
        "other%orders",
    ]
)
PROPERTIES = st.sampled_from(
    [
        b"",
        b"TAGS\x01a\x02",
        b"RETRY_TOPIC\x01shop%orders\x02",
        b"a\x01b\x02PGROUP\x01shop%g\x02",
        "ü\x01ß\x02".encode(),
    ]
)
HOSTS = st.sampled_from(["127.0.0.1:1", "[::1]:2"]).map(encode_host)
NAMES = Names("shop")
STRIP = (NAMES.stripped_topic, NAMES.stripped)


@st.composite
def records(draw: st.DrawFn) -> bytes:
    return encode_record(
        topic=draw(TOPICS), queue_id=draw(st.integers(0, 3)), queue_offset=draw(st.integers(0, 99)),
        physical_offset=7, body=draw(st.binary(max_size=9)), properties=draw(PROPERTIES), born_timestamp=1,
        born_host=draw(HOSTS), store_timestamp=2, store_host=draw(HOSTS),
        reconsume_times=draw(st.integers(0, 3)),
    )  # fmt: skip


def seen(raw: bytes) -> list[tuple[object, ...]]:
    return [
        (m.topic, m.queue_id, m.queue_offset, m.body, m.body_crc, m.born_host, m.store_host, m.properties,
         m.reconsume_times)
        for m in decode_records(raw)
    ]  # fmt: skip


@given(st.lists(records(), max_size=4))
def test_messages_are_the_same_but_for_names(raw: list[bytes]) -> None:
    topic, name = STRIP
    expected = [
        (
            topic(str(each[0])),
            *each[1:7],
            {k: name(v) if k in ("RETRY_TOPIC", "PGROUP") else v for k, v in dict(each[7]).items()},  # type: ignore[call-overload]
            each[8],
        )
        for each in seen(b"".join(raw))
    ]
    for body in (b"".join(raw), memoryview(b"".join(raw))):
        assert seen(renamed_records(body, *STRIP)) == expected


@given(st.lists(records(), max_size=2), st.binary(max_size=200))
def test_what_is_no_record_stays_for_whoever_says_what_is_wrong(raw: list[bytes], tail: bytes) -> None:
    renamed = renamed_records(b"".join(raw), *STRIP)
    assert renamed_records(b"".join(raw) + b"\0" + tail, *STRIP) == renamed + b"\0" + tail


@given(records(), st.data())
def test_a_record_that_was_cut_stays_as_it_is(raw: bytes, data: st.DataObject) -> None:
    cut = raw[: data.draw(st.integers(0, len(raw) - 1))]
    assert renamed_records(cut, *STRIP) == cut
