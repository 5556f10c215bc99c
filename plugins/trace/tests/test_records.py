"""The text form of traces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_trace.records import (
    BODY_BYTES_MAX,
    KEYS_BYTES_MAX,
    ConsumeCode,
    TraceKind,
    TraceRecord,
    decode_records,
    encode_record,
    keys_of,
    pack,
)

SENT = TraceRecord(
    kind=TraceKind.PUB, message_id="ID1", time_ms=1700, region="R", group="shop", topic="t", tags="paid",
    keys="k1 k2", store_host="h:1", body_length=4, cost_ms=3, message_type=1, offset_message_id="OFF",
)  # fmt: skip
AFTER = TraceRecord(
    kind=TraceKind.SUB_AFTER, message_id="ID1", request_id="REQ", cost_ms=9, success=False, keys="k1",
    consume_code=ConsumeCode.EXCEPTION, time_ms=1800, group="billing",
)  # fmt: skip


def fields(text: str) -> list[str]:
    assert text.endswith("\x02")
    return text[:-1].split("\x01")


def test_a_send_is_written_as_the_reference_writes_it() -> None:
    assert fields(encode_record(SENT)) == [
        *"Pub 1700 R shop t ID1 paid".split(),
        *["k1 k2", "h:1", "4", "3", "1", "OFF", "true"],
    ]


def test_a_listeners_call_is_written_as_the_reference_writes_it() -> None:
    before = TraceRecord(
        kind=TraceKind.SUB_BEFORE, message_id="ID1", time_ms=1, region="R", group="g", request_id="Q",
        retry_times=2,
    )  # fmt: skip
    assert fields(encode_record(before)) == ["SubBefore", "1", "R", "g", "Q", "ID1", "2", "null"]
    assert fields(encode_record(AFTER)) == "SubAfter REQ ID1 9 false k1 2 1800 billing".split()


def test_ends_of_transactions_and_recalls() -> None:
    end = TraceRecord(
        kind=TraceKind.END_TRANSACTION, message_id="I", time_ms=1, region="R", group="g", topic="t",
        store_host="h", message_type=2, transaction_id="T",
        transaction_state="COMMIT_MESSAGE", from_check=True,
    )  # fmt: skip
    text = encode_record(end)
    assert fields(text) == "EndTransaction 1 R g t I null null h 2 T COMMIT_MESSAGE true".split()
    recall = TraceRecord(kind=TraceKind.RECALL, message_id="I", time_ms=1, region="R", group="g", topic="t")
    assert fields(encode_record(recall)) == "Recall 1 R g t I true".split()
    assert decode_records(text + encode_record(recall)) == [end, recall]


TEXT = st.text(st.characters(exclude_categories=["C"]), max_size=8).filter(lambda text: text != "null")
NUMBER = st.integers(0, 2**40)
RECORDS = st.builds(
    TraceRecord, kind=st.just(TraceKind.PUB), message_id=TEXT, time_ms=NUMBER, region=TEXT, group=TEXT,
    topic=TEXT, tags=TEXT, keys=TEXT, store_host=TEXT, body_length=NUMBER, cost_ms=NUMBER,
    message_type=st.integers(0, 4), offset_message_id=TEXT, success=st.booleans(),
) | st.builds(
    TraceRecord, kind=st.just(TraceKind.SUB_AFTER), message_id=TEXT, request_id=TEXT, cost_ms=NUMBER,
    success=st.booleans(), keys=TEXT, consume_code=st.integers(0, 4), time_ms=NUMBER, group=TEXT,
)  # fmt: skip


@given(st.lists(RECORDS, max_size=5))
def test_what_is_written_is_read_again(records: list[TraceRecord]) -> None:
    assert decode_records("".join(map(encode_record, records))) == records


def test_older_forms_are_read() -> None:
    short = "SubAfter\x01REQ\x01ID1\x019\x01true\x01k1\x02"
    assert decode_records(short)[0].cost_ms == 9
    without_offset_id = "Pub\x011\x01R\x01g\x01t\x01ID\x01null\x01null\x01h\x014\x013\x010\x01false\x02"
    (found,) = decode_records(without_offset_id)
    assert (found.success, found.offset_message_id, found.tags) == (False, "", "")


@pytest.mark.parametrize(
    "bad", ["Pub", "Pub\x01x", "New\x01kind", "SubAfter\x01a\x01b\x01nine\x01true\x01k", "\x01"]
)
def test_one_bad_record_does_not_hide_the_others(bad: str) -> None:
    assert decode_records(f"{bad}\x02{encode_record(AFTER)}", "10.0.0.1") == [
        TraceRecord(
            **{name: getattr(AFTER, name) for name in AFTER.__struct_fields__} | {"client_host": "10.0.0.1"}
        )
    ]


def test_a_message_of_traces_has_the_keys_of_all() -> None:
    ((body, keys),) = pack([SENT, AFTER])
    assert body == encode_record(SENT) + encode_record(AFTER)
    assert keys == ["ID1", "k1", "k2"]


def test_many_traces_are_shared_out_over_messages_within_the_limits() -> None:
    records = [
        TraceRecord(kind=TraceKind.SUB_AFTER, message_id=f"{n:032}", request_id="R", group="g" * 100)
        for n in range(2000)
    ]
    parts = list(pack(records))
    assert len(parts) > 2
    assert "".join(body for body, _ in parts) == "".join(map(encode_record, records))
    for body, keys in parts:
        assert len(body.encode()) <= BODY_BYTES_MAX
        assert sum(len(key) + 1 for key in keys) <= KEYS_BYTES_MAX
        assert [key for record in decode_records(body) for key in keys_of(record)] == keys


def test_control_characters_of_fields_do_not_break_records() -> None:
    strange = TraceRecord(kind=TraceKind.RECALL, message_id="a\x01b\x02c", region="R", group="g", topic="t")
    (found,) = decode_records(encode_record(strange))
    assert found.message_id == "a b c"
